package experiment

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// Bounds of what a GDB may define, well above what one does.
const (
	maxNumber    = 1<<16 - 1 // frames have 16 bits for it
	maxLocations = 1 << 16
	maxActions   = 1 << 12 // of a location
	maxSources   = 1 << 20 // bytes of source of a location
)

// definer takes the definitions of tracepoints.
type definer struct {
	*base
	catalogue *catalogue
	variables *variables
	runner    *runner
}

// packets are those that it handles.
func (x *definer) packets() []row {
	return []row{
		done("QTDP", "defines a location of a tracepoint", x.define),
		done("QTDP:-", "its actions", x.defineActions),
		done("QTDPsrc", "its source text", x.defineSource),
		done("QTEnable", "enables it", x.enable),
		done("QTDisable", "disables it", x.disable),
	}
}

func (x *definer) define(p rsp.DefineTracepoint) error {
	k := key{p.Number, p.Addr}
	switch {
	case p.Number == 0 || p.Number > maxNumber:
		return fmt.Errorf("%v: numbers go from 1 to %d", k, maxNumber)
	case x.catalogue.byKey[k] != nil:
		return x.repeat(x.catalogue.byKey[k], p)
	case len(x.catalogue.byIndex) == maxLocations:
		return fmt.Errorf("%v: there are %d locations already", k, maxLocations)
	}
	tp := &tracepoint{key: k, pass: p.Pass, fast: p.Fast, cond: p.Condition, more: p.More, index: uint32(len(x.catalogue.byIndex))}
	tp.spec = Spec{Number: int(p.Number), Addr: p.Addr, Enabled: p.Enabled, Pass: p.Pass, Steps: p.Step}
	tp.spec.Program.Name = k.String()
	switch {
	case p.Fast != nil && p.Static:
		return fmt.Errorf("%v: it cannot be both fast and static", k)
	case p.Fast != nil:
		tp.spec.Kind = Fast
	case p.Static:
		tp.spec.Kind = Static
	}
	if p.Condition != nil {
		e, err := agentexpr.Validate(p.Condition, agentexpr.ForCondition)
		if err != nil {
			return fmt.Errorf("%v, condition: %w", k, err)
		}
		tp.spec.Program.Cond = e
	}
	if !p.More {
		if err := x.install(tp); err != nil {
			return err
		}
	}
	x.catalogue.add(tp)
	return nil
}

// repeat takes the same definition of a location again.
func (x *definer) repeat(tp *tracepoint, p rsp.DefineTracepoint) error {
	same := p.Pass == tp.pass && p.Step == tp.spec.Steps && string(p.Condition) == string(tp.cond) &&
		(p.Fast != nil) == (tp.fast != nil) && p.Static == (tp.spec.Kind == Static)
	if !x.runner.run.on || tp.more || !same {
		return fmt.Errorf("%v is defined already", tp.key)
	}
	tp.sources = nil
	return x.repeated(tp, p.More)
}

// repeated arms a location again when its definition has come a second time: GDB
// does so, too, for what is in a library that was loaded anew.
func (x *definer) repeated(tp *tracepoint, more bool) error {
	tp.again = more
	switch {
	case more || !tp.spec.Enabled:
		return nil
	case !tp.known:
		return x.install(tp)
	}
	if err := x.engine.Add(&tp.spec); err != nil {
		return fmt.Errorf("%v: %w", tp.key, err)
	}
	return nil
}

// complete ends definitions that announced actions of which none came: those of
// `collect FUNCTION`, for one.
func (x *definer) complete() {
	for _, tp := range x.catalogue.list {
		tp.again = false
		if !tp.more || len(tp.actions)+len(tp.steps) > 0 {
			continue
		}
		tp.more = false
		if err := x.install(tp); err != nil {
			x.log("%v", err)
		}
	}
}

func (x *definer) defineActions(p rsp.DefineActions) error {
	tp, err := x.catalogue.find(p.Number, p.Addr)
	if err != nil {
		return err
	}
	if tp.again {
		return x.repeated(tp, p.More)
	}
	if !tp.more {
		return fmt.Errorf("%v: its definition is complete, no actions can follow", tp.key)
	}
	stepping := p.Stepping || len(tp.steps) > 0
	raw, list, what := &tp.actions, &tp.spec.Program.Actions, "action"
	if stepping {
		raw, list, what = &tp.steps, &tp.spec.StepActions, "stepping action"
	}
	for i := range p.Actions {
		if len(*list) == maxActions {
			return x.refuse(tp, fmt.Errorf("%v: more than %d actions", tp.key, maxActions))
		}
		a, err := x.action(&p.Actions[i])
		if err != nil {
			return x.refuse(tp, fmt.Errorf("%v, %s %d: %w", tp.key, what, len(*list)+1, err))
		}
		*list = append(*list, a)
		*raw = append(*raw, p.Actions[i])
	}
	tp.more = p.More
	if !p.More {
		if err := x.install(tp); err != nil {
			return x.refuse(tp, err)
		}
	}
	return nil
}

// refuse forgets a location whose definition went wrong, so that it can be defined
// anew. It has no frames: it was never armed.
func (x *definer) refuse(tp *tracepoint, err error) error {
	x.catalogue.remove(tp)
	return err
}

// action reads and checks an action.
func (x *definer) action(a *rsp.Action) (agentexpr.Action, error) {
	out := agentexpr.Action{Base: -1}
	switch a.Kind {
	case 'R':
		mask := slices.Clone([]byte(a.Mask))
		slices.Reverse(mask)
		out.Kind, out.Regs = agentexpr.CollectRegs, agentexpr.RegisterMask(mask)
		if n := len(out.Regs); n > 0 && out.Regs[n-1] >= len(x.opt.Target.Registers) {
			return out, fmt.Errorf("there is no register %d", out.Regs[n-1])
		}
	case 'M':
		out.Kind = agentexpr.CollectMemory
		out.Base, out.Offset, out.Len = int(a.Base), int64(a.Offset), int64(a.Length)
	case 'X':
		e, err := agentexpr.Validate(a.Expr, agentexpr.ForAction)
		if err != nil {
			return out, err
		}
		out.Kind, out.Expr = agentexpr.Evaluate, e
	case 'L':
		out.Kind = agentexpr.CollectStatic
	default:
		return out, fmt.Errorf("there is no action %q", a.Kind)
	}
	return out, out.Check()
}

// install arms a location whose definition is complete, if the trace runs.
func (x *definer) install(tp *tracepoint) error {
	if !x.runner.run.on || !tp.spec.Enabled || tp.known {
		return nil
	}
	if x.runner.Tick(); !x.runner.run.on {
		return nil // it has ended meanwhile
	}
	x.variables.announce(tp)
	if err := x.engine.Add(&tp.spec); err != nil {
		return fmt.Errorf("%v: %w", tp.key, err)
	}
	tp.known = true
	return nil
}

// defineSource keeps a source text, for the upload; pieces come in order.
func (x *definer) defineSource(p rsp.DefineSource) error {
	tp, err := x.catalogue.find(p.Number, p.Addr)
	if err != nil {
		return err
	}
	have := 0
	for _, s := range tp.sources {
		have += len(s.Text)
	}
	if have+len(p.Text) > maxSources {
		return fmt.Errorf("%v: more than %d bytes of source", tp.key, maxSources)
	}
	if p.Start == 0 {
		tp.sources = append(tp.sources, rsp.UploadedSource{Number: p.Number, Addr: p.Addr, Kind: p.Kind, Text: p.Text})
		return nil
	}
	if n := len(tp.sources); n > 0 {
		last := &tp.sources[n-1]
		if last.Kind == p.Kind && uint64(len(last.Text)) == p.Start {
			last.Text += p.Text
			return nil
		}
	}
	return fmt.Errorf("%v: source %q goes on at byte %d, which does not follow what came", tp.key, p.Kind, p.Start)
}

func (x *definer) enable(p rsp.EnableTracepoint) error {
	return x.setEnabled(p.Number, p.Addr, true)
}

func (x *definer) disable(p rsp.DisableTracepoint) error {
	return x.setEnabled(p.Number, p.Addr, false)
}

func (x *definer) setEnabled(number, addr uint64, on bool) error {
	tp, err := x.catalogue.find(number, addr)
	if err != nil {
		return err
	}
	was := tp.spec.Enabled
	tp.spec.Enabled = on
	switch {
	case !x.runner.run.on || tp.more:
		return nil
	case !tp.known:
		err = x.install(tp)
	default:
		if err = x.engine.Enable(&tp.spec, on); err != nil {
			err = fmt.Errorf("%v: %w", tp.key, err)
		}
	}
	if err != nil {
		tp.spec.Enabled = was
	}
	return err
}
