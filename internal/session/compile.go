package session

import (
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
)

// compile makes the hit program of a tracepoint at one site. The error is a
// diagnostic of the user's texts.
func (s *Session) compile(tp *tracked, w engine.Site) (*engine.Program, error) {
	in, err := w.Input()
	if err != nil {
		return nil, probe.Error(tp.Place, err)
	}
	in.Cond, in.Collect = tp.Cond, tp.Collect
	in.StringLimit, in.RepeatLimit, in.StackLimit = s.opt.StringLimit, s.opt.RepeatLimit, s.opt.StackLimit
	in.Place = tp.Place.Text
	out, err := sema.Compile(in)
	if err != nil {
		return nil, err
	}
	engine.Finish(out.Program, tp.Place.Text, !s.opt.NoOptimise)
	schema := out.Schema
	schema.PC = w.Addr()
	for _, warn := range out.Warnings {
		s.warn(warn.Render("warning"))
	}
	return &engine.Program{Key: tp, Number: tp.Number, Label: tp.Place.Text, Site: w, IR: out.Program, Schema: &schema}, nil
}
