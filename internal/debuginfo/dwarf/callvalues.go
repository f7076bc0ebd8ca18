package dwarf

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/loc"
)

// What a function was entered with (DW_OP_entry_value), where its registers have other values by now: the compiler may
// describe at the calls what is passed, by what the call does not change. Such an expression is computed at the
// hit, in the registers of the caller, which call frame information leads to. The return address selects the call:
//
//	push the return address
//	search it among those of the calls that are described, which are sorted: jump to the value of the call found
//	OpNone
//	values: drop the return address; compute the value; jump to the end
//
// A value may rest on one that the caller itself was entered with. Then its expression has such a search in it.

const (
	// mostCallers bounds the calls of a search; innerCallers those of a search within a value.
	mostCallers  = 256
	innerCallers = 32
	// mostOps bounds the operations of a search.
	mostOps = 4096
	// mostDepth bounds how many values rest on each other.
	mostDepth = 3
)

const onlyAtEntry = "optimised out: only its value at the function's entry is known (DW_OP_entry_value)"

// passed says what of a function's entry is wanted: a register, what size bytes are where it points (0: the register
// itself), or a parameter. as is the type of the register's value. target: the address of the function that is called.
type passed struct {
	reg    int
	size   int64
	param  die
	as     loc.BaseType
	target bool
}

func (p passed) key() string {
	return fmt.Sprintf("%d,%d,%d,%v,%v", p.reg, p.size, p.param.off, p.as, p.target)
}

// callValues is what calls pass, in the registers at the call: by call, and by what is wanted.
type callValues struct {
	*calls
	values map[string]callValue
}

type callValue struct {
	ops []debuginfo.Op
	ok  bool
}

// atEntryOf is what the function was entered with, in the registers of the position. u is the unit of the expression.
func (lo *locations) atEntryOf(u *unit, e loc.Entered) ([]debuginfo.Op, string) {
	want := passed{reg: e.Reg, size: e.Size, as: e.As}
	if e.Param != 0 {
		var ok bool
		if want.param, ok = u.dieAt(u.off + e.Param); !ok {
			return nil, "its location is malformed (parameter)"
		}
	} else if lo.f != nil && lo.depth == 0 && lo.entered() {
		ops := []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(want.reg)}}
		if want.as.Float {
			ops[0].Code = debuginfo.OpVector
		}
		if want.size > 0 {
			ops = append(ops, debuginfo.Op{Code: debuginfo.OpDeref, Arg: want.size})
		}
		return ops, ""
	}
	if lo.f == nil || lo.depth >= mostDepth {
		return nil, onlyAtEntry
	}
	rule, err := lo.m.unwind(lo.pc)
	if err != nil || rule.CFA == nil || rule.Signal {
		return nil, onlyAtEntry
	}
	if len(lo.via) > 0 {
		ops, ok := lo.fromCaller(atTailCall(rule), lo.via, want)
		if !ok {
			return nil, onlyAtEntry
		}
		return ops, ""
	}
	return lo.searched(rule, want)
}

// fromCaller is what the last call of a way passes, in the registers of the position.
func (lo *locations) fromCaller(rule *frame.Rule, w way, want passed) ([]debuginfo.Op, bool) {
	ops, ok := lo.m.passedBy(w, want, lo.depth+1)
	if !ok {
		return nil, false
	}
	sp := rule.CFA
	if w[len(w)-1].tail { // it has removed its frame, but not the return address
		sp = append(slices.Clip(sp), debuginfo.Op{Code: debuginfo.OpAddConst, Arg: -host.Processor.ReturnSlot})
	}
	return replaceRegisters(ops, func(n int) ([]debuginfo.Op, bool) {
		if n == int(host.Processor.SP) {
			return sp, true
		}
		return recovered(rule, n)
	})
}

// atTailCall is the rule at a tail call. The function has removed its frame, so the registers that it saved there have their
// values again. Compilers do not say so; what lay there is overwritten by the function that is called.
func atTailCall(rule *frame.Rule) *frame.Rule {
	out := *rule
	out.Regs = maps.Clone(rule.Regs)
	maps.DeleteFunc(out.Regs, func(_ int, r frame.RegRule) bool {
		return r.Kind == frame.AtCFA && r.Offset < -host.Processor.ReturnSlot
	})
	return &out
}

// passedBy is what the last call of a way passes, in the registers at the call.
func (ss *scopes) passedBy(w way, want passed, depth int) ([]debuginfo.Op, bool) {
	c, via := w[len(w)-1], w[:len(w)-1]
	key := fmt.Sprintf("%x,%d,%d,%s", c.at, len(via), depth, want.key())
	if len(via) > 0 {
		key += fmt.Sprintf(",%x", via[0].pc)
	}
	if v, ok := ss.values[key]; ok {
		return v.ops, v.ok
	}
	if ss.values == nil || len(ss.values) > 1<<16 {
		ss.values = map[string]callValue{}
	}
	var r callValue
	if v, ok := c.passedValue(want); ok {
		at := &position{m: ss, pc: c.at, u: c.f.d.u, f: c.f}
		if rule, err := ss.unwind(c.at); err == nil {
			at.cfa = rule.CFA
		}
		lo := &locations{position: at, via: via, depth: depth}
		var why string
		r.ops, why = lo.env(v.u).WordOf(want.as, v.B, nil)
		r.ok = why == "" && len(r.ops) > 0
	}
	ss.values[key] = r
	return r.ops, r.ok
}

// recovered is the value that a register has in the caller. Compilers describe what is passed by registers that the
// call leaves alone: those that all functions preserve, and, where the compiler knows the function's code, others that
// it does not use.
func recovered(rule *frame.Rule, n int) ([]debuginfo.Op, bool) {
	r, ok := rule.Regs[n]
	if !ok {
		r.Kind = frame.SameValue
	}
	word := debuginfo.Op{Code: debuginfo.OpDeref, Arg: 8}
	switch r.Kind {
	case frame.SameValue:
		return []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(n)}}, true
	case frame.AtCFA:
		return append(slices.Clip(rule.CFA), debuginfo.Op{Code: debuginfo.OpAddConst, Arg: r.Offset}, word), true
	case frame.IsCFA:
		return append(slices.Clip(rule.CFA), debuginfo.Op{Code: debuginfo.OpAddConst, Arg: r.Offset}), true
	case frame.InOther:
		return []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(r.Reg)}}, true
	case frame.AtExpr:
		return append(slices.Clip(r.Expr), word), len(r.Expr) > 0
	case frame.IsExpr:
		return r.Expr, len(r.Expr) > 0
	}
	return nil, false
}

// replaceRegisters computes an expression with other values for its registers.
func replaceRegisters(ops []debuginfo.Op, value func(n int) ([]debuginfo.Op, bool)) ([]debuginfo.Op, bool) {
	var out []debuginfo.Op
	at := make([]int, len(ops)+1)
	var jumps []int
	for i, op := range ops {
		at[i] = len(out)
		switch op.Code {
		case debuginfo.OpReg:
			v, ok := value(int(op.Arg))
			if !ok {
				return nil, false
			}
			out = loc.Append(out, v)
		case debuginfo.OpVector: // calls leave none of them alone
			return nil, false
		case debuginfo.OpSkip, debuginfo.OpBra:
			jumps = append(jumps, len(out))
			out = append(out, op)
		default:
			out = append(out, op)
		}
		if len(out) > mostOps {
			return nil, false
		}
	}
	at[len(ops)] = len(out)
	for _, j := range jumps {
		out[j].Arg = int64(at[out[j].Arg])
	}
	return out, true
}

// searched is what the call with the hit's return address passes.
func (lo *locations) searched(rule *frame.Rule, want passed) ([]debuginfo.Op, string) {
	ra, ok := rule.Regs[rule.RA]
	ret := []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(rule.RA)}}
	if ok && ra.Kind != frame.SameValue {
		if ret, ok = recovered(rule, rule.RA); !ok {
			return nil, onlyAtEntry
		}
	} else if host.Processor.ReturnSlot > 0 {
		return nil, onlyAtEntry
	}
	s := &callSearch{leaves: map[string]int{}}
	for _, w := range lo.m.waysTo(lo.f) {
		if ops, ok := lo.fromCaller(rule, w, want); ok {
			s.add(w[0].pc, ops)
		}
	}
	for _, c := range lo.m.byPointer(lo.f) {
		if ops, ok := lo.fromCaller(rule, way{c}, want); ok {
			if target, ok := lo.fromCaller(rule, way{c}, passed{target: true}); ok {
				s.add(c.pc, ifCalled(target, lo.f.entry(), ops))
			}
		}
	}
	most := mostCallers
	if lo.depth > 0 {
		most = innerCallers
	}
	switch {
	case len(s.cases) == 0:
		return nil, onlyAtEntry
	case len(s.cases) > most || s.size > mostOps:
		return nil, onlyAtEntry + ", and too many calls of the function are known to search them at the hit"
	}
	return s.expression(ret), ""
}

// ifCalled is a value that counts if the function with that entry has been called; target pushes the address of the one that was.
func ifCalled(target []debuginfo.Op, entry uint64, value []debuginfo.Op) []debuginfo.Op {
	out := append(slices.Clip(target), debuginfo.Op{Code: debuginfo.OpAddr, Arg: int64(entry)}, debuginfo.Op{Code: debuginfo.OpEq})
	out = append(out, debuginfo.Op{Code: debuginfo.OpBra, Arg: int64(len(out)) + 2}, debuginfo.Op{Code: debuginfo.OpNone})
	return loc.Append(out, value)
}

// callSearch selects a value by the return address.
type callSearch struct {
	other  int64 // of OpNone for another return address
	cases  []callCase
	values [][]debuginfo.Op
	leaves map[string]int // the number of an equal value
	size   int
}

type callCase struct {
	pc   uint64
	leaf int
}

func (s *callSearch) add(pc uint64, ops []debuginfo.Op) {
	key := fmt.Sprint(ops)
	n, ok := s.leaves[key]
	if !ok {
		n = len(s.values)
		s.leaves[key], s.values = n, append(s.values, ops)
		s.size += len(ops)
	}
	s.size += 4
	s.cases = append(s.cases, callCase{pc, n})
}

// expression pushes the value of the case that ret is.
func (s *callSearch) expression(ret []debuginfo.Op) []debuginfo.Op {
	slices.SortFunc(s.cases, func(a, b callCase) int { return cmp.Compare(int64(a.pc), int64(b.pc)) })
	out := slices.Clone(ret)
	emit := func(code debuginfo.OpCode, arg int64) { out = append(out, debuginfo.Op{Code: code, Arg: arg}) }
	toLeaf := make([][]int, len(s.values)) // the jumps to each
	var search func(list []callCase)
	search = func(list []callCase) {
		const linear = 4
		if len(list) > linear {
			middle := len(list) / 2
			emit(debuginfo.OpDup, 0)
			emit(debuginfo.OpAddr, int64(list[middle].pc))
			emit(debuginfo.OpLt, 0)
			jump := len(out)
			emit(debuginfo.OpBra, 0)
			search(list[middle:])
			out[jump].Arg = int64(len(out))
			search(list[:middle])
			return
		}
		for _, c := range list {
			emit(debuginfo.OpDup, 0)
			emit(debuginfo.OpAddr, int64(c.pc))
			emit(debuginfo.OpEq, 0)
			toLeaf[c.leaf] = append(toLeaf[c.leaf], len(out))
			emit(debuginfo.OpBra, 0)
		}
		emit(debuginfo.OpNone, s.other)
	}
	search(s.cases)
	var ends []int
	for i, v := range s.values {
		for _, j := range toLeaf[i] {
			out[j].Arg = int64(len(out))
		}
		emit(debuginfo.OpDrop, 0)
		out = loc.Append(out, v)
		ends = append(ends, len(out))
		emit(debuginfo.OpSkip, 0)
	}
	for _, j := range ends {
		out[j].Arg = int64(len(out))
	}
	return out
}
