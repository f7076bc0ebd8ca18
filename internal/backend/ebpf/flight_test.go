package ebpf

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/jalon-trace/jalon/internal/ring"
)

// overMachine is a machine whose buffers are overwritten, as the engine makes them, with their reader.
func overMachine(t testing.TB, size int) (*machine, ring.Flat, *ring.Shared, *ring.Reader) {
	t.Helper()
	m := newMachine(t)
	flat, err := ring.NewFlat(2, size, 56, 1, true, ring.MaxFlat)
	must(t, err)
	m.buffers, m.mem = mapping(t, int(flat.Size()))
	s, err := flat.Wrap(m.mem)
	must(t, err)
	r := ring.NewReader(s)
	r.SetSize(0, 56)
	return m, flat, s, r
}

// TestManyOverwritten: programs of several threads run on both CPUs at once, in rings of their own or in one, preempted and migrated
// where they are, while snapshots are taken. What snapshots return is whole, in the order of each ring, and comes once, and all of it
// with what was overwritten and what was lost is all hits. Afterwards all is complete, and the last snapshot has the newest records.
func TestManyOverwritten(t *testing.T) {
	for _, c := range []struct {
		name string
		size int
		one  bool
	}{{"small", 4 << 10, false}, {"small, one ring", 4 << 10, true}, {"medium, one ring", 64 << 10, true}, {"large", 32 << 20, false}} {
		t.Run(c.name, func(t *testing.T) {
			m, flat, s, r := overMachine(t, c.size)
			l := flat.Layout(0)
			if c.one {
				l.CPUMask = 0
			}
			cfg := Config{Name: mapName, Layout: l, Slack: uint64(flat.Slack), MapSize: flat.Size(), Features: m.full, Atomic: true}
			p := m.program(manyRecord, cfg)
			defer p.Close()
			stop, done := make(chan bool), make(chan bool)
			o := overRead{t: t, r: r, seen: map[[2]uint64]bool{}, next: map[[2]uint64]uint64{}}
			snapshots := 0
			go func() {
				defer close(done)
				for {
					select {
					case <-stop:
						return
					default:
						o.snapshot(false)
						snapshots++
						runtime.Gosched()
					}
				}
			}()
			hits := many(t, p)
			close(stop)
			<-done
			for cpu := range r.Rings() {
				if !r.Settled(cpu) {
					t.Errorf("ring %d is not complete", cpu)
				}
			}
			o.snapshot(true)
			recorded, lost := s.Counter(0, ring.CounterRecorded), s.Counter(0, ring.CounterLost)
			if s.Counter(0, 0) != hits || recorded+lost != hits || o.read > recorded {
				t.Errorf("%d hits (%d counted), %d recorded + %d lost, %d read", hits, s.Counter(0, 0), recorded, lost, o.read)
			}
			if st := r.Stats(); st.Torn != 0 || st.Corrupt != 0 || st.Records != o.read {
				t.Errorf("%d read, %+v", o.read, st)
			}
			if st := r.Stats(); c.size > 1<<20 && o.read != recorded && st.TornSubs == 0 {
				t.Errorf("%d read of %d recorded, though nothing was overwritten or torn", o.read, recorded)
			}
			newest := false
			for _, turn := range o.newest {
				newest = newest || turn == hitsEach-1
			}
			if !newest {
				t.Errorf("no thread's last record is among the newest: %v", o.newest)
			}
			t.Logf("%d hits, %d snapshots, %d read, %d lost, %+v", hits, snapshots, o.read, lost, r.Stats())
		})
	}
}

// overRead checks what snapshots return.
type overRead struct {
	t      *testing.T
	r      *ring.Reader
	seen   map[[2]uint64]bool   // by thread and turn
	next   map[[2]uint64]uint64 // by ring and thread
	newest [4]uint64
	read   uint64
}

func (o *overRead) snapshot(final bool) {
	for cpu := range o.r.Rings() {
		snap, last := o.r.Snapshot(cpu, final), uint64(0)
		for {
			records, ok := snap.Next(nil)
			if !ok {
				break
			}
			for ; len(records) > 0; records = records[56:] {
				last = o.record(cpu, records[:56], last)
			}
		}
	}
}

func (o *overRead) record(cpu int, rec []byte, last uint64) uint64 {
	word := func(off int) uint64 { return binary.LittleEndian.Uint64(rec[off:]) }
	thread, turn, check := word(ring.RecHeader), word(ring.RecHeader+8), word(ring.RecHeader+16)
	key, of := [2]uint64{thread, turn}, [2]uint64{uint64(cpu), thread}
	if word(0) != 1<<32|56 || thread^turn != check || o.seen[key] || turn < o.next[of] || thread >= 4 || word(ring.RecTSC) < last {
		o.t.Errorf("record %x of ring %d (after %d, at %d; seen %v)", rec, cpu, o.next[of], last, o.seen[key])
	}
	o.seen[key], o.next[of], o.newest[thread%4] = true, turn+1, max(o.newest[thread%4], turn)
	o.read++
	return word(ring.RecTSC)
}
