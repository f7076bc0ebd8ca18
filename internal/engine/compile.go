package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Part is a program that a tracepoint needs at a site, before it is compiled.
type Part struct {
	Site  Site // the site where it runs
	Input *sema.Input
	// Entry is the site for the program that keeps values of the function's entry.
	Entry Site
	Moved int // as in event.Schema
	// Decides: its only purpose is to decide for the next part.
	Decides bool
}

// Replaceable is a site that other sites may replace if a tracepoint cannot be compiled for it. Instead
// compiles for those sites, or returns the error, which may be why.
type Replaceable interface {
	Instead(tp *tracepoint.Tracepoint, why error, compile func(Site) (*Program, error)) ([]*Program, error)
}

// Compiling has the options for compiling tracepoints.
type Compiling struct {
	StringLimit int // as in sema.Input
	RepeatLimit int
	StackLimit  int
	StackFrames int
	// FramePointers as in sema.Input.
	FramePointers bool
	// TickRate returns nanoseconds for each tick of the time stamp counter; nil: not known.
	TickRate func() float64
	// Moment is from where programs count the time of hits; nil: not known.
	Moment func() *sema.Moment
	// Stamped: the records of processes have the value of the counter.
	Stamped bool
	// Most and Room as in sema.Input.
	Most       uint64
	Room       int
	NoOptimise bool
	// Lenient as in sema.Input: other places of the session have what is collected.
	Lenient bool
	// Strict: a site at which something cannot be collected is skipped, because what becomes of the values is not shown.
	Strict bool
	// Warn receives warnings, Log the skipped sites; each may be nil.
	Warn, Log func(string)
	// Progress is called in long loops and can end them by an error; nil is allowed.
	Progress func(what string, done, of int) error

	known map[string]*ir.Program // finished programs, by Key of the unfinished without names
}

// Share has tracepoints that are compiled after each other share what is equal in them, as the sites of each do.
func (c *Compiling) Share() *Compiling {
	c.known = map[string]*ir.Program{}
	return c
}

func (c *Compiling) warn(msg string) {
	if c.Warn != nil {
		c.Warn(msg)
	}
}

// All resolves a tracepoint's place by an engine and compiles it for all sites. found is false if the place
// was not found; err is the reason. If a place has several addresses, what cannot be collected at some of them is
// missing there, and addresses at which the condition cannot be compiled are skipped, with warnings; if none remains,
// that is an error.
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
	one := *c
	if one.known == nil {
		one.known = map[string]*ir.Program{}
	}
	var left, without tracepoint.Skipped
	made, failed := make([][]*Program, len(at)), map[int]error{}
	for i, w := range at {
		if c.Progress != nil {
			if err := c.Progress("compiling", i, len(at)); err != nil {
				return nil, true, err
			}
		}
		if made[i], err = one.Compile(key, tp, w); err != nil {
			failed[i] = err
		}
	}
	one.again(key, tp, at, made, failed)
	for i, w := range at {
		if err := failed[i]; err != nil {
			left.Add(err)
			if c.Log != nil {
				c.Log(fmt.Sprintf("%s at %s: skipped: %v", tp.Place.Text, w, err))
			}
			continue
		}
		list = append(list, made[i]...)
		if n := slices.IndexFunc(made[i], func(p *Program) bool { return p.Missing != nil }); n >= 0 {
			without.Add(made[i][n].Missing)
		}
	}
	if len(list) == 0 {
		return nil, true, left.First
	}
	if left.N > 0 {
		c.warn(tp.Place.Text + ": " + left.Text(len(at)))
	}
	c.warnMissing(tp, &without, len(at))
	return list, true, nil
}

// again compiles a tracepoint for the sites at which it failed: what cannot be collected there is a field with the reason, if
// another site has it.
func (c *Compiling) again(key any, tp *tracepoint.Tracepoint, at []Site, made [][]*Program, failed map[int]error) {
	if c.Lenient || c.Strict || len(at) < 2 || len(failed) == 0 {
		return
	}
	c.Lenient = true
	var lists []Absences
	second := map[int][]*Program{}
	for i, w := range at {
		if failed[i] == nil {
			lists = append(lists, nil)
			continue
		}
		if progs, err := c.Compile(key, tp, w); err == nil {
			second[i] = progs
			lists = append(lists, AbsencesOf(tp, progs))
		}
	}
	if Everywhere(lists) != nil {
		return
	}
	for i, progs := range second {
		made[i] = progs
		delete(failed, i)
	}
}

// warnMissing reports values of the collect list that the debug information does not have at some of the addresses.
func (c *Compiling) warnMissing(tp *tracepoint.Tracepoint, without *tracepoint.Skipped, of int) {
	var first lang.Diagnostics
	switch {
	case without.N == 0:
	case of == 1 && errors.As(without.First, &first):
		for _, d := range first {
			c.warn(d.Render("warning"))
		}
	default:
		c.warn(fmt.Sprintf("%s: values are missing at %d of %d addresses: %s", tp.Place.Text, without.N, of, without.Reasons()))
	}
}

// Compile makes the programs of a tracepoint at a site: one, unless several sites replace the site. They
// get the key. The error is a diagnostic of the user's text.
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

// Join compiles the parts and returns the program of the last one.
func (c *Compiling) Join(key any, tp *tracepoint.Tracepoint, parts []Part) (*Program, error) {
	var last *Program
	for i := range parts {
		part := &parts[i]
		in := part.Input
		if in.Place == "" {
			in.Place = tp.Place.Text
		}
		if !part.Decides {
			in.Actions, in.Maps, in.NoRecord, in.CountHits = tp.Actions, tp.Maps, tp.NoRecord, tp.CountHits
		}
		in.Variables, in.Ended = tp.Numbers, tp.Ended()
		if c.Moment != nil {
			in.Moment = c.Moment()
		}
		if in.NoRecord {
			in.Collect = nil
		}
		in.Lenient = c.Lenient
		in.StringLimit, in.RepeatLimit = c.StringLimit, c.RepeatLimit
		in.Most, in.Room = c.Most, c.Room
		in.StackLimit, in.StackFrames, in.FramePointers = c.StackLimit, c.StackFrames, c.FramePointers
		if in.Exit != nil && in.Exit.Pair != nil && c.TickRate != nil {
			in.Exit.Pair.Rate, in.Exit.Pair.Stamped = c.TickRate(), c.Stamped
		}
		out, err := sema.Compile(in)
		if err != nil {
			return nil, err
		}
		if out.Program, err = c.finish(out.Program, in.Place); err != nil {
			return nil, err
		}
		for _, w := range out.Warnings {
			c.warn(w.Render("warning"))
		}
		p := &Program{Key: key, Number: tp.Number, Label: in.Place, Site: part.Site, IR: out.Program, First: last}
		p.Missing, p.Absent = out.Missing, out.Absent
		if !part.Decides {
			p.Schema = &out.Schema
			p.Schema.PC, p.Schema.Moved = part.Site.Addr(), part.Moved
		}
		if out.Entry != nil {
			p.Entry = &Program{
				Key: key, Number: tp.Number, Label: "the entry of " + in.Place, Site: part.Entry,
				Schema: &event.Schema{Place: in.Place, Function: in.Function, PC: part.Entry.Addr()},
			}
			if p.Entry.IR, err = c.finish(out.Entry, p.Entry.Label); err != nil {
				return nil, err
			}
		}
		last = p
	}
	return last, nil
}

// finish is Finish; sites with the same program share the result, and other tracepoints have a copy with their name. The error ends the compilation.
func (c *Compiling) finish(p *ir.Program, label string) (*ir.Program, error) {
	key := ""
	if c.known != nil {
		key = p.Unnamed().Key()
		if done := c.known[key]; done != nil {
			if done.Name != p.Name {
				named := *done
				named.Name = p.Name
				done = &named
				c.known[key] = done // the tracepoint's other sites share it: code is made from templates for equal programs only
			}
			return done, nil
		}
	}
	if err := Interruptible(p, c.Progress, func() { Finish(p, label, !c.NoOptimise) }); err != nil {
		return nil, err
	}
	if c.known != nil && len(c.known) < maxKnown {
		c.known[key] = p
	}
	return p, nil
}

// maxKnown bounds the memory for programs that all differ.
const maxKnown = 1024
