package ring

import "testing"

// TestRegister: a thread pointer is where hit programs look for it, one of a taken place is refused, and only what is
// listed is removed.
func TestRegister(t *testing.T) {
	g := geometry(t, 2, 4096, 3)
	if newShared(t, g).Register(0x7f0000001740) {
		t.Error("listed without a table")
	}
	g.Restartable = true
	s := newShared(t, g)
	w := newWriter(s, 0, nil)
	listed := func(thread uint64) bool {
		return *at(w.l.Registered + thread>>(RegisteredShift-3)&((RegisteredThreads-1)*8)) == thread
	}
	const a, same, other = 0x7f0000001740, 0x7f0000001680, 0x7f0000801740 + 0x1000
	for _, c := range []struct {
		thread uint64
		ok     bool
	}{{0, false}, {a, true}, {a, true}, {same, false}, {other, true}} {
		if ok := s.Register(c.thread); ok != c.ok || ok && !listed(c.thread) {
			t.Errorf("%#x: %v", c.thread, ok)
		}
	}
	s.Unregister(same)
	if !listed(a) {
		t.Error("another thread's pointer was removed")
	}
	s.Unregister(a)
	if listed(a) || !s.Register(same) || !listed(same) || !listed(other) {
		t.Error("the place is not free")
	}
}

// TestCPU: the rings of a CPU, and the counters, are those that its writers use.
func TestCPU(t *testing.T) {
	g := geometry(t, 3, 4096, 1)
	g.Restartable = true
	s := newShared(t, g)
	l := g.Layout(0, 0)
	for ring := range s.Rings() {
		want := uint64(ring)*l.RingStride + l.Rings
		if ring >= 4 {
			want = uint64(ring-4)*l.RingStride + l.LockedRings
		}
		if s.CPU(ring) != ring%4 || g.RingOffset(ring) != want {
			t.Errorf("ring %d: CPU %d, offset %#x, not %#x", ring, s.CPU(ring), g.RingOffset(ring), want)
		}
	}
	if f := newFlat(t, 3, 4096, 100, 1); f.CPU(3) != 3 {
		t.Error("a ring of the kernel engine has another CPU")
	}
}
