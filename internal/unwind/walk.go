package unwind

import "encoding/binary"

// Registers are those that a walk begins with.
type Registers struct{ PC, SP, FP uint64 }

// Memory is what a walk may read: by Read, or, if that is nil, Bytes from address Base up.
type Memory struct {
	Base  uint64
	Bytes []byte
	Read  func(addr uint64) (uint64, bool)
}

func (m *Memory) word(addr uint64) (uint64, bool) {
	if m.Read != nil {
		return m.Read(addr)
	}
	off := addr - m.Base
	if off > uint64(len(m.Bytes)) || uint64(len(m.Bytes))-off < wordSize {
		return 0, false
	}
	return binary.LittleEndian.Uint64(m.Bytes[off:]), true
}

// End is why a walk ended.
type End uint8

// The reasons.
const (
	Whole      End = iota // the outermost frame was reached
	Deep                  // there are more frames than were asked for
	Unreadable            // the stack goes on behind the memory
	Unknown               // no table has the code of the last frame
	Special               // the last frame needs the rules in full: see General
	Damaged               // what would be the caller's frame cannot be one: it is not above, or not in code
)

// String says why nothing is known of what called the last frame; "" where nothing did.
func (e End) String() string {
	switch e {
	case Whole:
		return ""
	case Deep:
		return "more frames than are recorded"
	case Unreadable:
		return "more stack than was recorded"
	case Unknown:
		return "no call frame information for this code"
	case Special:
		return "call frame information that cannot be evaluated at the hit"
	}
	return "what would be the caller's frame is none"
}

// Walk appends the program counters of a stack to pcs, innermost first, up to its capacity. The
// first is that of the registers; the others are return addresses, or where a signal interrupted code. find
// gives the rule at an address of the program: for a caller that of the byte before its return
// address, which is in the call.
func Walk(r Registers, m *Memory, find func(addr uint64) Rule, pcs []uint64) ([]uint64, End) {
	pcs = append(pcs, r.PC)
	before := uint64(0) // 1: the pc is behind a call
	known := true       // the frame pointer
	// A copy begins at the stack pointer: where a frame pointer is saved below it, in code that has restored it
	// already, it is not known.
	copied := m.Read == nil
	for {
		rule := find(r.PC - before)
		cfa, fp, at := r.SP, r.FP, uint64(0)
		ok, signal := true, false
		switch rule.Kind() {
		case BySP:
			cfa += rule.Distance()
		case ByFP:
			cfa, ok = r.FP+rule.Distance(), known
		case SavedByFP:
			if cfa, ok = m.word(r.FP - rule.Distance()); ok && known {
				fp, known = m.word(r.FP)
				ok = known || copied
			} else {
				ok = false
			}
		case Signal:
			if cfa, ok = m.word(r.SP + signalSP); ok {
				fp, known = m.word(r.SP + signalFP)
				ok = known || copied
			}
			at, signal = r.SP+signalPC, true
		case Outermost:
			return pcs, Whole
		case None:
			return pcs, Unknown
		default:
			return pcs, Special
		}
		switch {
		case !ok:
			return pcs, Unreadable
		case signal:
		case cfa <= r.SP:
			return pcs, Damaged
		default:
			at = cfa - wordSize
		}
		if saved := rule.Saved(); saved != 0 {
			if fp, known = m.word(cfa - saved); !known && !copied {
				return pcs, Unreadable
			}
		}
		pc, readable := m.word(at)
		switch {
		case !readable:
			return pcs, Unreadable
		case pc == 0:
			return pcs, Whole
		case len(pcs) == cap(pcs):
			return pcs, Deep
		}
		r, before = Registers{pc, cfa, fp}, 1
		if signal {
			before = 0
		}
		pcs = append(pcs, pc)
	}
}
