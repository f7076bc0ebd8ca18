package patch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"sort"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo/pclntab"
)

// GoStack says how many bytes Go guarantees below the stack pointer. A goroutine's
// stack ends without a guard page: what is stored below it is another goroutine's memory.
//
// What is guaranteed follows from the code, by the rules of Go's linker (since Go 1.18:
// stackGuard = 928, of which functions with frames of at most 128 bytes may use 128
// unasked):
//
//	a function that calls morestack, behind its check   928 - d; with a frame F of more
//	                                                    than 128 bytes 800 + F - d
//	another function, and before the check              what its callers leave, - d
//	a callee                                            what is left at the call - 8
//
// d is what the function has taken from the stack pointer so far, from the table that Go
// itself unwinds by (pclntab). What is called indirectly is not known: Go's linker takes
// it for a function with a check, and each of them has at most what is left at any such call.
type GoStack struct {
	funcs    []goFunc
	indirect int64 // what functions with a check have when they are called indirectly
}

type goFunc struct {
	lo, hi uint64
	deltas []pclntab.Span // what it has taken from the stack pointer up to a pc
	asm    bool
	moves  bool // it sets the stack pointer: its calls run on a system stack
	check  int  // index of the morestack function that it calls; -1: it has no check
	max    int64
	asked  int64 // assembler: the frame, or 8 bytes more; it may also push
	entry  int64 // guaranteed when it is entered
	calls  []goCall
	ind    []uint64 // pcs of indirect calls and jumps
}

type goCall struct {
	pc     uint64
	to     int
	pushed int64 // the return address; 0: a jump
}

const (
	goGuard = 928 // internal/abi.StackSmall and cmd/internal/objabi.StackNosplit together
	goSmall = 128
	goLimit = goGuard - goSmall
)

// NewGoStack examines a program of Go: its table of functions, and the executable segment with its code. start is the
// address of runtime.text (0: that of the table's head). Addresses are those of the file.
func NewGoStack(t *pclntab.Table, text Region, start uint64) (*GoStack, error) {
	if start == 0 {
		start = t.Start()
	}
	g := &GoStack{}
	var more []int
	var injected goInjected
	for i := range t.Len() {
		f, name, err := goFunction(t, i, start)
		if err != nil {
			return nil, err
		}
		switch {
		case strings.HasPrefix(name, "runtime.morestack"):
			more = append(more, i)
		case name == "runtime.asyncPreempt":
			injected.preempt = append(injected.preempt, i)
		case name == "runtime.asyncPreempt2":
			injected.frames += f.max + 8
		case name == "runtime.sigpanic", name == "runtime.sigpanic0":
			injected.panics = append(injected.panics, i)
		}
		g.funcs = append(g.funcs, f)
	}
	if !g.findChecks(text, more) {
		return nil, errors.New("no function calls morestack where the table says that functions are")
	}
	for i := range g.funcs {
		if !slices.Contains(more, i) { // what morestack calls runs on a system stack
			g.decode(i, text)
		}
	}
	g.settle(injected)
	return g, nil
}

// Room is how many bytes below the stack pointer are the goroutine's before the
// instruction at pc is executed. known: pc lies in code that Go's table describes; other
// code (C) runs on stacks with guard pages.
func (g *GoStack) Room(pc uint64) (n int64, known bool) {
	i := g.at(pc)
	if i < 0 {
		return 0, false
	}
	return max(g.funcs[i].room(pc), 0), true
}

func (g *GoStack) at(pc uint64) int {
	i := sort.Search(len(g.funcs), func(i int) bool { return g.funcs[i].lo > pc }) - 1
	if i < 0 || pc >= g.funcs[i].hi {
		return -1
	}
	return i
}

func (f *goFunc) delta(pc uint64) int64 {
	for _, x := range f.deltas {
		if pc < x.Hi {
			return x.Value
		}
	}
	return f.max
}

func (f *goFunc) room(pc uint64) int64 {
	d := f.delta(pc)
	switch {
	case f.check < 0 || d == 0:
		return f.entry - d
	case f.asm:
		return goLimit + f.asked - 8 - d
	case f.max <= goSmall:
		return goGuard - d
	}
	return goLimit + f.max - d
}

// findChecks notes which functions call one of the morestack functions.
func (g *GoStack) findChecks(text Region, more []int) (any bool) {
	for i := range g.funcs {
		f := &g.funcs[i]
		f.check = -1
		b := text.slice(f.lo, f.hi)
		for at := 0; f.check < 0; at++ {
			k := bytes.IndexByte(b[at:], 0xe8)
			if k < 0 || at+k+jumpLen > len(b) {
				break
			}
			at += k
			to := f.lo + uint64(at) + jumpLen + uint64(int64(int32(binary.LittleEndian.Uint32(b[at+1:]))))
			for _, m := range more {
				if m != i && g.funcs[m].lo == to {
					f.check, any = m, true
				}
			}
		}
	}
	return any
}

// slice is the part of a region between two addresses, as far as it has it.
func (r Region) slice(lo, hi uint64) []byte {
	end := r.Addr + uint64(len(r.Bytes))
	if lo < r.Addr || lo >= end || hi <= lo {
		return nil
	}
	return r.Bytes[lo-r.Addr : min(hi, end)-r.Addr]
}

// decode finds the calls of a function that may leave little: those without a check, and
// those in assembler.
func (g *GoStack) decode(i int, text Region) {
	f := &g.funcs[i]
	if f.check >= 0 {
		f.calls = append(f.calls, goCall{f.lo, f.check, 8})
		if !f.asm {
			return
		}
	}
	b := text.slice(f.lo, f.hi)
	for pc := f.lo; pc < f.hi && pc-f.lo < uint64(len(b)); {
		in, err := Decode(b[pc-f.lo:], pc)
		if err != nil {
			return // data after the last instruction
		}
		switch in.Class {
		case CallInd, JmpInd:
			if in.Class == JmpInd || !f.moves {
				f.ind = append(f.ind, pc)
			}
		case Call, Jmp, Jcc:
			if to := g.at(in.Target); to >= 0 && to != i {
				c := goCall{pc: pc, to: to}
				if in.Class == Call {
					c.pushed = 8
				}
				f.calls = append(f.calls, c)
			}
		}
		pc = in.Next()
	}
}

// goInjected are the functions that Go's handlers of signals inject calls of.
type goInjected struct {
	preempt []int // where there is room for it and for frames, with return addresses
	frames  int64
	panics  []int // at any instruction that can fault
}

// settle computes what every function has when it is entered: the least that any call
// leaves. Values only fall, by whole calls, and end at 0.
func (g *GoStack) settle(injected goInjected) {
	w := goWork{g: g, queued: make([]bool, len(g.funcs))}
	for i := range g.funcs {
		g.funcs[i].entry = goLimit - 8 // called from a function behind its check
		w.push(i)
	}
	for len(w.list) > 0 {
		w.drain()
		var least int64
		g.indirect, least = g.least()
		for i := range g.funcs {
			if g.funcs[i].check >= 0 {
				w.lower(i, g.indirect)
			}
		}
		for _, i := range injected.panics {
			w.lower(i, least-8)
		}
	}
	// What asyncPreempt2 calls leaves the goroutine's stack (mcall).
	for _, i := range injected.preempt {
		w.lower(i, g.funcs[i].max+8+injected.frames)
	}
	w.onward = true
	w.drain()
}

// least is what is left at any indirect call, and at any instruction.
func (g *GoStack) least() (indirect, least int64) {
	indirect, least = goLimit-8, goLimit-8
	for i := range g.funcs {
		f := &g.funcs[i]
		for _, pc := range f.ind {
			indirect = min(indirect, f.room(pc)-8)
		}
		if least = min(least, f.entry); f.check < 0 {
			least = min(least, f.entry-f.max)
		}
	}
	return indirect, least
}

// goWork lists the functions whose callees are still to be looked at.
type goWork struct {
	g      *GoStack
	list   []int
	queued []bool
	onward bool // not beyond functions that change stacks
}

func (w *goWork) drain() {
	for len(w.list) > 0 {
		w.calls(w.pop())
	}
}

func (w *goWork) push(i int) {
	if !w.queued[i] {
		w.queued[i] = true
		w.list = append(w.list, i)
	}
}

func (w *goWork) pop() int {
	i := w.list[len(w.list)-1]
	w.list = w.list[:len(w.list)-1]
	w.queued[i] = false
	return i
}

// lower notes that function i may be entered with no more than room.
func (w *goWork) lower(i int, room int64) {
	if f := &w.g.funcs[i]; room < f.entry && f.entry > 0 {
		f.entry = max(room, 0)
		w.push(i)
	}
}

func (w *goWork) calls(i int) {
	f := &w.g.funcs[i]
	if w.onward && f.moves {
		return
	}
	for _, c := range f.calls {
		w.lower(c.to, f.room(c.pc)-c.pushed)
	}
}

// goFunction reads function i of a table, with the name of a function of the run-time system.
func goFunction(t *pclntab.Table, i int, start uint64) (f goFunc, name string, err error) {
	in, err := t.Func(i)
	if err != nil {
		return f, "", err
	}
	f.lo, f.hi, f.asm, f.moves = start+in.Lo, start+in.Hi, in.Asm, in.SetsSP
	if f.deltas, err = t.Taken(&in); err != nil {
		return f, "", err
	}
	for k := range f.deltas {
		x := &f.deltas[k]
		x.Hi += start
		f.max = max(f.max, x.Value)
		// The prologue pushes rbp and takes the rest of the frame.
		if x.Value > 0 && (f.asked == 0 || f.asked == 8 || x.Value > 8 && x.Value < f.asked) {
			f.asked = x.Value
		}
	}
	return f, t.NameOf(&in), nil
}
