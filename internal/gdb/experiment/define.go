package experiment

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// tracepoint is a location of a tracepoint.
type tracepoint struct {
	key
	spec    Spec
	index   uint32 // in Experiment.byIndex
	pass    uint64 // the run ends after so many hits; 0: never
	fast    *uint64
	cond    rsp.Expr
	actions []rsp.Action // as they came, for the upload
	steps   []rsp.Action
	sources []rsp.UploadedSource // whole texts
	more    bool                 // the definition goes on
	// again: it is defined once more while the trace runs, as GDB does for all
	// locations when a library brings one more. What follows is known.
	again bool
	tally
}

// tally is what happened at a location in the run.
type tally struct {
	known      bool // to the engine
	hits       uint64
	unreadable uint64 // actions that ended early
	counts     Counts // of the engine; at the end of the run
	// The forms of its last hit and step, +1; 0: there was none.
	form, stepForm uint32
}

// Bounds of what a GDB may define, well above what one does.
const (
	maxNumber    = 1<<16 - 1 // frames have 16 bits for it
	maxLocations = 1 << 16
	maxActions   = 1 << 12 // of a location
	maxSources   = 1 << 20 // bytes of source of a location
)

// find gives the location that a packet names.
func (x *Experiment) find(number, addr uint64) (*tracepoint, error) {
	k := key{number, addr}
	if tp := x.byKey[k]; tp != nil {
		return tp, nil
	}
	return nil, fmt.Errorf("%v is not defined", k)
}

func (x *Experiment) define(p rsp.DefineTracepoint) error {
	k := key{p.Number, p.Addr}
	switch {
	case p.Number == 0 || p.Number > maxNumber:
		return fmt.Errorf("%v: numbers go from 1 to %d", k, maxNumber)
	case x.byKey[k] != nil:
		return x.repeat(x.byKey[k], p)
	case len(x.byIndex) == maxLocations:
		return fmt.Errorf("%v: there are %d locations already", k, maxLocations)
	}
	tp := &tracepoint{key: k, pass: p.Pass, fast: p.Fast, cond: p.Condition, more: p.More, index: uint32(len(x.byIndex))}
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
	x.tracepoints = append(x.tracepoints, tp)
	x.byIndex = append(x.byIndex, tp)
	x.byKey[k] = tp
	x.bySpec[&tp.spec] = tp
	return nil
}

// repeat takes the same definition of a location again.
func (x *Experiment) repeat(tp *tracepoint, p rsp.DefineTracepoint) error {
	same := p.Pass == tp.pass && p.Step == tp.spec.Steps && string(p.Condition) == string(tp.cond) &&
		(p.Fast != nil) == (tp.fast != nil) && p.Static == (tp.spec.Kind == Static)
	if !x.run.on || tp.more || !same {
		return fmt.Errorf("%v is defined already", tp.key)
	}
	tp.sources = nil
	return x.repeated(tp, p.More)
}

// repeated arms a location again when its definition has come a second time: GDB
// does so, too, for what is in a library that was loaded anew.
func (x *Experiment) repeated(tp *tracepoint, more bool) error {
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
func (x *Experiment) complete() {
	for _, tp := range x.tracepoints {
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

func (x *Experiment) defineActions(p rsp.DefineActions) error {
	tp, err := x.find(p.Number, p.Addr)
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
func (x *Experiment) refuse(tp *tracepoint, err error) error {
	delete(x.byKey, tp.key)
	delete(x.bySpec, &tp.spec)
	x.tracepoints = slices.DeleteFunc(x.tracepoints, func(t *tracepoint) bool { return t == tp })
	x.byIndex[tp.index] = nil
	if last := len(x.byIndex) - 1; int(tp.index) == last {
		x.byIndex = x.byIndex[:last]
	}
	return err
}

// action reads and checks an action.
func (x *Experiment) action(a *rsp.Action) (agentexpr.Action, error) {
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
func (x *Experiment) install(tp *tracepoint) error {
	if !x.run.on || !tp.spec.Enabled || tp.known {
		return nil
	}
	x.announceVariables(tp)
	if err := x.engine.Add(&tp.spec); err != nil {
		return fmt.Errorf("%v: %w", tp.key, err)
	}
	tp.known = true
	return nil
}

// defineSource keeps a source text, for the upload; pieces come in order.
func (x *Experiment) defineSource(p rsp.DefineSource) error {
	tp, err := x.find(p.Number, p.Addr)
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

func (x *Experiment) enable(p rsp.EnableTracepoint) error {
	return x.setEnabled(p.Number, p.Addr, true)
}

func (x *Experiment) disable(p rsp.DisableTracepoint) error {
	return x.setEnabled(p.Number, p.Addr, false)
}

func (x *Experiment) setEnabled(number, addr uint64, on bool) error {
	tp, err := x.find(number, addr)
	if err != nil {
		return err
	}
	was := tp.spec.Enabled
	tp.spec.Enabled = on
	switch {
	case !x.run.on || tp.more:
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

// incomplete names the locations whose definitions were cut off.
func (x *Experiment) incomplete() error {
	var all []error
	for _, tp := range x.tracepoints {
		if tp.more {
			all = append(all, fmt.Errorf("%v: its definition is not complete", tp.key))
		}
	}
	return errors.Join(all...)
}
