package event

import (
	"encoding/binary"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ring"
)

// TestCounters: counts that fall, or that exceed the possible number of hits, are marked.
func TestCounters(t *testing.T) {
	s, g, write := sharedMemory(t)
	set := func(cpu int, site uint32, counter int, v uint64) { write(g.CounterOffset(cpu, site, counter), v) }
	schemas := []*Schema{{SiteID: 0}, {SiteID: 1}, {SiteID: 2}, nil}
	c := NewCounters(s)
	set(0, 0, ring.CounterFalse, 100)
	set(1, 0, ring.CounterFalse, 20)
	set(0, 1, ring.CounterLost, 50)
	set(0, 2, ring.CounterFalse, uint64(time.Hour)*10)
	c.Sample(schemas)
	set(0, 1, ring.CounterLost, 49)
	got := c.Sites(schemas, []uint64{7, 8, 9})
	if len(got) != 3 {
		t.Fatalf("%d sites", len(got))
	}
	if x := got[0]; x.Overwritten || x.False != 120 || x.Recorded != 7 {
		t.Errorf("%+v", x)
	}
	for _, x := range got[1:] {
		if !x.Overwritten || x.False+x.Faults+x.Lost != 0 {
			t.Errorf("%+v", x)
		}
	}
}

// TestDropped: the count of a ring's losses that falls, or exceeds the possible number of hits, stays at its last possible value and is
// marked.
func TestDropped(t *testing.T) {
	s, g, write := sharedMemory(t)
	c := NewCounters(s)
	for _, step := range []struct {
		value, want uint64
		overwritten bool
	}{{0, 0, false}, {70, 70, false}, {1 << 62, 70, true}, {80, 80, true}, {3, 80, true}} {
		write(g.RingOffset(1)+ring.RingDropped, step.value)
		if n, overwritten := c.Dropped(1); n != step.want || overwritten != step.overwritten {
			t.Errorf("%d: %d %v, want %d %v", step.value, n, overwritten, step.want, step.overwritten)
		}
	}
	if n, overwritten := c.Dropped(0); n != 0 || overwritten {
		t.Errorf("the other ring: %d %v", n, overwritten)
	}
}

// fileOffset returns the offset in the file that is mapped at an offset of the memory.
// sharedMemory returns new shared memory, and a function that writes a word of it as the traced program can.
func sharedMemory(t *testing.T) (*ring.Shared, ring.Geometry, func(offset, value uint64)) {
	t.Helper()
	g, err := ring.NewGeometry(2, 8192, 4)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("counters", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := ring.Prepare(fd, g); err != nil {
		t.Fatal(err)
	}
	s, err := ring.Map(fd, g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, g, func(offset, value uint64) {
		if _, err := unix.Pwrite(fd, binary.LittleEndian.AppendUint64(nil, value), int64(fileOffset(g, offset))); err != nil {
			t.Fatal(err)
		}
	}
}

func fileOffset(g ring.Geometry, mem uint64) uint64 {
	for _, m := range g.Maps() {
		if mem-m.Mem < m.Len {
			return m.File + mem - m.Mem
		}
	}
	return 0
}
