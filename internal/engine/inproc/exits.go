package inproc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/engine/results"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
)

// The returns of a function are patched where they are; no return address is changed. So exceptions, longjmp,
// coroutines, stacks that move and shadow stacks work as without jalon: a function that is left by such a way
// just has no hit. A tail call is a hit too: the function has ended, and another one will return in its place.

var errNoReturn = errors.New("the function never returns: it has no return instruction and no tail call")

// exits lists the returns and tail calls of the function with the entry. If they are not all certain, it is one
// site that cannot be compiled.
func (m *module) exits(entry probe.Site) (list []*Site) {
	fn, ok := m.dw.FunctionAt(entry.Addr)
	if !ok {
		return []*Site{{mod: m, site: entry, unsure: fmt.Errorf("no function is known at %#x: its bounds are needed", entry.Addr)}}
	}
	var again []uint64
	frames := patch.Frames{Top: m.returnOnTop, Entry: m.entryAt, Start: fn.Lo + m.bias, Again: func(from uint64) {
		again = append(again, from)
	}}
	found, err := m.allExits(m.withCold(fn), frames)
	if err != nil {
		return []*Site{{mod: m, site: entry, unsure: err}}
	}
	for i := range found {
		s := entry
		s.Addr = found[i].Inst.Addr - m.bias
		_, _, s.File, s.Line, _ = m.dw.Symbolize(s.Addr)
		list = append(list, &Site{mod: m, site: s, exit: &found[i], fn: fn, again: again})
	}
	return list
}

// allExits lists the exits of a function. Parts of it that only its jumps show are added.
func (m *module) allExits(fn *dwarf.Function, frames patch.Frames) (list []patch.Exit, err error) {
	for i := 0; i < len(fn.Ranges); i++ {
		found, err := m.partExits(fn, fn.Ranges[i], frames)
		var unsure *patch.ExitError
		if errors.As(err, &unsure) && unsure.Part != 0 && len(fn.Ranges) < maxParts {
			if whole := m.withPart(fn, unsure.Part); whole != nil {
				return m.allExits(whole, frames)
			}
		}
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// maxParts bounds the parts of a function.
const maxParts = 64

// withPart adds the code around a run-time address, if it belongs to no function that has a name; otherwise it
// returns nil.
func (m *module) withPart(fn *dwarf.Function, addr uint64) *dwarf.Function {
	part, ok := m.dw.FunctionAt(addr - m.bias)
	if !ok || part.Linkage != "" && !strings.Contains(part.Linkage, ".cold") || !part.FromSymbols {
		return nil
	}
	whole := *fn
	whole.Ranges = append(whole.Ranges[:len(whole.Ranges):len(whole.Ranges)], debuginfo.Range{Lo: part.Lo, Hi: part.Hi})
	return &whole
}

// partExits lists the exits in one part of a function. The code is read from the file: nothing is patched there.
func (m *module) partExits(fn *dwarf.Function, r debuginfo.Range, frames patch.Frames) ([]patch.Exit, error) {
	code, err := m.functionCode(fn, r.Lo, m.fromFile)
	if err != nil {
		return nil, err
	}
	return code.Exits(frames)
}

// fromFile reads the file as it is mapped in memory.
func (m *module) fromFile(addr uint64, n int) ([]byte, error) {
	b, err := m.dw.Loaded(addr-m.bias, n, m.bias)
	if err == nil && len(b) < n {
		err = fmt.Errorf("the file ends within %#x", addr)
	}
	return b, err
}

// withCold adds the parts that symbols show: debug information has them already.
func (m *module) withCold(fn *dwarf.Function) *dwarf.Function {
	if !fn.FromSymbols || fn.Linkage == "" {
		return fn
	}
	whole := *fn
	for _, suffix := range []string{".cold", ".cold.0", ".cold.1", ".cold.2", ".cold.3"} {
		for _, s := range m.dw.Lookup(fn.Linkage + suffix) {
			if s.Size > 0 {
				whole.Ranges = append(whole.Ranges[:len(whole.Ranges):len(whole.Ranges)], debuginfo.Range{Lo: s.Value, Hi: s.Value + s.Size})
			}
		}
	}
	return &whole
}

// returnOnTop reports whether the return address is on top of the stack before the instruction at a run-time
// address.
func (m *module) returnOnTop(addr uint64) (top, known bool) {
	rule, err := m.dw.Unwind(addr - m.bias)
	if err != nil || len(rule.CFA) == 0 {
		return false, false
	}
	reg, off, ok := counted(rule.CFA)
	return ok && reg == rsp && off == 8, true
}

// entryAt reports whether a function, or an entry of the procedure linkage table, begins at a run-time address.
func (m *module) entryAt(addr uint64) bool {
	vaddr := addr - m.bias
	if strings.HasPrefix(m.dw.SectionAt(vaddr), ".plt") {
		return true
	}
	fn, ok := m.dw.FunctionAt(vaddr)
	return ok && fn.Lo == vaddr && !strings.Contains(fn.Linkage, ".cold")
}

// make plans a patch. At a return the jump may begin at an instruction before it, from address lo on.
func (w *Site) make(code *patch.Code, addr, lo uint64, opt patch.Options) (*patch.Plan, error) {
	if w.exit == nil {
		return patch.Make(code, addr, opt)
	}
	return patch.Covering(code, addr, lo, opt)
}

// Exit describes a return, for sema; nil at other sites.
func (w *Site) Exit() *sema.Exit {
	if w.exit == nil {
		return nil
	}
	f := results.Function{Module: w.mod.dw, Site: w.site, Entry: w.fn.Lo, Bias: w.mod.bias, Text: func() (*patch.Text, error) {
		return w.mod.textOf(w.mod.fromFile)
	}}
	x := &sema.Exit{Value: f.Variable()}
	if v := x.Value; v != nil && v.Loc.Unavailable == "" && len(v.Loc.Pieces) == 0 {
		x.Passed = int(amd64.Processor.Args[0])
	}
	if w.exit.Tail && x.Value != nil {
		x.Value.Loc = debuginfo.Location{Unavailable: "tail call of " + w.target() + ", which will return the value"}
		x.Tail = true
	}
	if w.exit.Conditional() {
		cc := w.exit.Inst.Condition()
		x.Taken = func(b *ir.Builder, flags ir.Value) ir.Value { return taken(b, flags, cc) }
	}
	return x
}

// what describes the exit.
func (w *Site) what() string {
	switch {
	case !w.exit.Tail:
		return "return"
	case w.exit.Conditional():
		return "conditional tail call of " + w.target()
	}
	return "tail call of " + w.target()
}

// target names the function that a tail call leads to.
func (w *Site) target() string {
	if w.exit.Target == 0 {
		return "another function"
	}
	vaddr := w.exit.Target - w.mod.bias
	if name, off, _, _, _ := w.mod.dw.Symbolize(vaddr); name != "" && off == 0 {
		return name
	}
	return fmt.Sprintf("the function at %#x", w.exit.Target)
}

// The bits of the flags register that conditions use.
const (
	bitCF = 0
	bitPF = 2
	bitZF = 6
	bitSF = 7
	bitOF = 11
)

// taken emits 1 if the flags fulfil a condition of a jump (Intel SDM volume 1, appendix B), otherwise 0.
func taken(b *ir.Builder, flags ir.Value, cc uint8) ir.Value {
	bit := func(n int64) ir.Value { return b.Bin(ir.And, 8, b.Bin(ir.Shr, 8, flags, b.Const(n)), b.Const(1)) }
	var v ir.Value
	switch cc >> 1 {
	case 0:
		v = bit(bitOF)
	case 1:
		v = bit(bitCF)
	case 2:
		v = bit(bitZF)
	case 3:
		v = b.Bin(ir.Or, 8, bit(bitCF), bit(bitZF))
	case 4:
		v = bit(bitSF)
	case 5:
		v = bit(bitPF)
	case 6:
		v = b.Bin(ir.Xor, 8, bit(bitSF), bit(bitOF))
	case 7:
		v = b.Bin(ir.Or, 8, bit(bitZF), b.Bin(ir.Xor, 8, bit(bitSF), bit(bitOF)))
	}
	if cc&1 != 0 {
		v = b.Bin(ir.Xor, 8, v, b.Const(1))
	}
	return v
}
