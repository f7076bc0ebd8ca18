package bpf

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// perCPU counts hits in the word of the CPU on which they occur. The counters belong to events of this
// process, so all hits are its own.
func perCPU(words int) asm.Instructions {
	return join(asm.Instructions{asm.FnGetSmpProcessorId.Call()}, addOne(words), out(0))
}

// busy keeps all CPUs from idling until the test ends, because the timer of an idle CPU may be late.
func busy(t *testing.T) {
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range runtime.NumCPU() {
		wg.Go(func() {
			for !stop.Load() {
			}
		})
	}
	t.Cleanup(func() { stop.Store(true); wg.Wait() })
}

func TestProfile(t *testing.T) {
	busy(t)
	k := openKernel(t)
	cpus, err := onlineCPUs()
	check(t, err)
	b := newBuffer(t, k, 4096)
	l := load(t, k, Program{Insns: perCPU(512), Kind: Profile, Buffers: []*Buffer{b}})
	start := time.Now()
	lk := attach(t, l, Target{Kind: Profile, Frequency: 199})
	for _, cpu := range cpus {
		waitFor(t, "hits on each CPU", func() bool { return b.word(cpu) >= 10 })
	}
	check(t, lk.Close())
	most := uint64(time.Since(start).Seconds()*199) + 2
	for _, cpu := range cpus {
		if n := b.word(cpu); n > most {
			t.Errorf("CPU %d has %d hits, but the time allows only %d", cpu, n, most)
		}
	}
}

func TestInterval(t *testing.T) {
	busy(t)
	k := openKernel(t)
	cpus, err := onlineCPUs()
	check(t, err)
	last := cpus[len(cpus)-1]
	b := newBuffer(t, k, 4096)
	l := load(t, k, Program{Insns: perCPU(512), Kind: Interval, Buffers: []*Buffer{b}})
	start := time.Now()
	lk := attach(t, l, Target{Kind: Interval, Period: 2e6, CPU: last})
	waitFor(t, "20 hits", func() bool { return b.word(last) >= 20 })
	check(t, lk.Close())
	if n, most := b.word(last), uint64(time.Since(start)/2e6)+2; n > most {
		t.Errorf("%d hits, but the time allows only %d", n, most)
	}
	for _, cpu := range cpus[:len(cpus)-1] {
		want(t, b, cpu, 0)
	}
}

// TestPageFaults counts faults by their address in new memory: one for each page, with and without the
// filter by process, on every thread.
func TestPageFaults(t *testing.T) {
	const pages = 300
	for name, pid := range map[string]int{"all": 0, "own": os.Getpid()} {
		t.Run(name, func(t *testing.T) {
			k := openKernel(t)
			b := newBuffer(t, k, 8)
			mem, err := unix.Mmap(-1, 0, pages*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
			check(t, err)
			defer unix.Munmap(mem)
			check(t, unix.Madvise(mem, unix.MADV_NOHUGEPAGE))
			lo := uint64(uintptr(unsafe.Pointer(&mem[0])))
			// struct bpf_perf_event_data: pt_regs (168 bytes), period, address.
			insns := join(mine(), asm.Instructions{
				asm.LoadMem(asm.R7, asm.R6, 176, asm.DWord),
				asm.LoadImm(asm.R8, int64(lo), asm.DWord),
				asm.JLT.Reg(asm.R7, asm.R8, "out"),
				asm.Add.Imm(asm.R8, pages*4096),
				asm.JGE.Reg(asm.R7, asm.R8, "out"),
			}, word0(), addOne(1), out(0))
			l := load(t, k, Program{Insns: insns, Kind: Software, Buffers: []*Buffer{b}})
			target := Target{Kind: Software, Config: SoftwareEvents["page-faults"], Period: 1, Pid: pid}
			lk := attach(t, l, target)
			done := make(chan bool)
			touch := func(from, to int) {
				// Its thread may be new, and ends with it.
				runtime.LockOSThread()
				for i := from; i < to; i++ {
					mem[i*4096] = 1
				}
				done <- true
			}
			for i := range 3 {
				go touch(i*pages/3, (i+1)*pages/3)
			}
			for range 3 {
				<-done
			}
			want(t, b, 0, pages)
			check(t, lk.Close())
		})
	}
}

// TestThreadEvents attaches to a process whose threads start and end.
func TestThreadEvents(t *testing.T) {
	k := openKernel(t)
	l := load(t, k, Program{Insns: empty(), Kind: Software})
	stop, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			done := make(chan bool)
			go func() { runtime.LockOSThread(); done <- true }()
			<-done
		}
	}()
	target := Target{Kind: Software, Config: SoftwareEvents["context-switches"], Period: 1, Pid: os.Getpid()}
	lk, err := l.Attach(target)
	close(stop)
	<-ended
	if err == nil {
		check(t, lk.Close())
	} else if e := errorOf(t, err); e.Remedy == "" {
		t.Error(err)
	}
}

func TestCounterErrors(t *testing.T) {
	k := openKernel(t)
	gone := startAndEnd(t)
	for _, tc := range []struct {
		target Target
		want   string
	}{
		{Target{Kind: Interval, Period: 1e9, CPU: 8000}, "attach to interval:ns:1000000000: the CPU is offline, or does not exist"},
		{
			Target{Kind: Software, Config: SoftwareEvents["page-faults"]},
			"attach to software:page-faults: the kernel does not take this frequency or period (most: " + readTrim("/proc/sys/kernel/perf_event_max_sample_rate") + " a second); set sysctl kernel.perf_event_max_sample_rate",
		},
		{
			Target{Kind: Software, Config: 3, Frequency: 1e9},
			"attach to software:context-switches: the kernel does not take this frequency or period (most: " + readTrim("/proc/sys/kernel/perf_event_max_sample_rate") + " a second); set sysctl kernel.perf_event_max_sample_rate",
		},
		{Target{Kind: Software, Config: 3, Period: 1, Pid: gone}, "attach to software:context-switches: there is no process " + itoa(gone)},
		{Target{Kind: Interval, Period: 1e9, Pid: 1}, "attach to interval:ns:1000000000: the kernel has no filter by process for this kind of place; test the process in the condition ($pid == ...)"},
	} {
		l := load(t, k, Program{Insns: empty(), Kind: tc.target.Kind})
		_, err := l.Attach(tc.target)
		wantError(t, err, tc.want)
	}
}

func TestHardware(t *testing.T) {
	k := openKernel(t)
	b := newBuffer(t, k, 4096)
	l := load(t, k, Program{Insns: perCPU(512), Kind: Hardware, Buffers: []*Buffer{b}})
	lk, err := l.Attach(Target{Kind: Hardware, Config: HardwareEvents["cycles"], Period: 1e6, Pid: os.Getpid()})
	if !k.Features().Counters.OK {
		wantError(t, err, "attach to hardware:cpu-cycles: this machine has no such hardware counter (a virtual machine often has none); use software:cpu-clock or profile:")
		return
	}
	check(t, err)
	waitFor(t, "cycles", func() bool { hits(1000); return b.word(0)+b.word(1) > 0 })
	check(t, lk.Close())
}

// TestEventNumbers compares jalon's tables with perf's numbers of the same names.
func TestEventNumbers(t *testing.T) {
	perf := requirePerf(t)
	for _, tc := range []struct {
		typ   uint64
		table map[string]uint64
		names []string
	}{
		{unix.PERF_TYPE_SOFTWARE, SoftwareEvents, []string{
			"cpu-clock", "task-clock", "faults", "cs", "cpu-migrations", "minor-faults",
			"major-faults", "alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches", "page-faults", "context-switches",
		}},
		{unix.PERF_TYPE_HARDWARE, HardwareEvents, []string{
			"cycles", "instructions", "cache-references", "cache-misses", "branches",
			"branch-misses", "bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles", "cpu-cycles", "branch-instructions",
		}},
	} {
		text, err := exec.Command(perf, "stat", "-vv", "-e", strings.Join(tc.names, ","), "true").CombinedOutput()
		check(t, err)
		// perf prints each event that it opens, in order, and repeats an event that it tries again.
		var got []uint64
		for _, block := range strings.Split(string(text), "perf_event_attr:\n")[1:] {
			var typ, config uint64
			for line := range strings.Lines(block) {
				f := strings.Fields(line)
				if len(f) == 2 && f[0] == "type" {
					typ, err = strconv.ParseUint(f[1], 0, 64)
				} else if len(f) == 2 && f[0] == "config" {
					config, err = strconv.ParseUint(f[1], 0, 64)
				}
				check(t, err)
			}
			if typ == tc.typ && (len(got) == 0 || got[len(got)-1] != config) {
				got = append(got, config)
			}
		}
		if len(got) != len(tc.names) {
			t.Fatalf("perf gives %d numbers for %d names: %d\n%s", len(got), len(tc.names), got, text)
		}
		for i, name := range tc.names {
			if tc.table[name] != got[i] {
				t.Errorf("%s is %d, perf says %d", name, tc.table[name], got[i])
			}
		}
	}
}

// TestConcurrent attaches, hits and detaches on several threads at once.
func TestConcurrent(t *testing.T) {
	const threads, rounds = 8, 20
	k := openKernel(t)
	c := newCode(t, threads)
	b := newBuffer(t, k, threads*8)
	l := load(t, k, Program{Name: "jalon_conc", Insns: byCookie(threads, 0), Kind: Uprobe, Buffers: []*Buffer{b}})
	n := rounds
	if !k.features.UprobeMulti.OK {
		n = 2 // each round waits for a grace period
	}
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			for round := range n {
				lk, err := l.Attach(Target{Kind: Uprobe, Path: c.path, FileOffset: c.offset(i), Cookie: uint64(i)})
				if err != nil {
					t.Error(err)
					return
				}
				for range 5 {
					c.call(i)
				}
				if err := lk.Close(); err != nil {
					t.Error(err)
				}
				if got := b.word(i); got != uint64(5*(round+1)) {
					t.Errorf("thread %d: %d hits, want %d", i, got, 5*(round+1))
				}
				if _, err := l.Stats(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	waitFor(t, "the links to go", func() bool { _, links := objects(t, "jalon_conc"); return links == 0 })
}
