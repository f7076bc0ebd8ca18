package event

import "testing"

func TestThreads(t *testing.T) {
	th := NewThreads()
	th.Born(100, 0x1000, "main", 0)
	th.Born(101, 0x2000, "a", 50)
	th.Died(101, 80)
	th.Born(102, 0x2000, "b", 100) // the pointer is used again
	th.Renamed(102, "c", 150)
	th.Died(999, 1)
	th.Renamed(999, "x", 1)
	th.Died(102, 200)
	for _, c := range []struct {
		tp, tsc uint64
		tid     int
		comm    string
	}{
		{0x1000, 0, 100, "main"},
		{0x1000, 1 << 60, 100, "main"},
		{0x2000, 10, 101, "a"}, // slightly before jalon was notified of the start
		{0x2000, 50, 101, "a"},
		{0x2000, 80, 101, "a"},
		{0x2000, 85, 101, "a"},
		{0x2000, 95, 102, "b"},
		{0x2000, 100, 102, "b"},
		{0x2000, 149, 102, "b"},
		{0x2000, 150, 102, "c"},
		{0x2000, 250, 102, "c"},
		{0x3000, 0, 0, ""},
	} {
		got, ok := th.Lookup(c.tp, c.tsc)
		if got.Tid != c.tid || got.Comm != c.comm || ok != (c.tid != 0) {
			t.Errorf("%#x at %d: %+v %v, want %d %s", c.tp, c.tsc, got, ok, c.tid, c.comm)
		}
	}
	th.Forget(180)
	if got, _ := th.Lookup(0x2000, 60); got.Tid != 102 {
		t.Errorf("after Forget: %+v", got)
	}
}

// The first name that is read after the birth of a thread is its name from the birth on; further ones come by Renamed.
func TestThreadsNamed(t *testing.T) {
	th := NewThreads()
	th.Started(101, 0x2000, "parent", 50)
	if !th.Inherits(101) {
		t.Error("a new thread has a name of its own")
	}
	th.Named(101, "") // could not be read
	th.Named(101, "a")
	if th.Inherits(101) {
		t.Error("the name has been read")
	}
	th.Named(101, "b")
	th.Renamed(101, "c", 60)
	th.Died(101, 80)
	th.Named(101, "d")
	th.Started(102, 0x2000, "parent", 100) // another thread at the same pointer
	th.Named(102, "e")
	for tsc, want := range map[uint64]string{50: "a", 59: "a", 60: "c", 80: "c", 100: "e"} {
		if got, _ := th.Lookup(0x2000, tsc); got.Comm != want {
			t.Errorf("at %d: %+v, want %s", tsc, got, want)
		}
	}
	th.Named(999, "x")
	if th.Inherits(999) {
		t.Error("an unknown thread has a name")
	}
}

// Threads that share a thread pointer are not told apart while they do.
func TestThreadsShared(t *testing.T) {
	th := NewThreads()
	th.Born(100, 0x1000, "main", 0)
	th.Started(101, 0x1000, "main", 50) // by clone without CLONE_SETTLS
	th.Started(102, 0x1000, "main", 60)
	th.Renamed(101, "child", 70)
	th.Born(101, 0x5000, "child", 80) // sets its own
	th.Died(102, 90)
	th.Died(101, 95)
	for _, c := range []struct {
		tp, tsc uint64
		tid     int
	}{{0x1000, 40, 100}, {0x1000, 50, 0}, {0x1000, 75, 0}, {0x1000, 85, 0}, {0x1000, 90, 100}, {0x1000, 1 << 40, 100}, {0x5000, 85, 101}} {
		if got, ok := th.Lookup(c.tp, c.tsc); got.Tid != c.tid || ok != (c.tid != 0) {
			t.Errorf("%#x at %d: %+v, want %d", c.tp, c.tsc, got, c.tid)
		}
	}
	if !th.Knows(0x1000) || th.Knows(0x9000) {
		t.Error("known thread pointers")
	}
}

// TestThreadsWithin: if several threads had a thread pointer in the time in question, the thread is not known.
func TestThreadsWithin(t *testing.T) {
	th := NewThreads()
	th.Born(101, 0x2000, "a", 50)
	th.Died(101, 80)
	th.Born(102, 0x2000, "b", 100)
	th.Renamed(102, "c", 150)
	var cache lookups
	for _, c := range []struct {
		from, to uint64
		tid      int
		comm     string
	}{
		{50, 70, 101, "a"}, {60, 100, 0, ""}, {81, 120, 102, "b"}, {70, 90, 101, "a"}, {100, 160, 102, "c"}, {0, 1 << 60, 0, ""},
	} {
		if got, ok := th.within(&cache, 0x2000, c.from, c.to); got.Tid != c.tid || got.Comm != c.comm || ok != (c.tid != 0) {
			t.Errorf("in [%d, %d]: %+v, %v", c.from, c.to, got, ok)
		}
	}
	if _, ok := th.within(&cache, 0x3000, 0, 100); ok {
		t.Error("an unknown thread pointer has a thread")
	}
}
