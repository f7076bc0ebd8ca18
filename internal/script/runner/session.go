package runner

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/script/plan"
	"github.com/jalon-trace/jalon/internal/session"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// Sizes of what is recorded at a site.
const (
	ringRecords = 64 << 10 // records that a ring has room for
	leastRing   = 4 << 20
	mostRing    = 8 << 20 // of a CPU: the whole of it counts as jalon's memory
	// Limits of what a script can set.
	smallestRing = 256 << 10
	largestRing  = 256 << 20
	stackCopied  = 8192
	stackFrames  = 127
)

// open makes the session: it starts or attaches to the process, and traces nothing yet.
func (s *running) open(tps []*tracepoint.Tracepoint) error {
	length := int(s.program.Config.Int("max_strlen"))
	opt := session.Options{
		Tracepoints: tps, BufferSize: ringSize(tps, length, s.program.Config.Int("perf_rb_pages")), StringLimit: length, RepeatLimit: length, StackLimit: stackCopied, StackFrames: stackFrames,
		DebugDirs: s.opt.DebugDirs, Warn: s.opt.Warn, Log: s.opt.Log, Process: s.opt.Pid != 0 || s.opt.Argv != nil,
		Kernel: session.Kernel{All: s.opt.Uprobes || s.opt.Pid == 0 && s.opt.Argv == nil, Anyone: anyone(tps), Counted: true},
		NewSink: func(sess *session.Session) drain.Sink {
			return &sink{s: s, sess: sess, lines: s.program.Config.Bool("show_debug_info")}
		},
		Strict: true, OnArmed: s.armed, OnIterated: s.iterated, ThreadEnded: s.maps.ended, Unshared: s.unshared, Tend: s.giveBack,
	}
	var err error
	switch {
	case s.opt.Argv != nil:
		s.sess, err = session.Launch(s.opt.Argv, s.opt.IO, opt)
	case s.opt.Pid == 0 || opt.OnlyKernel():
		s.sess, err = session.Watch(s.opt.Pid, opt)
	default:
		s.sess, err = session.Attach(s.opt.Pid, opt)
	}
	return err
}

// ringSize is the size of the ring of a CPU: strings make large records. pages is what the script sets; 0: nothing.
func ringSize(tps []*tracepoint.Tracepoint, length int, pages int64) int {
	if pages > 0 {
		size := smallestRing
		for int64(size) < pages*4096 && size < largestRing {
			size *= 2
		}
		return size
	}
	most := 0
	for _, tp := range tps {
		size := 64
		for _, c := range tp.Collect {
			size += 16
			switch c.X.(type) {
			case *lang.Call, *lang.Repeat:
				size += length
			case *lang.Reg:
				size += 512 // a stack
			}
		}
		most = max(most, size)
	}
	size := leastRing
	for size < most*ringRecords && size < mostRing {
		size *= 2
	}
	return size
}

// close ends the session, and the program that is to end with the script.
func (s *running) close() {
	if s.opt.Kill && s.result != nil && s.result.Status.Detached {
		_ = unix.Kill(s.sess.Pid(), unix.SIGTERM) // jalon is its parent and has not waited for it: the number is still its own
	}
	s.sess.Close()
}

// attached is how many probes are attached. Each function of a pattern counts, and each marker, which may be at several places.
func (s *running) attached() int {
	n, patterns := Count(s.program), false
	points := map[script.Node]bool{} // of the script: each may mean several files
	for tp, site := range s.sites {
		patterns = patterns || tp.Place.Glob() || tp.Optional
		points[site.Point.Point] = true
	}
	if patterns || len(points) < len(s.sites) {
		return n + s.sess.Sites() - s.sess.SameMarkers() - len(points)
	}
	return n - (len(s.sites) - len(s.sess.WithSites())) // those that were left out
}

// iterators reports whether the script has iterators, and whether it has nothing else that happens later: then it ends behind the
// last object.
func (s *running) iterators() (some, alone bool) {
	alone = true
	for _, pr := range s.program.Probes {
		for _, pl := range pr.Places {
			name := pl.Provider.Name
			some = some || name == "iter"
			alone = alone && (name == "iter" || name == "begin" || name == "end")
		}
	}
	return some, alone && some
}

// iterated is called when iterators have gone through their objects.
func (s *running) iterated() {
	interp.Iterating(s.machine, false)
	if _, alone := s.iterators(); alone {
		s.cancel()
	}
}

// withoutPlaces warns of the probes of which no place was found.
func (s *running) withoutPlaces() {
	if s.sess == nil || s.program.Config.Word("missing_probes") != "warn" {
		return
	}
	armed, planned := map[*check.Probe]bool{}, map[*check.Probe]bool{}
	for _, tp := range s.sess.WithSites() {
		if site := s.sites[tp]; site != nil {
			armed[site.Probe] = true
		}
	}
	for _, site := range s.sites {
		planned[site.Probe] = true
	}
	for _, pr := range s.program.Probes {
		inJalon := slices.ContainsFunc(pr.Places, func(pl *script.Place) bool { return plan.RunsInJalon(s.program, pr, pl) })
		if planned[pr] && !armed[pr] && !inJalon {
			s.warn("none of the places of " + pr.Points[0].Text + " was found: the probe is left out")
		}
	}
}

// Count returns how many attach points a script has.
func Count(p *check.Program) int {
	n := 0
	for _, pr := range p.Probes {
		for _, pl := range pr.Places {
			if name := pl.Provider.Name; name != "test" && name != "bench" {
				n++
			}
		}
	}
	return n
}

// anyone reports whether events of all processes are wanted beside a process that is named: those of the kernel are
// not filtered, as in bpftrace.
func anyone(tps []*tracepoint.Tracepoint) bool {
	for _, tp := range tps {
		switch tp.Place.Kind {
		case probe.Profile, probe.Software, probe.Hardware, probe.USDT, probe.Entry, probe.FileOff, probe.Uretprobe, probe.Line, probe.Return, probe.Function:
		default:
			return true
		}
	}
	return false
}
