package bpf

import (
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// sysEnter counts this process's getpgid calls by the raw arguments of sys_enter.
func sysEnter() asm.Instructions {
	return join(mine(), ofSyscall(unix.SYS_GETPGID), word0(), addOne(1), out(0))
}

func TestRawTracepoint(t *testing.T) {
	k := openKernel(t)
	b := newBuffer(t, k, 8)
	l := load(t, k, Program{Insns: sysEnter(), Kind: RawTracepoint, Buffers: []*Buffer{b}})
	hits(3)
	want(t, b, 0, 0)
	lk := attach(t, l, Target{Kind: RawTracepoint, Name: "sys_enter"})
	hits(1000)
	want(t, b, 0, 1000)
	check(t, lk.Close())
	hits(10)
	want(t, b, 0, 1000)
}

func TestTracedTracepoint(t *testing.T) {
	k := openKernel(t)
	require(t, k.Typed())
	b := newBuffer(t, k, 8)
	target := Target{Kind: TracedTracepoint, Name: "sys_enter"}
	l := load(t, k, Program{Insns: sysEnter(), Kind: TracedTracepoint, Target: target, Buffers: []*Buffer{b}})
	attach(t, l, target)
	hits(1000)
	want(t, b, 0, 1000)
}

// TestCookies attaches one program to two tracepoints, which the cookie distinguishes.
func TestCookies(t *testing.T) {
	k := openKernel(t)
	b := newBuffer(t, k, 64)
	insns := join(mine(), asm.Instructions{asm.Mov.Reg(asm.R1, asm.R6), asm.FnGetAttachCookie.Call()}, addOne(8), out(1))
	l := load(t, k, Program{Insns: insns, Kind: Tracepoint, Buffers: []*Buffer{b}})
	enter := Target{Kind: Tracepoint, Group: "syscalls", Name: "sys_enter_getpgid", Cookie: 3}
	exit := Target{Kind: Tracepoint, Group: "syscalls", Name: "sys_exit_getpgid", Cookie: 5}
	lk, err := l.AttachAll([]Target{enter, exit}, nil)
	check(t, err)
	defer func() { check(t, lk.Close()) }()
	hits(100)
	want(t, b, 3, 100)
	want(t, b, 5, 100)
}

func TestRawCookie(t *testing.T) {
	k := openKernel(t)
	b := newBuffer(t, k, 64)
	target := Target{Kind: RawTracepoint, Name: "sys_enter", Cookie: 6}
	if !k.Features().RawCookie.OK {
		l := load(t, k, Program{Insns: sysEnter(), Kind: RawTracepoint, Buffers: []*Buffer{b}})
		_, err := l.Attach(target)
		wantError(t, err, "attach to rawtracepoint:sys_enter: this kernel has no cookies for this kind of place; load a program for each place")
		return
	}
	insns := join(mine(), ofSyscall(unix.SYS_GETPGID), asm.Instructions{asm.Mov.Reg(asm.R1, asm.R6), asm.FnGetAttachCookie.Call()}, addOne(8), out(0))
	l := load(t, k, Program{Insns: insns, Kind: RawTracepoint, Buffers: []*Buffer{b}})
	attach(t, l, target)
	typed := Target{Kind: TracedTracepoint, Name: "sys_enter", Cookie: 7}
	l = load(t, k, Program{Insns: insns, Kind: TracedTracepoint, Target: typed, Buffers: []*Buffer{b}})
	attach(t, l, typed)
	hits(10)
	want(t, b, 6, 10)
	want(t, b, 7, 10)
}

func TestTracepoint(t *testing.T) {
	k := openKernel(t)
	b := newBuffer(t, k, 8)
	l := load(t, k, Program{Insns: join(mine(), word0(), addOne(1), out(Tracepoint.Return())), Kind: Tracepoint, Buffers: []*Buffer{b}})
	attach(t, l, Target{Kind: Tracepoint, Group: "syscalls", Name: "sys_enter_getpgid"})
	hits(1000)
	want(t, b, 0, 1000)
}

// TestThreads: 16 threads hit at the same time; no hit is lost or missed.
func TestThreads(t *testing.T) {
	const n, threads = 5000, 16
	k := openKernel(t)
	for _, tc := range []struct {
		target Target
		insns  asm.Instructions
	}{
		{Target{Kind: RawTracepoint, Name: "sys_enter"}, sysEnter()},
		{Target{Kind: Tracepoint, Group: "syscalls", Name: "sys_enter_getpgid"}, join(mine(), word0(), addOne(1), out(1))},
	} {
		t.Run(tc.target.Kind.String(), func(t *testing.T) {
			b := newBuffer(t, k, 8)
			l := load(t, k, Program{Insns: tc.insns, Kind: tc.target.Kind, Buffers: []*Buffer{b}})
			attach(t, l, tc.target)
			var wg sync.WaitGroup
			for range threads {
				wg.Go(func() {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
					hits(n)
				})
			}
			wg.Wait()
			want(t, b, 0, n*threads)
			st, err := l.Stats()
			check(t, err)
			if st.Missed != 0 {
				t.Errorf("%d hits missed", st.Missed)
			}
		})
	}
}

// TestAgain attaches and detaches one program repeatedly.
func TestAgain(t *testing.T) {
	k := openKernel(t)
	b := newBuffer(t, k, 8)
	l := load(t, k, Program{Name: "jalon_again", Insns: sysEnter(), Kind: RawTracepoint, Buffers: []*Buffer{b}})
	for i := range uint64(20) {
		lk, err := l.Attach(Target{Kind: RawTracepoint, Name: "sys_enter"})
		check(t, err)
		hits(10)
		want(t, b, 0, 10*(i+1))
		check(t, lk.Close())
		check(t, lk.Close()) // a second Close does nothing
		hits(10)
		want(t, b, 0, 10*(i+1))
	}
	if progs, links := objects(t, "jalon_again"); progs != 1 || links != 0 {
		t.Errorf("%d programs and %d links, want 1 and 0", progs, links)
	}
	check(t, l.Close())
	waitFor(t, "the program to go", func() bool { progs, _ := objects(t, "jalon_again"); return progs == 0 })
}

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want: %s", text)
	}
	if e := errorOf(t, err); e.Error() != text {
		t.Errorf("error\n\t%s\nwant\n\t%s", e, text)
	}
}

// TestDescriptors opens, attaches and closes one of each and counts descriptors.
func TestDescriptors(t *testing.T) {
	count := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		check(t, err)
		return len(fds)
	}
	c := newCode(t, 4)
	round := func() {
		k, err := Open()
		check(t, err)
		b, err := k.NewBuffer("counts", 64)
		check(t, err)
		for _, target := range oneOfEach(c) {
			l, err := k.Load(Program{Name: "jalon_test", Insns: empty(), Kind: target.Kind, Target: target})
			check(t, err)
			lk, err := l.Attach(target)
			check(t, err)
			check(t, lk.Close())
			check(t, l.Close())
		}
		_, err = k.PerfUsers("sched", "sched_switch")
		check(t, err)
		check(t, b.Close())
		check(t, k.Close())
	}
	round() // Go opens descriptors of its own at the start
	before := count()
	for range 3 {
		round()
	}
	if after := count(); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// oneOfEach are places that exist on every machine. An empty Tracepoint program would hide hits from other perf
// users, so it is on an event of a system call that only this test makes.
func oneOfEach(c *code) []Target {
	return []Target{
		{Kind: RawTracepoint, Name: "sys_enter"},
		{Kind: TracedTracepoint, Name: "sys_enter"},
		{Kind: Tracepoint, Group: "syscalls", Name: "sys_enter_getpgid"},
		{Kind: Uprobe, Path: c.path, FileOffset: c.offset(0)},
		{Kind: Uretprobe, Path: c.path, FileOffset: c.offset(1), Pid: os.Getpid()},
		{Kind: Profile, Frequency: 99},
		{Kind: Profile, Frequency: 99, Pid: os.Getpid()},
		{Kind: Interval, Period: 1e9},
		{Kind: Software, Config: SoftwareEvents["context-switches"], Period: 1000},
	}
}
