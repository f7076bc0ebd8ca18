package engine

import (
	"fmt"

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
	// Warn takes warnings, Log what is left out; each may be nil.
	Warn, Log func(string)
	// Progress is called in long loops and may end them by an error; nil is allowed.
	Progress func(what string, done, of int) error
}

func (c *Compiling) warn(msg string) {
	if c.Warn != nil {
		c.Warn(msg)
	}
}

// All resolves a tracepoint's place by an engine and compiles it for all sites. found is
// false for a place that is not found, and why. When a place has several addresses, those
// where the expressions mean nothing are left out with a warning; the error is that none
// is left.
func (c *Compiling) All(e Engine, key any, tp *tracepoint.Tracepoint) (list []*Program, found bool, err error) {
	at, err := e.Resolve(tp.Place)
	if err != nil {
		return nil, false, err
	}
	for _, w := range at {
		if text := w.Warning(); text != "" {
			c.warn(tp.Place.Text + ": " + text)
		}
	}
	var left tracepoint.Skipped
	for i, w := range at {
		if c.Progress != nil {
			if err := c.Progress("compiling", i, len(at)); err != nil {
				return nil, true, err
			}
		}
		progs, err := c.Compile(key, tp, w)
		if err != nil {
			left.Add(err)
			if c.Log != nil {
				c.Log(fmt.Sprintf("%s at %s: left out: %v", tp.Place.Text, w, err))
			}
			continue
		}
		list = append(list, progs...)
	}
	if len(list) == 0 {
		return nil, true, left.First
	}
	if left.N > 0 {
		c.warn(tp.Place.Text + ": " + left.Text(len(at)))
	}
	return list, true, nil
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
			c.warn(w.Render("warning"))
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
