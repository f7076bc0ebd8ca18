package patch

import (
	"fmt"
	"slices"
)

// Verdict is how certain it is that an instruction begins at an address.
type Verdict uint8

// The verdicts.
const (
	Begins   Verdict = iota // control flow leads there from a known start
	Inside                  // control flow leads through an instruction that holds the address
	Unproven                // no known control flow leads there: data, dead code, or code reached in a way that is not understood
)

// Boundary is what is known of an address as the place of a breakpoint.
type Boundary struct {
	Verdict Verdict
	Inst    Inst   // the instruction that begins there, or that holds the address; Len 0: not known
	Why     string // why the verdict is not Begins
}

// Flow is the code that control flow is known to lead through.
type Flow struct {
	c  *Code
	lo uint64
	at []uint8 // of each byte
}

const (
	flowBegins uint8 = 1 << iota // an instruction begins here
	flowInside                   // a byte of an instruction, not its first
)

// Flow follows the control flow of the code from Entries, landing pads, jump tables
// and vouched (addresses that something else says are starts of instructions: a line
// table). A vouched address that control flow shows to lie inside an instruction is
// ignored. In contrast to a sweep from the start of the function to its end, data
// within the function is not taken for code.
func (c *Code) Flow(vouched []uint64) *Flow { return c.follow(c.Entries, vouched) }

func (c *Code) follow(entries, vouched []uint64) *Flow {
	a := c.analyse()
	f := &Flow{c: c, lo: c.Lo, at: make([]uint8, len(a.index))}
	f.from(c.inside(c.LandingPads)...)
	f.from(c.inside(entries)...)
	for _, t := range c.inside(vouched) {
		if f.at[t-c.Lo] == 0 {
			f.from(t)
		}
	}
	// Tables are read beyond their ends, so what they lead to counts only where the
	// sweep finds an instruction too, in functions that the sweep understands.
	if a.broken == "" && !c.ownData(a) {
		for _, t := range c.inside(a.tables) {
			if f.at[t-c.Lo] == 0 && a.at(c, t) != nil {
				f.from(t)
			}
		}
	}
	return f
}

// ownData reports whether an instruction refers to an address within the function, as
// it does where tables and constants lie between the instructions.
func (c *Code) ownData(a *analysis) bool {
	return slices.ContainsFunc(a.insts, func(in Inst) bool {
		return in.RIPOff != 0 && in.RIPTarget >= c.Lo && in.RIPTarget < c.Hi
	})
}

// from follows control flow from addresses of the function.
func (f *Flow) from(list ...uint64) {
	for len(list) > 0 {
		addr := list[len(list)-1]
		list = list[:len(list)-1]
		for addr >= f.lo && addr-f.lo < uint64(len(f.at)) && f.at[addr-f.lo]&flowBegins == 0 {
			in, err := Decode(f.c.Bytes[addr-f.lo:], addr)
			if err != nil {
				break
			}
			f.mark(&in)
			switch in.Class {
			case Jmp, Jcc, Loop, Call, XBegin:
				list = append(list, in.Target)
			}
			if in.Class.Ends() {
				break
			}
			addr = in.Next()
		}
	}
}

func (f *Flow) mark(in *Inst) {
	off := in.Addr - f.lo
	f.at[off] |= flowBegins
	for i := off + 1; i < off+uint64(in.Len) && i < uint64(len(f.at)); i++ {
		f.at[i] |= flowInside
	}
}

// Boundary reports whether an instruction begins at addr.
func (f *Flow) Boundary(addr uint64) Boundary {
	if addr < f.lo || addr-f.lo >= uint64(len(f.at)) {
		return Boundary{Verdict: Unproven, Why: "the address is outside the function"}
	}
	holder := f.holder(addr)
	switch f.at[addr-f.lo] {
	case flowBegins:
		in, _ := Decode(f.c.Bytes[addr-f.lo:], addr)
		return Boundary{Verdict: Begins, Inst: in}
	case flowInside:
		return Boundary{Inside, holder, "the address is inside " + inWords(&holder)}
	case flowBegins | flowInside:
		// For example a branch over a lock prefix: a breakpoint after the prefix would be an invalid
		// instruction for control that comes through the prefix.
		return Boundary{Unproven, holder, "the code can be read in two ways: the address is also inside " + inWords(&holder)}
	}
	return Boundary{Verdict: Unproven, Why: "no control flow that is understood leads there: it may be data or padding"}
}

// holder is the instruction marked nearest before addr that holds it.
func (f *Flow) holder(addr uint64) Inst {
	for back := uint64(1); back < maxLen && addr-back >= f.lo; back++ {
		if f.at[addr-back-f.lo]&flowBegins == 0 {
			continue
		}
		if in, err := Decode(f.c.Bytes[addr-back-f.lo:], addr-back); err == nil && in.Next() > addr {
			return in
		}
	}
	return Inst{}
}

func inWords(in *Inst) string {
	return fmt.Sprintf("the instruction of %d bytes at %#x (% x)", in.Len, in.Addr, in.Bytes())
}

// Calls reports whether the function may hand control to other code that comes
// back to it, or ends in such code: whether something it calls may unwind its frame.
func (c *Code) Calls() bool {
	a := c.analyse()
	if a.broken != "" {
		return true
	}
	return slices.ContainsFunc(a.insts, func(in Inst) bool {
		switch in.Class {
		case Call, CallInd, JmpInd, Syscall, Far:
			return true
		case Jmp, Jcc:
			return in.Target < c.Lo || in.Target >= c.Hi
		}
		return false
	})
}

// RedZone reports whether the function may keep data below the stack pointer: it
// calls nothing, which is when compilers do so, or has an operand there.
func (c *Code) RedZone() bool {
	a := c.analyse()
	calls := false
	for i := range a.insts {
		in := &a.insts[i]
		calls = calls || in.Class == Call || in.Class == CallInd
		if in.modOff == 0 || in.RIPOff != 0 || !in.Mem {
			continue
		}
		if m := in.memory(); m.isMem && m.base == 4 && m.disp < 0 {
			return true
		}
	}
	return !calls || a.broken != ""
}

// doubtful returns why an instruction that the sweep has found at addr may be data; "" if it is code as far as can be
// known. Compilers put no data between instructions; authors of assembler do, and then something refers to them. So in a
// function that may be written by hand, or refers to itself, an address that no control flow leads to is in doubt if
// anything refers to the bytes around it that none leads to.
func (c *Code) doubtful(a *analysis, addr uint64) string {
	if addr == c.Lo || !c.Apart && !c.ownData(a) {
		return ""
	}
	f := c.known()
	b := f.Boundary(addr)
	if b.Verdict == Begins {
		return ""
	}
	lo, hi := addr, addr+1
	for lo > f.lo && f.at[lo-1-f.lo] == 0 {
		lo--
	}
	for hi-f.lo < uint64(len(f.at)) && f.at[hi-f.lo] == 0 {
		hi++
	}
	for i := range a.insts {
		for _, to := range arrivals(&a.insts[i]) {
			if to >= lo && to < hi {
				return b.Why
			}
		}
	}
	if c.Text == nil {
		return ""
	}
	text, err := c.Text()
	if err != nil {
		return b.Why
	}
	if _, refers := text.arrives(c, lo-1, hi); refers {
		return b.Why
	}
	return ""
}

// known is what control flow leads through from the function's start and from what is vouched for. Entries do not
// count: a label in the function may be that of data.
func (c *Code) known() *Flow {
	c.flowOnce.Do(func() {
		var vouched []uint64
		if c.Vouched != nil {
			vouched = c.Vouched()
		}
		c.flow = c.follow([]uint64{c.Lo}, vouched)
	})
	return c.flow
}
