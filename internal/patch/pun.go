package patch

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// A punned jump takes the place of an instruction that is shorter than the
// jump. The last bytes of its displacement are the first bytes of the following
// instructions, which stay as they are:
//
//	before   48 89 d8 | 83 c0 01
//	after    e9 lo hi | 83 c0 01      rel32 = c083hilo
//
// So a branch to the following instruction still finds it, and the jump reaches
// only trampolines whose distance has those bytes. Meaningless prefixes before e9
// move the window and so give more choices.
//
// The trampoline executes a copy of the following instruction too, and jumps back
// behind the jump: a processor that fetches 83 c0 01 predicts the jump that it has
// seen to end there, each time (12 ns on an Intel Xeon).
type punning struct {
	prefixes int
	where    Range
}

// Range is a half-open interval of addresses.
type Range struct{ Lo, Hi uint64 }

// csPrefix means nothing before a jump.
const csPrefix = 0x2e

// userTop is the end of the user half of the address space; lowest is the
// usual vm.mmap_min_addr.
const (
	userTop = 1 << 47
	lowest  = 1 << 16
)

// pun plans a punned jump over one instruction, whose last bytes are the first bytes of the next.
func (m *maker) pun(first Inst) string {
	if first.Len >= jumpLen {
		return "the instruction is long enough for a jump"
	}
	if why := m.entered(first); why != "" {
		return why
	}
	for k := range first.Len {
		if p, ok := m.punWith(&first, k); ok {
			m.plan.puns = append(m.plan.puns, p)
		}
	}
	if len(m.plan.puns) == 0 {
		return "the bytes that follow lead out of the address space, or into the file itself"
	}
	m.take(first)
	m.after(first)
	return ""
}

// after finds the instructions that the trampoline of a punned jump executes for the program. It is right to stop
// anywhere: the bytes in the program are whole.
func (m *maker) after(first Inst) {
	p, own := m.plan, m.c.Bytes
	from := first.Next() - m.c.Lo
	end := min(from+jumpLen-1, uint64(len(own)))
	for last := first; last.Class == Normal || last.Class == Nop || last.Class == Jcc || last.Class == Loop; {
		at := last.Next()
		if at-m.c.Lo >= end || at >= m.c.Hi {
			break
		}
		next, why := m.following(at, false)
		if why != "" || !next.Class.repeatable() {
			break
		}
		p.After = append(p.After, next)
		last = next
	}
	if n := len(p.After); n > 0 {
		end = max(end, p.After[n-1].Next()-m.c.Lo)
	}
	p.Kept = slices.Clone(own[from:end])
}

// repeatable: a copy of such an instruction costs no more than the instruction, and no thread stays in it.
func (c Class) repeatable() bool {
	return c == Normal || c == Nop || c == Jcc || c == Loop || c == Jmp || c == JmpInd || c == Ret
}

// punWith works out where a jump with k prefixes can lead.
func (m *maker) punWith(in *Inst, k int) (punning, bool) {
	free := in.Len - 1 - k // bytes of rel32 that are ours, the low ones
	off := in.Addr - m.c.Lo
	end := off + uint64(k+jumpLen)
	if end > uint64(len(m.c.Bytes)) {
		return punning{}, false
	}
	var rel [4]byte
	copy(rel[free:], m.c.Bytes[off+uint64(in.Len):end])
	lo := in.Addr + uint64(k+jumpLen) + uint64(int64(int32(binary.LittleEndian.Uint32(rel[:]))))
	hi := lo + 1<<(8*free)
	if lo < lowest || hi > userTop || lo >= hi || m.c.mapped(Range{lo, hi}) {
		return punning{}, false
	}
	return punning{k, Range{lo, hi}}, true
}

// mapped reports whether the module itself takes a whole range.
func (c *Code) mapped(r Range) bool {
	for _, m := range c.Mapped {
		if m.Lo <= r.Lo && r.Hi <= m.Hi {
			return true
		}
	}
	return false
}

// Ranges lists where the trampoline's first byte may lie when the tactic is
// Pun, largest first.
func (p *Plan) Ranges() []Range {
	var out []Range
	for _, u := range p.puns {
		out = append(out, u.where)
	}
	return out
}

func (p *Plan) punFor(trampoline uint64) *punning {
	if p.Tactic != Pun {
		return nil
	}
	for i := range p.puns {
		if u := &p.puns[i]; trampoline >= u.where.Lo && trampoline < u.where.Hi {
			return u
		}
	}
	return nil
}

func (p *Plan) punEdits(old []byte, trampoline uint64) ([]Edit, error) {
	u := p.punFor(trampoline)
	if u == nil {
		return nil, fmt.Errorf("the punned jump at %#x cannot lead to %#x: only into %d ranges", p.Addr, trampoline, len(p.puns))
	}
	var code []byte
	for range u.prefixes {
		code = append(code, csPrefix)
	}
	code = append(code, 0xe9)
	rel, _ := rel32(p.Addr+uint64(u.prefixes+jumpLen), trampoline)
	code = binary.LittleEndian.AppendUint32(code, rel)
	return []Edit{{p.Addr, old, code[:len(old)]}}, nil
}
