package session

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine/inproc"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
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

// armKernel makes and attaches the sites of the kernel engine.
func (s *Session) armKernel() error {
	if len(s.ktps) == 0 {
		return nil
	}
	eng, err := kernel.Open(s.kernelOptions())
	if err != nil {
		return err
	}
	s.kern = eng
	return eng.Arm(s.ktps, func() {
		passes := map[*tracepoint.Tracepoint]*drain.Pass{}
		s.ksrc = s.reading().Add(eng.Shared(), true, event.Decoder{})
		eng.Schemas(func(sc *event.Schema, tp *tracepoint.Tracepoint) {
			if tp.Pass > 0 && passes[tp] == nil {
				passes[tp] = &drain.Pass{Left: tp.Pass}
			}
			s.drain.AddSchema(s.ksrc, sc, passes[tp])
		})
	})
}

// kernelOptions are those of the session's kernel engine.
func (s *Session) kernelOptions() kernel.Options {
	opt := kernel.Options{
		Cgroup: s.opt.Kernel.Cgroup, Vmlinux: s.opt.Kernel.Vmlinux, Cost: s.opt.Kernel.Cost, Force: s.opt.Kernel.Force,
		BufferSize: s.opt.BufferSize, StringLimit: s.opt.StringLimit, RepeatLimit: s.opt.RepeatLimit, StackLimit: s.opt.StackLimit,
		DebugDirs: s.opt.DebugDirs, NoOptimise: s.opt.NoOptimise, Warn: s.opt.Warn, Log: s.opt.Log, IR: s.opt.Dump.IR, Code: s.opt.Dump.Code,
		Progress: s.step,
	}
	if p := s.subject(); p != nil {
		opt.Tgid = p.Pid()
		opt.Program = inproc.ProgramFile(opt.Tgid)
		pid := opt.Tgid
		opt.File = func(name string) string { return inproc.FileOf(pid, name) }
		if s.opt.Kernel.Anyone {
			opt.Tgid, opt.File = 0, nil // a path is then what it is to all
		}
	}
	if s.p != nil {
		opt.Spare = spareUprobes
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
		s.kern.Disarm()
	}
}

// WallOffset turns CLOCK_MONOTONIC into the wall clock, nanoseconds.
func (s *Session) WallOffset() int64 { return s.clock.WallOffset() }

// Symbol names a run-time address in code or data: "main", "main+4", "" when
// nothing is known.
func (s *Session) Symbol(addr uint64) string {
	if s.kern != nil && addr>>63 != 0 {
		return s.kern.Symbol(addr)
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
	pcs := inproc.UnwindPCs(v, func(addr uint64) (*dwarf.Module, uint64) { return s.kern.Module(ev, addr) })
	return s.kern.UserFrames(ev, pcs)
}
