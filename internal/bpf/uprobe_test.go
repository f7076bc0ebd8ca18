package bpf

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// ways runs a test with uprobe_multi and with perf events.
func ways(t *testing.T, test func(*testing.T, *Kernel)) {
	for _, multi := range []bool{true, false} {
		t.Run(fmt.Sprintf("multi=%v", multi), func(t *testing.T) {
			k := openKernel(t)
			if multi {
				require(t, k.Features().UprobeMulti)
			} else {
				k.features.UprobeMulti.OK = false
			}
			test(t, k)
		})
	}
}

func TestUprobe(t *testing.T) {
	ways(t, func(t *testing.T, k *Kernel) {
		c := newCode(t, 8)
		b := newBuffer(t, k, 64)
		l := load(t, k, Program{Insns: byCookie(8, 0), Kind: Uprobe, Buffers: []*Buffer{b}})
		lk := attach(t, l, Target{Kind: Uprobe, Path: c.path, FileOffset: c.offset(2), Cookie: 2})
		for range 100 {
			c.call(1)
			c.call(2)
		}
		want(t, b, 2, 100)
		check(t, lk.Close())
		c.call(2)
		want(t, b, 2, 100)
		if c.first(2) != function[0] {
			t.Errorf("the text has %#x where it had %#x", c.first(2), function[0])
		}
	})
}

// TestUprobeReturn: the value that a program returns has no effect at a uprobe.
func TestUprobeReturn(t *testing.T) {
	ways(t, func(t *testing.T, k *Kernel) {
		c := newCode(t, 8)
		b := newBuffer(t, k, 64)
		for ret := range int32(3) {
			l := load(t, k, Program{Insns: byCookie(8, ret), Kind: Uprobe, Buffers: []*Buffer{b}})
			lk := attach(t, l, Target{Kind: Uprobe, Path: c.path, FileOffset: c.offset(2), Cookie: uint64(ret)})
			for range 10 {
				c.call(2)
			}
			want(t, b, int(ret), 10)
			check(t, lk.Close())
		}
	})
}

// TestUretprobe counts returns; another link counts entries of the same functions.
func TestUretprobe(t *testing.T) {
	ways(t, func(t *testing.T, k *Kernel) {
		c := newCode(t, 2)
		b := newBuffer(t, k, 64)
		in := load(t, k, Program{Insns: byCookie(8, 0), Kind: Uprobe, Buffers: []*Buffer{b}})
		ret := load(t, k, Program{Insns: byCookie(8, 0), Kind: Uretprobe, Buffers: []*Buffer{b}})
		attach(t, in, Target{Kind: Uprobe, Path: c.path, FileOffset: c.offset(0), Cookie: 1})
		attach(t, ret, Target{Kind: Uretprobe, Path: c.path, FileOffset: c.offset(0), Cookie: 2})
		for range 100 {
			c.call(0)
		}
		want(t, b, 1, 100)
		want(t, b, 2, 100)
	})
}

// TestUprobePid attaches for this process and for another one.
func TestUprobePid(t *testing.T) {
	ways(t, func(t *testing.T, k *Kernel) {
		c := newCode(t, 2)
		b := newBuffer(t, k, 64)
		l := load(t, k, Program{Insns: byCookie(8, 0), Kind: Uprobe, Buffers: []*Buffer{b}})
		other := startWaiting(t)
		attach(t, l, Target{Kind: Uprobe, Path: c.path, FileOffset: c.offset(0), Cookie: 1, Pid: os.Getpid()})
		attach(t, l, Target{Kind: Uprobe, Path: c.path, FileOffset: c.offset(0), Cookie: 2, Pid: other})
		done := make(chan bool)
		for range 4 { // the process, not the thread
			go func() { c.call(0); done <- true }()
			<-done
		}
		want(t, b, 1, 4)
		want(t, b, 2, 0)
	})
}

func TestUprobeSemaphore(t *testing.T) {
	ways(t, func(t *testing.T, k *Kernel) {
		c := newCode(t, 2)
		l := load(t, k, Program{Insns: empty(), Kind: Uprobe})
		lk := attach(t, l, Target{Kind: Uprobe, Path: c.path, FileOffset: c.offset(0), RefCtrOffset: c.semaphoreOffset(3)})
		if n := c.semaphore(3); n != 1 {
			t.Errorf("semaphore is %d while attached, want 1", n)
		}
		check(t, lk.Close())
		if n := c.semaphore(3); n != 0 {
			t.Errorf("semaphore is %d when detached, want 0", n)
		}
	})
}

// TestUprobes attaches one program to 1,000 places and hits each.
func TestUprobes(t *testing.T) {
	ways(t, func(t *testing.T, k *Kernel) {
		n := 1000
		if !k.features.UprobeMulti.OK {
			n = 20 // each detach needs an RCU grace period
		}
		c := newCode(t, n)
		b := newBuffer(t, k, uint64(n)*8)
		l := load(t, k, Program{Insns: byCookie(n, 0), Kind: Uprobe, Buffers: []*Buffer{b}})
		targets := make([]Target, n)
		for i := range targets {
			targets[i] = Target{Kind: Uprobe, Path: c.path, FileOffset: c.offset(i), Cookie: uint64(i), Pid: os.Getpid()}
		}
		lk, err := l.AttachAll(targets, nil)
		check(t, err)
		for i := range n {
			for range i%3 + 1 {
				c.call(i)
			}
		}
		for i := range n {
			want(t, b, i, uint64(i%3+1))
		}
		check(t, lk.Close())
		c.call(0)
		want(t, b, 0, 1)
	})
}

// TestUprobesPartly attaches to a list that contains places that cannot be probed.
func TestUprobesPartly(t *testing.T) {
	ways(t, func(t *testing.T, k *Kernel) {
		const n = 16
		c := newCode(t, n)
		b := newBuffer(t, k, n*8)
		l := load(t, k, Program{Name: "jalon_partly", Insns: byCookie(n, 0), Kind: Uprobe, Buffers: []*Buffer{b}})
		targets := make([]Target, n)
		for i := range targets {
			targets[i] = Target{Kind: Uprobe, Path: c.path, FileOffset: c.offset(i), Cookie: uint64(i)}
		}
		bad := map[int]bool{3: true, 11: true}
		for i := range bad {
			targets[i].FileOffset = 1 << 40
		}
		lk, err := l.AttachAll(targets, nil)
		var ae *AttachError
		if !errors.As(err, &ae) || len(ae.Failed) != len(bad) || ae.Attached != n-len(bad) || lk.Places() != n-len(bad) {
			t.Fatalf("link %+v, error %v", lk, err)
		}
		for _, f := range ae.Failed {
			if !bad[int(f.Target.Cookie)] {
				t.Errorf("%s failed: %v", &f.Target, f.Err)
			}
			wantError(t, f.Err, "attach to uprobe:"+c.path+":0x10000000000: "+noUprobe)
			if !errors.Is(f.Err, unix.EINVAL) {
				t.Errorf("the kernel's error number is lost: %v", f.Err)
			}
		}
		for i := range n {
			c.call(i)
		}
		for i := range n {
			wanted := uint64(1)
			if bad[i] {
				wanted = 0
			}
			want(t, b, i, wanted)
		}
		check(t, lk.Close())
		waitFor(t, "the links to go", func() bool { _, links := objects(t, "jalon_partly"); return links == 0 })
	})
}

// TestUprobesInterrupted: attaching at thousands of places is interrupted between any two steps, and
// nothing remains attached.
func TestUprobesInterrupted(t *testing.T) {
	ways(t, func(t *testing.T, k *Kernel) {
		n := 3 * atOnce
		if !k.features.UprobeMulti.OK {
			n = 2 * oneByOne
		}
		c := newCode(t, n)
		b := newBuffer(t, k, uint64(n)*8)
		l := load(t, k, Program{Name: "jalon_interrupt", Insns: byCookie(n, 0), Kind: Uprobe, Buffers: []*Buffer{b}})
		targets := make([]Target, n)
		for i := range targets {
			targets[i] = Target{Kind: Uprobe, Path: c.path, FileOffset: c.offset(i), Cookie: uint64(i)}
		}
		stop, calls := errors.New("interrupted"), 0
		lk, err := l.AttachAll(targets, func() error {
			if calls++; calls == 2 {
				return stop
			}
			return nil
		})
		if lk != nil || err != stop || calls != 2 {
			t.Errorf("link %+v, error %v, check called %d times", lk, err, calls)
		}
		for i := range n {
			c.call(i)
			want(t, b, i, 0)
		}
		waitFor(t, "the links to go", func() bool { _, links := objects(t, "jalon_interrupt"); return links == 0 })
	})
}
