package session

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Kernel says how a session uses the kernel engine. Places of the kernel are
// always its own; with All places in programs are, too.
type Kernel struct {
	All     bool   // places in programs are meant for all processes (or for one, by uprobes)
	Anyone  bool   // hits of all processes are shown, also where one is named or started
	Cgroup  uint64 // only in this cgroup
	Vmlinux string // debug information of the kernel; FILE:LINE is then a line of it where no process is traced
	Cost    bool   // measure the time of hits
	Force   bool   // as in kernel.Options
}

// Watch traces by the kernel engine alone: all processes, or the one with the
// number pid when that is not 0, which is neither stopped nor otherwise touched. The
// session ends with that process.
func Watch(pid int, opt Options) (*Session, error) {
	opt.Kernel.All = true
	s, err := newSession(opt, false)
	if err != nil || pid == 0 {
		return s, err
	}
	if s.watched, err = process.Watch(pid); err != nil {
		return nil, err
	}
	return s, nil
}

// OnlyKernel reports whether all places are the kernel engine's.
func (o *Options) OnlyKernel() bool {
	mine, _ := split(o)
	return len(mine) == 0
}

// subject is the process that the session is about, nil for all.
func (s *Session) subject() interface {
	Pid() int
	Done() <-chan struct{}
} {
	switch {
	case s.p != nil:
		return s.p
	case s.held != nil:
		return s.held
	case s.watched != nil:
		return s.watched
	}
	return nil
}

// split tells the tracepoints of the kernel engine from those of the process.
func split(opt *Options) (process, kernel []*tracepoint.Tracepoint) {
	for _, tp := range opt.Tracepoints {
		if inKernel(tp.Place, &opt.Kernel) {
			kernel = append(kernel, tp)
		} else {
			process = append(process, tp)
		}
	}
	return process, kernel
}

func inKernel(p *probe.Place, k *Kernel) bool {
	return p.InKernel() || k.All && p.Kind.Find != nil
}

// armKernel makes and attaches the sites of the kernel engine, in this order for all of
// them together: nothing is attached before everything is loaded.
func (s *Session) armKernel() error {
	if len(s.ktps) == 0 {
		return nil
	}
	if err := s.openKernel(); err != nil {
		return err
	}
	var bad lang.Diagnostics
	var list, on []*engine.Program
	for _, tp := range s.ktps {
		progs, _, err := s.programsOf(s.kern, tp)
		if stop := s.interrupted(); stop != nil {
			return stop
		}
		if err != nil {
			bad = tracepoint.Append(bad, err)
			continue
		}
		tp.programs = progs
		list = append(list, progs...)
		if !tp.Disabled {
			on = append(on, progs...)
		}
	}
	if len(bad) > 0 {
		return distinct(bad).Err()
	}
	errs, err := s.kern.Load(list)
	if err != nil {
		return err
	}
	for i, x := range list {
		if errs[i] != nil {
			bad = tracepoint.Append(bad, probe.Error(trackedOf(x).Place, errs[i]))
		}
	}
	if len(bad) > 0 {
		return distinct(bad).Err()
	}
	s.readKernel()
	for _, x := range list {
		s.know(s.ksrc, x)
	}
	return s.attachKernel(on)
}

// attachKernel arms programs of the kernel engine. Sites that the kernel refuses are
// left out with a warning; that a tracepoint has no other is an error.
func (s *Session) attachKernel(on []*engine.Program) error {
	errs, err := s.kern.Arm(on)
	if err != nil {
		return err
	}
	left := map[*tracked]*tracepoint.LeftOut{}
	armed := map[*tracked]int{}
	for _, x := range s.sortOut(on, errs, left) {
		armed[trackedOf(x)]++
	}
	for i, x := range on {
		if tp := trackedOf(x); errs[i] != nil {
			tp.programs = slices.DeleteFunc(tp.programs, func(y *engine.Program) bool { return y == x })
		}
	}
	var bad lang.Diagnostics
	for _, tp := range s.ktps {
		switch l := left[tp]; {
		case l == nil:
		case armed[tp] == 0:
			bad = tracepoint.Append(bad, l.First)
		default:
			s.warn(tp.Place.Text + ": " + l.Text(l.N+armed[tp]))
		}
	}
	return bad.Err()
}

// openKernel opens the kernel engine.
func (s *Session) openKernel() error {
	host, err := kernel.Open(s.kernelOptions())
	if err != nil {
		return err
	}
	if err := host.Permitted(); err != nil {
		host.Close()
		return err
	}
	opt := kernel.EngineOptions{BufferSize: s.opt.BufferSize, Cost: s.opt.Kernel.Cost, IR: s.opt.Dump.IR, Code: s.opt.Dump.Code}
	if s.p != nil {
		opt.Room = spareUprobes
	}
	s.host, s.kern = host, host.NewEngine(opt)
	return nil
}

// readKernel has the rings of the kernel engine read.
func (s *Session) readKernel() {
	if s.ksrc == nil {
		s.ksrc = s.reading().Add(s.kern.Rings(), true, event.Decoder{})
	}
}

// engineOf is the engine whose rings are read.
func (s *Session) engineOf(src *drain.Source) engine.Engine {
	if src.Kernel {
		return s.kern
	}
	return s.mine
}

// distinct leaves out diagnostics that are there already: places that share a collect
// list share what is wrong with it.
func distinct(list lang.Diagnostics) lang.Diagnostics {
	var out lang.Diagnostics
	seen := map[string]bool{}
	for _, d := range list {
		if text := d.Error(); !seen[text] {
			seen[text] = true
			out = append(out, d)
		}
	}
	return out
}

// kernelOptions are those of the session's kernel engine.
func (s *Session) kernelOptions() kernel.Options {
	opt := kernel.Options{
		Cgroup: s.opt.Kernel.Cgroup, Vmlinux: s.opt.Kernel.Vmlinux, Force: s.opt.Kernel.Force,
		DebugDirs: s.opt.DebugDirs, Warn: s.opt.Warn, Log: s.opt.Log,
		Progress: s.step,
	}
	if p := s.subject(); p != nil {
		opt.Tgid = p.Pid()
		opt.Program = image.ProgramFile(opt.Tgid)
		pid := opt.Tgid
		opt.File = func(name string) string { return image.Named(pid, name) }
		if s.opt.Kernel.Anyone {
			opt.Tgid, opt.File = 0, nil // a path is then what it is to all
		}
	}
	return opt
}

// kernelOnly reports whether the in-process engine has nothing to do: then no
// process is traced by ptrace.
func (s *Session) kernelOnly() bool { return len(s.tps) == 0 && len(s.ktps) > 0 }

// beginKernel arms a session of the kernel engine alone.
func (s *Session) beginKernel(ctx context.Context) {
	if ctx.Err() != nil {
		s.dispatch(ev{kind: evStop}, 0)
		return
	}
	err := s.armKernel()
	if s.endedEarly(0) {
		return
	}
	s.setArmed(err)
	s.dispatch(ev{kind: evArmed, err: err}, 0)
}

// disarmKernel takes the sites of the kernel engine back.
func (s *Session) disarmKernel() {
	if s.kern != nil {
		_ = s.kern.Stop() // what is left ends with jalon
	}
}

// WallOffset turns CLOCK_MONOTONIC into the wall clock, nanoseconds.
func (s *Session) WallOffset() int64 { return s.clock.WallOffset() }

// Symbol names a run-time address in code or data: "main", "main+4", "" when
// nothing is known.
func (s *Session) Symbol(addr uint64) string {
	if s.kern != nil && addr>>63 != 0 {
		return s.host.Symbol(addr)
	}
	return s.mine.Symbol(addr)
}

// KernelSymbol implements event.KernelNames.
func (s *Session) KernelSymbol(addr uint64) (event.KernelSymbol, bool) {
	if s.kern == nil {
		return event.KernelSymbol{}, false
	}
	return s.kern.KernelSymbol(addr)
}

// KernelString implements event.KernelNames.
func (s *Session) KernelString(addr uint64) (string, bool) {
	if s.kern == nil {
		return "", false
	}
	return s.kern.KernelString(addr)
}

// Unwind gives the frames of a stack. That of a program that the kernel engine has
// recorded is unwound from its copy, as the in-process engine's.
func (s *Session) Unwind(ev *event.Event, v *event.Value) []format.Frame {
	switch {
	case !ev.Schema.Kernel:
		return s.mine.Unwind(v)
	case v.Field.Kind != event.Stack:
		return s.kern.Frames(ev, v)
	}
	s.kern.Hit(ev, binary.LittleEndian.Uint64(v.Data[8*slices.Index(host.Processor.Dump, host.Processor.PC):])) // see event.Regs
	pcs := image.Unwind(v.Data, v.Stack, func(addr uint64) (*dwarf.Module, uint64) { return s.kern.Module(ev, addr) })
	return s.kern.UserFrames(ev, pcs)
}
