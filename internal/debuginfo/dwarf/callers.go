package dwarf

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
)

// The frames around a position (GDB's up). Which function called shows at the hit only, by the return address, so the variables
// of the caller are those of each call that may have led here, in the registers of the hit: see callvalues.go, which selects
// what a call passes in the same way.

// mostCandidates bounds the calls that are looked at for one frame.
const mostCandidates = 2048

// maxUp bounds the number of frames.
const maxUp = 64

// Up implements debuginfo.Framed.
func (s *scope) Up(n int) (up debuginfo.Scope, err error) {
	var more int
	if up, more, err = s.upInlined(n); up != nil || err != nil {
		return up, err
	}
	callers, err := s.callers()
	if err != nil || more == 0 {
		return callers, err
	}
	return callers.Up(more)
}

// upInlined is the scope n frames up if the functions between are inlined. It is nil for others; more is how many frames are
// above the first caller's then.
func (s *scope) upInlined(n int) (up debuginfo.Scope, more int, err error) {
	defer s.m.guard(&err)()
	switch {
	case n < 0 || n > maxUp:
		return nil, 0, fmt.Errorf("the number of frames must be from 0 to %d", maxUp)
	case s.b == nil:
		return nil, 0, noFrames("there is no debug information for the function here")
	}
	b := s.b
	for ; n > 0; n-- {
		if b = b.owner().parent; b == nil {
			return nil, n - 1, nil
		}
	}
	at := *s.position
	out := newScope(&at)
	out.depth, out.via = s.depth, s.via
	out.enter(b)
	return out, 0, nil
}

// noFrames is why the frames around a position are not known.
func noFrames(why string) error { return &debuginfo.NoFrameError{Why: why} }

// callers is what names mean in the functions that may have called the position's.
func (s *scope) callers() (cs *callerScope, err error) {
	defer s.m.guard(&err)()
	rule, ruleErr := s.m.unwind(s.pc)
	switch {
	case s.f == nil:
		return nil, noFrames("there is no debug information for the function here")
	case ruleErr != nil || rule.CFA == nil || rule.Signal:
		return nil, noFrames("there is no call frame information")
	case s.depth >= mostDepth:
		return nil, noFrames(fmt.Sprintf("more than %d calls lie between", mostDepth))
	}
	ret, ok := returnAddress(rule)
	if !ok {
		return nil, noFrames("the call frame information does not say where the return address is")
	}
	cs = &callerScope{of: s, ret: ret, rule: rule}
	known, possible := s.m.returnsTo(s.f)
	cs.add(known, true)
	if len(possible) <= mostCandidates {
		cs.add(possible, false)
	}
	if len(cs.list) == 0 {
		return nil, noFrames(fmt.Sprintf("no call of %s is known in this file", s.f.d.funcName()))
	}
	return cs, nil
}

// returnAddress is the expression for the address to which a function returns.
func returnAddress(rule *frame.Rule) ([]debuginfo.Op, bool) {
	if ra, ok := rule.Regs[rule.RA]; ok && ra.Kind != frame.SameValue {
		return recovered(rule, rule.RA)
	}
	return []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(rule.RA)}}, host.Processor.ReturnSlot == 0
}

// add adds the functions that have the calls with those return addresses.
func (cs *callerScope) add(list []uint64, known bool) {
	if len(list) > mostCandidates {
		list = nil
	}
	s := cs.of
	for _, ret := range list {
		u := s.m.unitFor(ret - 1)
		if u == nil {
			continue
		}
		f := u.functions().at(ret - 1)
		if f == nil || !s.m.behindCall(f, ret) {
			continue
		}
		at := s.m.scopeAt(ret - 1)
		if at.b == nil {
			continue
		}
		at.depth = s.depth + 1
		behind := *at.position
		behind.pc = ret
		after := newScope(&behind)
		after.depth, after.name = at.depth, at.name
		cs.list = append(cs.list, callerFrame{ret: ret, known: known, at: at, after: after})
	}
}

// up are the frames n above those of a callerScope.
func (cs *callerScope) Up(n int) (debuginfo.Scope, error) {
	if n == 0 {
		return cs, nil
	}
	out := &callerScope{of: cs.of, ret: cs.ret, rule: cs.rule}
	var why error
	for _, f := range cs.list {
		up := func(s debuginfo.Scope) (debuginfo.Scope, error) {
			if framed, ok := s.(debuginfo.Framed); ok {
				return framed.Up(n)
			}
			return nil, nil
		}
		at, err := up(f.at)
		if err != nil {
			why = err
			continue
		}
		g := callerFrame{ret: f.ret, known: f.known, at: at}
		if inner, ok := at.(*callerScope); ok {
			g.known = f.known && inner.anyKnown()
		}
		if after, ok := f.after.(*scope); ok {
			if s, _, err := after.upInlined(n); err == nil && s != nil {
				g.after = s
			}
		}
		out.list = append(out.list, g)
	}
	if len(out.list) == 0 {
		return nil, why
	}
	return out, nil
}

// inCallee is an expression of the caller in the registers of the function that it called. kept reports whether a register
// that functions need not preserve has its value.
func (cs *callerScope) inCallee(ops []debuginfo.Op, kept bool) ([]debuginfo.Op, bool) {
	return replaceRegisters(ops, func(n int) ([]debuginfo.Op, bool) {
		if n == int(host.Processor.SP) {
			return cs.rule.CFA, true
		}
		if cs.lost(n) && !kept {
			return nil, false
		}
		return recovered(cs.rule, n)
	})
}

// lost reports whether a function may have changed the register, without a description of how its caller has it again.
func (cs *callerScope) lost(n int) bool {
	if _, described := cs.rule.Regs[n]; described || n == int(host.Processor.SP) || n == int(host.Processor.ThreadPointer) {
		return false
	}
	return !slices.ContainsFunc(host.Processor.Saved, func(r arch.Reg) bool { return int(r) == n })
}
