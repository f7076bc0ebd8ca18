package patch

import (
	"fmt"
	"slices"
	"strings"
)

// Tactic is a way of making a place jump to its trampoline.
type Tactic uint8

// The tactics, best first.
const (
	Jump     Tactic = iota // B1: a 5-byte jump over one instruction of at least 5 bytes
	JumpMany               // BN: a 5-byte jump over several instructions
	Pun                    // P: a jump whose last bytes are the first bytes of what follows
	Trapping               // I: int3, answered by the tracer
	numTactics
)

func (t Tactic) String() string {
	return [...]string{"jump", "jump over several", "punned jump", "int3"}[t]
}

// Options adjust Make and DeadAt.
type Options struct {
	// ABI lets DeadAt take the flags as dead at calls and returns.
	ABI bool
	// Boundary says that an instruction is known to begin at the address (a line
	// table, a symbol), should the code before it be undecodable.
	Boundary bool
	// Pun allows the tactic Pun, whose trampolines must lie in Plan.Ranges.
	Pun bool
	// Avoid lists tactics not to use, as bits 1<<Tactic.
	Avoid uint8
}

// Refusal is the reason why a tactic is not possible.
type Refusal struct {
	Tactic Tactic
	Why    string
}

// jumpLen is the length of jmp rel32.
const jumpLen = 5

// Plan is how one address is patched.
type Plan struct {
	Addr   uint64
	Len    int // bytes of whole instructions that are displaced
	Tactic Tactic
	Insts  []Inst
	// Inner are the instruction boundaries strictly inside: a thread whose pc is
	// one of them must be moved to the copy (PCPair) when the bytes change, and a
	// site at one of them is served by the insert function of Emit.
	Inner []uint64
	// After are the instructions behind the displaced ones of which a punned jump uses bytes. They stay in the
	// program; the trampoline executes copies, so that it need not return to bytes that the jump lies over.
	After []Inst
	// Kept are the program's bytes behind the displaced ones on which a punned jump and the copies of After depend.
	Kept    []byte
	Refused []Refusal // the better tactics, and why not
	puns    []punning
}

// Inst returns the instruction that the i-th PCPair of Emit is of.
func (p *Plan) Inst(i int) *Inst {
	if i < len(p.Insts) {
		return &p.Insts[i]
	}
	return &p.After[i-len(p.Insts)]
}

// Back returns where the code of Emit with these pairs jumps at its end; false if it never comes there.
func (p *Plan) Back(pcs []PCPair) (addr uint64, ok bool) {
	last := p.Inst(len(pcs) - 1)
	return last.Next(), !last.Class.Leaves()
}

// End is the end of the bytes that the patch changes or depends on.
func (p *Plan) End() uint64 { return p.Addr + uint64(p.Len+len(p.Kept)) }

// ImpossibleError says that an address cannot be patched in any way.
type ImpossibleError struct {
	Addr uint64
	Why  string
}

func (e *ImpossibleError) Error() string {
	return fmt.Sprintf("no probe can be placed at %#x: %s", e.Addr, e.Why)
}

// Make chooses the first tactic that is certainly safe for the instruction at
// addr. The error is an *ImpossibleError.
//
// An endbr64 may be displaced: it has its meaning only under indirect branch
// tracking, which Linux does not switch on for user code; the copy contains it.
func Make(c *Code, addr uint64, opt Options) (*Plan, error) {
	if addr < c.Lo || addr >= c.Hi || addr-c.Lo >= uint64(len(c.Bytes)) {
		return nil, &ImpossibleError{addr, "the address is outside the function"}
	}
	a := c.analyse()
	if why := a.boundary(c, addr, opt); why != "" {
		return nil, &ImpossibleError{addr, why}
	}
	first, err := Decode(c.Bytes[addr-c.Lo:], addr)
	if err != nil {
		return nil, &ImpossibleError{addr, err.Error()}
	}
	m := maker{c: c, a: a, plan: &Plan{Addr: addr}}
	if why := m.unmovable(&first); why != "" {
		return nil, &ImpossibleError{addr, why}
	}
	for t, try := range [numTactics]func(Inst) string{m.jump, m.jumpMany, m.pun, m.int3} {
		t := Tactic(t)
		why := "not wanted"
		if opt.Avoid&(1<<t) == 0 && (t != Pun || opt.Pun) {
			why = try(first)
		}
		if why == "" {
			m.plan.Tactic = t
			return m.plan, nil
		}
		m.plan.Refused = append(m.plan.Refused, Refusal{t, why})
	}
	return nil, &ImpossibleError{addr, "every tactic is refused: " + m.plan.reasons()}
}

// boundary returns why it is not certain that an instruction begins at addr.
func (a *analysis) boundary(c *Code, addr uint64, opt Options) string {
	known := a.at(c, addr) != nil
	switch {
	case addr == c.Lo:
	case a.broken == "" || addr < a.brokenAt:
		if !known {
			return "no instruction begins there"
		}
	case !opt.Boundary:
		return "it is not known whether an instruction begins there: " + a.broken
	}
	if why := c.doubtful(a, addr); why != "" {
		return "it is not certain that an instruction begins there: " + why
	}
	return ""
}

func (p *Plan) reasons() string {
	var s []string
	for _, r := range p.Refused {
		s = append(s, r.Tactic.String()+": "+r.Why)
	}
	return strings.Join(s, "; ")
}

// maker is one run of Make. Its methods try a tactic and say why not.
type maker struct {
	c    *Code
	a    *analysis
	plan *Plan
}

// jump: the instruction itself is long enough.
func (m *maker) jump(first Inst) string {
	if first.Len < jumpLen {
		return fmt.Sprintf("the instruction has %d bytes, a jump %d", first.Len, jumpLen)
	}
	if why := m.entered(first); why != "" {
		return why
	}
	m.take(first)
	return ""
}

// jumpMany: the instruction and those after it, if control can only come to
// them from above.
func (m *maker) jumpMany(first Inst) string {
	if first.Len >= jumpLen {
		return "one instruction is enough"
	}
	if m.a.broken != "" {
		return m.a.broken
	}
	if m.a.wild != "" {
		return m.a.wild
	}
	insts, ended := []Inst{first}, false
	for n := first.Len; n < jumpLen; {
		last := insts[len(insts)-1]
		if last.Class == Call || last.Class == CallInd {
			return fmt.Sprintf("the call at %#x returns inside the jump", last.Addr)
		}
		ended = ended || last.Class.Ends()
		if !ended && m.c.Resumed != "" { // no thread is interrupted in padding
			return m.c.Resumed
		}
		next, why := m.following(last.Next(), ended)
		if why != "" {
			return why
		}
		insts = append(insts, next)
		n += next.Len
	}
	if why := m.entered(insts...); why != "" {
		return why
	}
	m.take(insts...)
	return ""
}

// following gives the instruction at addr, after another displaced one, if it
// may be displaced too. After the end of a block or of the function only padding may.
func (m *maker) following(addr uint64, ended bool) (Inst, string) {
	off := addr - m.c.Lo
	if off >= uint64(len(m.c.Bytes)) {
		return Inst{}, fmt.Sprintf("the function ends at %#x", addr)
	}
	ended = ended || addr >= m.c.Hi
	next, err := Decode(m.c.Bytes[off:], addr)
	if err != nil {
		return Inst{}, err.Error()
	}
	if ended && next.Class != Nop && next.Class != Int3 {
		return Inst{}, fmt.Sprintf("the block ends at %#x", addr)
	}
	if why := m.unmovable(&next); why != "" {
		return Inst{}, why
	}
	return next, ""
}

// entered reports whether control may arrive, from elsewhere than the instruction
// before, strictly inside the stretch of insts.
//
// What lies inside one instruction is no place to arrive at, unless the instruction
// is not one (its function was decoded wrong) or begins with a lock prefix, which
// code for one CPU skips. So only then the module is searched for its sake.
func (m *maker) entered(insts ...Inst) string {
	lo, hi := insts[0].Addr, insts[len(insts)-1].Next()
	if t, ok := m.a.targetIn(lo, hi); ok {
		return fmt.Sprintf("a branch may come to %#x", t)
	}
	if last := &insts[len(insts)-1]; len(insts) > 1 && last.Class == Nop && last.Addr >= m.c.Hi && m.a.broken == "" {
		hi = last.Addr + 1 // padding between functions: nothing arrives inside one instruction
	}
	if m.a.broken != "" {
		own := m.c.Bytes[:min(uint64(len(m.c.Bytes)), m.c.Hi-m.c.Lo)]
		if BranchInto(own, m.c.Lo, lo, hi) {
			return "a branch may come inside, and " + m.a.broken
		}
	}
	if len(insts) == 1 && !insts[0].pfx.lock && !m.c.Loose && m.a.broken == "" {
		return ""
	}
	if m.c.Text == nil {
		return ""
	}
	text, err := m.c.Text()
	if err != nil {
		return err.Error()
	}
	if t, ok := text.arrives(m.c, lo, hi); ok {
		return fmt.Sprintf("a branch from another function may come to %#x", t)
	}
	return ""
}

// int3 always works.
func (m *maker) int3(first Inst) string {
	m.take(first)
	return ""
}

// take makes insts the displaced instructions.
func (m *maker) take(insts ...Inst) {
	p := m.plan
	p.Insts, p.Len = slices.Clone(insts), 0 // the analysis of a function is 30 times its size
	for i := range insts {
		if i > 0 {
			p.Inner = append(p.Inner, insts[i].Addr)
		}
		p.Len += insts[i].Len
	}
}

// unmovable returns why an instruction cannot be executed at another address.
func (m *maker) unmovable(in *Inst) string {
	for _, r := range m.c.Sequences {
		if in.Addr < r.Hi && in.Next() >= r.Lo {
			return fmt.Sprintf("the instruction at %#x belongs to a restartable sequence (rseq), which the kernel would not abort", in.Addr)
		}
	}
	switch {
	case in.Class == Far:
		return fmt.Sprintf("the far transfer at %#x cannot be displaced", in.Addr)
	case in.Class == XBegin:
		return fmt.Sprintf("the transaction begun at %#x cannot be displaced", in.Addr)
	case in.addr32:
		return fmt.Sprintf("the 32-bit rip-relative operand at %#x cannot be displaced", in.Addr)
	}
	return ""
}
