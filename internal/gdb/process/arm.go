package process

import (
	"errors"
	"fmt"
	"slices"

	contract "github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/probe"
)

// Tracepoints that run in the process: their programs, and how they are put in.

// natives are the tracepoints at an address that are armed in the process.
func (e *engine) natives(addr uint64) []*armed {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.native[addr]
}

// noteNative keeps natives up to date.
func (e *engine) noteNative(a *armed, on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := slices.DeleteFunc(slices.Clone(e.native[a.spec.Addr]), func(x *armed) bool { return x == a })
	if on {
		list = append(list, a)
		slices.SortFunc(list, func(x, y *armed) int { return x.spec.Number - y.spec.Number })
	}
	e.native[a.spec.Addr] = list
}

// natively arms the enabled tracepoints in the process. It returns an error for each that cannot run there.
func (e *engine) natively(list []*armed) []error {
	errs := make([]error, len(list))
	err := e.run.Refresh()
	for i, a := range list {
		if errs[i] = err; err == nil {
			a.prog, errs[i] = e.program(a)
		}
	}
	var on []*armed
	var at []int
	for i, a := range list {
		if errs[i] == nil && a.spec.Enabled {
			on, at = append(on, a), append(at, i)
		}
	}
	for i, err := range e.install(on) {
		errs[at[i]] = err
	}
	return errs
}

// install puts programs into the process, and notes which are in.
func (e *engine) install(list []*armed) []error {
	progs := make([]*contract.Program, len(list))
	for i, a := range list {
		progs[i] = a.prog
	}
	errs, err := e.run.Load(progs)
	if err == nil {
		errs, err = e.run.Arm(progs)
	}
	for i, a := range list {
		switch {
		case err != nil:
			errs[i] = err
		case errs[i] != nil:
			errs[i] = errors.New(contract.Plain(errs[i]))
		default:
			a.on, a.loaded = true, true
			e.records.know(a)
		}
	}
	return errs
}

// program makes the hit program of a tracepoint for its address.
func (e *engine) program(a *armed) (*contract.Program, error) {
	place, err := probe.Parse(fmt.Sprintf("*%#x", a.spec.Addr))
	if err != nil {
		return nil, err
	}
	sites, err := e.run.Resolve(place)
	if err != nil {
		return nil, errors.New(contract.Plain(err))
	}
	f := sites[0].(interface{ Facts() contract.Facts }).Facts()
	p, lay, err := agentexpr.Lower(&a.site, &agentexpr.Options{
		GSBase: f.GSBase, AVX: f.AVX, InUse: f.XGETBV1, PC: a.spec.Addr, Var: e.vars.find, Stop: a.stop.Load(),
		Trusted: func(base, off, size int64) bool {
			if base == -1 {
				return f.Readable(uint64(off), uint64(size))
			}
			return f.InFrame(base, off, size)
		},
	})
	if err != nil {
		return nil, errors.New(contract.Plain(err))
	}
	contract.Finish(p, place.Text, !e.t.opt.NoOptimise)
	a.lay = lay
	if a.sdata {
		a.text = a
	}
	return &contract.Program{
		Key: a, Number: a.spec.Number, Label: place.Text, Site: sites[0], IR: p,
		Schema: &event.Schema{
			Place: place.Text, Function: f.Function, PC: a.spec.Addr,
			RecordSize: lay.RecordSize, ShortSize: contract.ShortRecord(p, lay.RecordSize),
		},
	}, nil
}

// renew arms a tracepoint again whose library may have been loaded anew.
func (e *engine) renew(a *armed) error {
	if a.slow == nil {
		return e.reload(a)
	}
	if err := e.setSlow(a, false); err != nil {
		return err
	}
	return e.setSlow(a, true)
}

// reload arms a tracepoint in the process again if its code was loaded anew, with those
// that share its patch.
func (e *engine) reload(a *armed) error {
	if !a.on {
		return nil
	}
	if err := e.run.Refresh(); err != nil {
		return err
	}
	gone, err := e.run.Reloaded(a.prog)
	if err != nil {
		return err
	}
	var again []*armed
	for _, x := range gone {
		again = append(again, x.Key.(*armed))
	}
	return e.remake(a, again)
}

// remake makes the programs of tracepoints again and arms them; the error is about a.
func (e *engine) remake(a *armed, list []*armed) error {
	for _, x := range list {
		p, err := e.program(x)
		if err != nil {
			return err
		}
		x.prog, x.on = p, false
	}
	errs := e.install(list)
	if i := slices.Index(list, a); i >= 0 {
		return errs[i]
	}
	return nil
}
