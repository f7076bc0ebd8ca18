package session

import (
	"errors"
	"fmt"
	"time"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/arming"
	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/engine/inproc"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/engine/uprobes"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/sema"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// This file constructs the engines; no other file of the package names an engine.

// Dumper receives the stages of code generation of a program.
type Dumper = inproc.Dumper

// openedKernel is a kernel engine with the host that it was opened on.
type openedKernel struct {
	*kernel.Engine
	host *kernel.Host
}

// Close closes the engine and the host.
func (k *openedKernel) Close() error {
	err := k.Engine.Close()
	k.host.Close()
	return err
}

// makeEngines constructs the in-process engine, and the function that opens the kernel engine when it is
// needed. trace sets the process.
func (s *Session) makeEngines() (cfg process.Config, trace func(*process.Process)) {
	var eng *inproc.Engine
	s.kern.Open = s.openKernel
	s.mine.Uprobes = uprobes.New(uprobes.Config{
		Kernel: s.neededKernel, None: s.opt.noUprobes(), Pid: func() int { return s.mine.Process.Pid() }, Slow: func() *inproc.Engine { return eng },
		Tracepoint: func(x *engine.Program) *tracepoint.Tracepoint { return arming.TrackedOf(x).Tracepoint }, Compiling: s.compiling,
		Loaded: s.kern.Read, Added: func(k *engine.Program) { s.records.Know(s.kern.Source, k) },
		Removed: func(_, k *engine.Program) { s.records.Forget(k) }, Gone: arming.Forget,
		Logf: s.logf, Trouble: s.trouble,
	})
	eng = inproc.New(inproc.Options{
		BufferSize: s.opt.BufferSize, DebugDirs: s.opt.DebugDirs, Avoid: s.opt.Avoid, Fresh: s.launched, Sites: s.opt.laterSites(), Maps: s.opt.maps(false),
		Uprobes: s.mine.Uprobes, Dump: s.opt.Dump, Log: s.opt.Log, Warn: s.opt.Warn, Progress: s.step,
		Variables: s.opt.initial(), Clock: s.opt.Clock, Overwrite: s.opt.Overwrite, Wait: s.opt.Wait > 0,
		OnRings: func(mem *ring.Shared) {
			pid := s.mine.Process.Pid()
			s.mine.Source = s.records.Add(mem, false, event.Decoder{Threads: s.records.Threads, Pid: pid, Comm: drain.Comm(pid, pid)})
			correct(s, mem)
			s.mine.Source.Learn = func() { _ = eng.LearnThreads() } // an error: the process has ended
			s.coarse = eng.Coarse()
			s.records.Drain.SetClock(s.mine.Source, s.opt.Clock, s.coarse)
			s.records.Drain.SetWait(s.mine.Source, s.opt.Wait)
		},
		OnPause: func(d time.Duration) {
			if !s.launched || s.state.phase == running {
				s.pauses = append(s.pauses, d)
			}
		},
		OnNoClock: func() { s.post.do(eng.ProtectClock) },
	})
	s.mine.Engine = eng
	calls := eng.Callbacks()
	cfg = process.Config{
		OnFault: calls.Fault,
		OnClock: calls.Clock,
		OnTrap:  calls.Trap,
		PCBack:  calls.Back,
		InCode:  calls.Inside,
		// The thread of a signal that needs the program's own code is held.
		OnSignal: func(tid int, _ bool) bool { return calls.MayClear() && s.post.event(evSignal, tid) },
		OnThread: func(e process.ThreadEvent) {
			inproc.Note(s.records.Threads, e)
			calls.Thread(e)
			if e.Exits && e.Leader { // s has no process before Attach returns
				calls.Exits()
			}
			if e.Kind == process.ThreadDied && s.opt.ThreadEnded != nil && !s.records.Threads.Living(e.FSBase) {
				// An error: the memory cannot be read any more.
				th := event.Thread{Tid: e.TID, Comm: e.Comm}
				if known, ok := s.records.Threads.Lookup(e.FSBase, event.TSC()); ok && known.Tid == e.TID {
					th = known // with the name that its events have
				}
				_ = eng.ThreadEnded(func(name string, r *maps.Reader) { s.opt.ThreadEnded(th, e.FSBase, name, r) })
			}
		},
		OnModules: func(tid int) bool {
			return s.post.event(evModules, tid)
		},
		OnExec:    func(tid int) bool { calls.Forget(); return s.post.event(evExec, tid) },
		OnFork:    calls.Forked,
		OnPanic:   s.opt.OnPanic,
		Interrupt: s.opt.Interrupt,
		OnTyped:   s.opt.OnTyped,
	}
	return cfg, func(p *process.Process) { eng.Trace(p, nil) }
}

// laterPrograms is how many sites of the kernel can be added to a running session.
const laterPrograms = 1024

// openKernel opens the kernel engine.
func (s *Session) openKernel() (arming.KernelEngine, error) {
	host, err := kernel.Open(s.kernelOptions())
	if err != nil {
		return nil, err
	}
	if err := host.Permitted(); err != nil {
		host.Close()
		return nil, err
	}
	opt := kernel.EngineOptions{BufferSize: s.opt.BufferSize, Overwrite: s.opt.Overwrite, Cost: s.opt.Kernel.Cost, IR: s.opt.Dump.IR, Code: s.opt.Dump.Code}
	if opt.Later = laterPrograms; s.mine.Process != nil {
		opt.Room = uprobes.Spare
	}
	return &openedKernel{host.NewEngine(opt), host}, nil
}

// neededKernel returns the kernel engine for sites of the process.
func (s *Session) neededKernel() (*kernel.Host, *kernel.Engine, error) {
	if err := s.kern.Need(); err != nil {
		return nil, nil, err
	}
	k := s.kern.Engine.(*openedKernel) // made by s.kern.Open
	return k.host, k.Engine, nil
}

// errNoUprobes: the user allows no uprobes.
var errNoUprobes = errors.New("only code in the process is wanted (--engine process)")

// noUprobes returns why sites of the process must not be uprobes.
func (o *Options) noUprobes() error {
	if o.NoUprobes {
		return errNoUprobes
	}
	return nil
}

// kernelOptions returns the options of the session's kernel engine.
func (s *Session) kernelOptions() kernel.Options {
	opt := kernel.Options{
		Cgroup: s.opt.Kernel.Cgroup, Vmlinux: s.opt.Kernel.Vmlinux, Force: s.opt.Kernel.Force,
		DebugDirs: s.opt.DebugDirs, Warn: s.opt.Warn, Log: s.opt.Log,
		Progress: s.step,
	}
	if p := s.subject.life(); p != nil {
		opt.Tgid, opt.Follow = p.Pid(), s.opt.Kernel.Follow
		opt.Program = image.ProgramFile(opt.Tgid)
		pid := opt.Tgid
		opt.Near = pid
		opt.File = func(name string) string { return image.Named(pid, name) }
		if s.opt.Kernel.Counted {
			opt.Counted = pid
		}
		if s.opt.Kernel.Anyone {
			opt.Tgid, opt.File = 0, nil // paths are then resolved in jalon's own mount namespace
		}
	}
	return opt
}

// hasLinker reports whether ld.so is loaded beside a program at its first instruction.
func hasLinker(pid int) bool { return inproc.HasLinker(pid) }

// patternSites is the number of sites to reserve if a pattern may match functions of libraries that are
// loaded later: the functions of a large library. It takes 2 MiB for each CPU, but memory is allocated only
// when used.
const patternSites = 1 << 16

// laterSites returns how many sites the session can have; 0: a few more than at the start.
func (o *Options) laterSites() int {
	for _, tp := range o.Tracepoints {
		if o.Pending && tp.Place.Glob() {
			return patternSites
		}
	}
	return 0
}

// maps are those of the tracepoints that are in common memory, or that are not.
func (o *Options) maps(common bool) (list []*sema.Map) {
	seen := map[string]bool{}
	for _, tp := range o.Tracepoints {
		for _, m := range tp.Maps {
			if m.Both == common && !seen[m.Name] {
				seen[m.Name] = true
				list = append(list, m)
			}
		}
	}
	return list
}

// shareAll makes the tables of maps in the kernel engine, and has the in-process engine map them.
func (s *Session) shareAll(list []*sema.Map) (err error) {
	if s.subject.p == nil || !host.Processor.CanDecode {
		return errors.New("no process is traced")
	}
	k := s.kern.Engine.(*openedKernel) // made by s.kern.Open
	defer func() {
		if err != nil {
			err = errors.Join(err, k.Uncommon())
		}
	}()
	var tables []inproc.Common
	for _, m := range list {
		d := m.IR()
		t, err := k.Common(&d)
		if err != nil {
			return fmt.Errorf("the map %s: %w", m.Name, err)
		}
		tables = append(tables, inproc.Common{Shape: t.Shape, Name: t.Name, FD: t.FD, Size: t.Size, Memory: t.Memory})
	}
	if err := s.mine.Engine.(*inproc.Engine).Adopt(tables); err != nil {
		return err
	}
	s.corrected = true
	s.moment().Corrected = true
	return nil
}

// GivesBack reports whether slots of deleted keys can be given back in tables that programs of the kernel use.
func GivesBack() bool { return kernel.MayGrace() }

// endSharing is called before the kernel engine is closed, whose memory the in-process engine has.
func (s *Session) endSharing() { s.mine.Engine.(*inproc.Engine).Disown() }
