package session

import (
	"context"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/kengine"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Kernel says how a session uses the kernel engine. Places of the kernel are
// always its own; with All places in programs are, too.
type Kernel struct {
	All     bool   // places in programs are meant for all processes (or for one, by uprobes)
	Cgroup  uint64 // only in this cgroup
	Vmlinux string // debug information of the kernel; FILE:LINE is then a line of it where no process is traced
	Cost    bool   // measure the time of hits
}

// Watch traces the kernel, and all processes through it.
func Watch(opt Options) (*Session, error) {
	opt.Kernel.All = true
	return newSession(opt)
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
	return p.InKernel() || k.All && p.Kind != probe.Address
}

// armKernel makes and attaches the sites of the kernel engine.
func (s *Session) armKernel() error {
	if len(s.ktps) == 0 {
		return nil
	}
	opt := kengine.Options{
		Cgroup: s.opt.Kernel.Cgroup, Vmlinux: s.opt.Kernel.Vmlinux, Cost: s.opt.Kernel.Cost,
		BufferSize: s.opt.BufferSize, StringLimit: s.opt.StringLimit, RepeatLimit: s.opt.RepeatLimit, StackLimit: s.opt.StackLimit,
		DebugDirs: s.opt.DebugDirs, NoOptimise: s.opt.NoOptimise, Warn: s.opt.Warn, Log: s.opt.Log, IR: s.opt.Dump.IR, Code: s.opt.Dump.Code,
	}
	if s.p != nil {
		opt.Tgid = s.p.Pid()
	}
	eng, err := kengine.Open(opt)
	if err != nil {
		return err
	}
	s.kern = eng
	return eng.Arm(s.ktps, func() {
		passes := map[*tracepoint.Tracepoint]*pass{}
		s.ksrc = s.reading().add(eng.Shared(), true, event.Decoder{})
		eng.Schemas(func(sc *event.Schema, tp *tracepoint.Tracepoint) {
			if tp.Pass > 0 && passes[tp] == nil {
				passes[tp] = &pass{tp.Pass}
			}
			s.drain.addSchema(s.ksrc, sc, passes[tp])
		})
	})
}

// beginKernel arms a session without a process.
func (s *Session) beginKernel(ctx context.Context) {
	if ctx.Err() != nil {
		s.dispatch(ev{kind: evStop}, 0)
		return
	}
	err := s.armKernel()
	s.setArmed()
	s.dispatch(ev{kind: evArmed, err: err}, 0)
}

// disarmKernel takes the sites of the kernel engine back.
func (s *Session) disarmKernel() {
	if s.kern != nil {
		s.kern.Disarm()
	}
}

// SetEnabled enables or disables a tracepoint of the kernel engine, by its number,
// while the session runs: its programs stay loaded.
func (s *Session) SetEnabled(number int, on bool) error {
	for _, tp := range s.ktps {
		if tp.Number == number && s.kern != nil {
			return s.kern.SetEnabled(tp, on)
		}
	}
	return nil
}

// frames names the frames of the kernel's or a program's stack.
func (s *Session) frames(ev *event.Event, v *event.Value) []format.Frame {
	return s.kern.Frames(ev, v)
}
