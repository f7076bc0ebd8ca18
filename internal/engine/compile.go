package engine

import (
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Part is a program that a tracepoint needs at a site, before it is compiled.
type Part struct {
	Site  Site // where it runs
	Input *sema.Input
	// Decides: it only decides for the part behind it.
	Decides bool
}

// Replaceable is a site that may be replaced by others where a tracepoint cannot be
// compiled for it. Instead compiles for those, or gives the error, which may be why.
type Replaceable interface {
	Instead(tp *tracepoint.Tracepoint, why error, compile func(Site) (*Program, error)) ([]*Program, error)
}

// Compiling says how tracepoints are compiled.
type Compiling struct {
	StringLimit int // as in sema.Input
	RepeatLimit int
	StackLimit  int
	NoOptimise  bool
	Warn        func(string) // may be nil
}

// Compile makes the programs of a tracepoint at a site: one, unless the site is replaced
// by several. key becomes theirs. The error is a diagnostic of the user's texts.
func (c *Compiling) Compile(key any, tp *tracepoint.Tracepoint, site Site) ([]*Program, error) {
	at := func(s Site) (*Program, error) {
		parts, err := s.Parts(tp)
		if err != nil {
			return nil, probe.Error(tp.Place, err)
		}
		return c.Join(key, tp, parts)
	}
	p, err := at(site)
	if err == nil {
		return []*Program{p}, nil
	}
	if r, ok := site.(Replaceable); ok {
		return r.Instead(tp, err, at)
	}
	return nil, err
}

// Join compiles parts; the program is the last one's.
func (c *Compiling) Join(key any, tp *tracepoint.Tracepoint, parts []Part) (*Program, error) {
	var last *Program
	for i := range parts {
		part := &parts[i]
		in := part.Input
		if in.Place == "" {
			in.Place = tp.Place.Text
		}
		in.StringLimit, in.RepeatLimit, in.StackLimit = c.StringLimit, c.RepeatLimit, c.StackLimit
		out, err := sema.Compile(in)
		if err != nil {
			return nil, err
		}
		Finish(out.Program, in.Place, !c.NoOptimise)
		for _, w := range out.Warnings {
			if c.Warn != nil {
				c.Warn(w.Render("warning"))
			}
		}
		p := &Program{Key: key, Number: tp.Number, Label: in.Place, Site: part.Site, IR: out.Program, First: last}
		if !part.Decides {
			p.Schema = &out.Schema
			p.Schema.PC = part.Site.Addr()
		}
		last = p
	}
	return last, nil
}
