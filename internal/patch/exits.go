package patch

import (
	"fmt"
	"slices"
)

// Exit is an instruction by which control leaves a function for good, with the stack as the caller
// expects it: a return, or a jump to another function that returns in its place (a tail call).
type Exit struct {
	Inst Inst
	// Tail means a tail call. Target is the function's entry, 0 if the jump is indirect.
	Tail   bool
	Target uint64
}

// Conditional reports whether the exit is a conditional jump: control may also continue behind it.
func (e *Exit) Conditional() bool { return e.Inst.Class == Jcc }

// Frames is what is known beside the code of the function and of others, for Exits.
type Frames struct {
	// Top reports whether the return address is on top of the stack before the instruction at an address,
	// by call frame information. known is false if there is none.
	Top func(addr uint64) (top, known bool)
	// Entry reports whether a function begins at an address.
	Entry func(addr uint64) bool
	// Start is the address of the function's first instruction. Again, if not nil, is called with the address of each
	// direct jump of the function there.
	Start uint64
	Again func(from uint64)
}

// ExitError says why the exits of a function are not all known.
type ExitError struct {
	Addr uint64
	Why  string
	// Part, if not 0, is code that a jump leads to, which may be a part of the function that the compiler moved
	// away: no function begins there, or the return address is not on top of the stack yet.
	Part uint64
}

func (e *ExitError) Error() string { return "the returns of the function are not certain: " + e.Why }

// Exits lists the exits of the main part of the function, by address. Parts that were moved away are in
// Extra; each is the main part of a Code of its own. The error is an *ExitError: if one exit is in doubt,
// none is returned.
//
// A function that never returns has no exits.
func (c *Code) Exits(f Frames) ([]Exit, error) {
	a := c.analyse()
	if a.broken != "" {
		return nil, &ExitError{Addr: a.brokenAt, Why: a.broken}
	}
	x := exits{c: c, a: a, frames: f}
	if c.ownData(a) {
		x.flow = c.Flow(nil)
	}
	for i := range a.insts {
		if why := x.look(i); why != "" {
			return nil, &ExitError{a.insts[i].Addr, why, x.part}
		}
	}
	if why := x.end(); why != "" {
		return nil, &ExitError{Addr: c.Hi, Why: why}
	}
	return x.found, nil
}

// exits is one run of Exits.
type exits struct {
	c      *Code
	a      *analysis
	frames Frames
	flow   *Flow // if data may lie between the instructions
	found  []Exit
	part   uint64
}

// look classifies instruction i of the sweep. The result is why that is not possible.
func (x *exits) look(i int) string {
	in := &x.a.insts[i]
	switch in.Class {
	case Ret, Far, Jmp, Jcc, Loop, JmpInd:
		if x.flow != nil && x.flow.Boundary(in.Addr).Verdict != Begins {
			return fmt.Sprintf("it refers to data between its instructions, and what reads as one at %#x may be data", in.Addr)
		}
	}
	switch in.Class {
	case Ret:
		x.found = append(x.found, Exit{Inst: *in})
	case Far:
		return fmt.Sprintf("the far transfer at %#x may be a return", in.Addr)
	case Jmp, Jcc, Loop:
		return x.branch(in)
	case JmpInd:
		return x.indirect(i)
	}
	return ""
}

// branch classifies a direct branch.
func (x *exits) branch(in *Inst) string {
	if x.frames.Again != nil && in.Target == x.frames.Start {
		x.frames.Again(in.Addr)
	}
	if x.own(in.Target) {
		return ""
	}
	top, known := x.frames.Top(in.Addr)
	if known && !top || !x.frames.Entry(in.Target) {
		x.part = in.Target
	}
	switch {
	case in.Class == Loop:
		return fmt.Sprintf("the branch at %#x leads out of it", in.Addr)
	case !x.frames.Entry(in.Target):
		return fmt.Sprintf("the jump at %#x leads to %#x, where no function begins", in.Addr, in.Target)
	case known && !top:
		return fmt.Sprintf("the jump at %#x leads to another function, %#x, before the return address is on top of the stack", in.Addr, in.Target)
	}
	x.found = append(x.found, Exit{Inst: *in, Tail: true, Target: in.Target})
	return ""
}

// own reports whether an address is in one of the function's parts.
func (x *exits) own(addr uint64) bool {
	if addr >= x.c.Lo && addr < x.c.Hi {
		return true
	}
	return slices.ContainsFunc(x.c.Extra, func(r Region) bool { return addr >= r.Addr && addr < r.end() })
}

// indirect classifies an indirect jump: it uses a jump table, or it is a tail call.
func (x *exits) indirect(i int) string {
	in := &x.a.insts[i]
	if slices.Contains(x.a.switches, in.Addr) {
		return ""
	}
	top, known := x.frames.Top(in.Addr)
	if known && !top {
		return fmt.Sprintf("the indirect jump at %#x is not a jump table that is understood", in.Addr)
	}
	if known && x.released(i) {
		x.found = append(x.found, Exit{Inst: *in, Tail: true})
		return ""
	}
	if why := x.notTable(i); why != "" {
		return fmt.Sprintf("the indirect jump at %#x may be a jump within the function or a tail call: %s", in.Addr, why)
	}
	x.found = append(x.found, Exit{Inst: *in, Tail: true})
	return ""
}

// released reports whether the instructions before i release the frame of the function: no compiler does so
// before a jump within it.
func (x *exits) released(i int) bool {
	for j := i - 1; j >= 0 && j >= i-lookBack; j-- {
		in := &x.a.insts[j]
		switch {
		case in.Class != Normal && in.Class != Nop:
			return false
		case in.space != spaceOne || in.Writes&RSP == 0:
			continue
		case in.opcode&0xf8 == 0x58 || in.opcode == 0xc9: // pop, leave
			return true
		case in.opcode == 0x81 || in.opcode == 0x83: // add to the stack pointer
			return in.b[in.modOff]>>3&7 == 0
		}
		return false
	}
	return false
}

// notTable returns "" if the indirect jump i cannot lead to another place in the function: the function computes
// no address of its own code, and the target is not an element of a table.
func (x *exits) notTable(i int) string {
	in := &x.a.insts[i]
	for j := range x.a.insts {
		if o := &x.a.insts[j]; o.RIPOff != 0 && o.opcode == 0x8d && x.own(o.RIPTarget) && o.RIPTarget != x.c.Lo {
			return fmt.Sprintf("the address %#x within the function is computed at %#x", o.RIPTarget, o.Addr)
		}
	}
	if in.RIPOff != 0 {
		targets, ok := x.c.pointer(in.RIPTarget)
		if !ok {
			return "the pointer that it uses cannot be read"
		}
		if len(targets) > 0 && targets[0] != x.c.Lo {
			return "the pointer that it uses leads into the function"
		}
		return ""
	}
	m := in.memory()
	if m.isMem {
		return indexed(m)
	}
	def := x.c.lastWrite(x.a, x.a.insts, i, 1<<m.reg)
	if def < 0 {
		return x.noTables()
	}
	d := &x.a.insts[def]
	switch {
	case d.space == spaceOne && d.opcode == 0x8b && d.RIPOff != 0:
		return ""
	case d.space == spaceOne && d.opcode == 0x8b && d.modOff != 0 && d.memory().isMem:
		return indexed(d.memory())
	case d.space == spaceOne && d.opcode&0xf8 == 0x58: // pop
		return ""
	}
	return x.noTables()
}

// indexed returns why an operand may be an element of a table.
func indexed(m memOperand) string {
	if m.index >= 0 {
		return "its target is an element of a table"
	}
	return ""
}

// noTables returns "" if no instruction of the function loads an element of a table, as those do that a switch
// jumps by.
func (x *exits) noTables() string {
	for i := range x.a.insts {
		in := &x.a.insts[i]
		if in.space != spaceOne || in.opcode != 0x8b && in.opcode != 0x63 || in.modOff == 0 || in.RIPOff != 0 {
			continue
		}
		if m := in.memory(); m.isMem && m.index >= 0 && (m.scale == 8 || m.scale == 4) {
			return fmt.Sprintf("where its target comes from is not known, and the instruction at %#x loads an element of a table", in.Addr)
		}
	}
	return ""
}

// end returns why control may go on behind the function's last instruction.
func (x *exits) end() string {
	for i := len(x.a.insts) - 1; i >= 0; i-- {
		in := &x.a.insts[i]
		switch in.Class {
		case Nop, Int3:
			continue
		case Call, CallInd, Syscall: // of a function that does not return
			return ""
		}
		if in.Class.Ends() {
			return ""
		}
		return fmt.Sprintf("control runs from %#x into the code behind the function", in.Addr)
	}
	return ""
}

// Covering chooses the first tactic for the instruction at addr as Make does. If that is neither kind of jump,
// it looks for a jump that begins at an instruction up to four bytes before addr, not before lo, and displaces
// both: for a return of one byte the jump can take the instructions before it, which restore registers.
func Covering(c *Code, addr, lo uint64, opt Options) (*Plan, error) {
	best, err := Make(c, addr, opt)
	if err != nil || best.Tactic == Jump || best.Tactic == JumpMany {
		return best, err
	}
	a := c.analyse()
	opt.Avoid |= 1<<Pun | 1<<Trapping
	why := ""
	for start := addr - 1; start >= max(lo, c.Lo) && start+jumpLen > addr && start < addr; start-- {
		if a.at(c, start) == nil {
			continue
		}
		p, err := Make(c, start, opt)
		if err != nil {
			why = err.Error()
			continue
		}
		for i := range p.Insts {
			if p.Insts[i].Addr == addr {
				p.Refused = nil
				return p, nil
			}
		}
		why = fmt.Sprintf("a jump at %#x ends before it", start)
	}
	if why != "" {
		best.Refused = append([]Refusal{{JumpMany, "from an earlier instruction: " + why}}, best.Refused...)
	}
	return best, nil
}

// Condition is the condition of a conditional jump: the low four bits of its opcode.
func (in *Inst) Condition() uint8 { return in.opcode & 0xf }
