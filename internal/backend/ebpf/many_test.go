package ebpf

import (
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

const hitsEach = 20000

// many runs p from several threads on every CPU, hitsEach times each, and gives
// the number of runs. Each passes its number and its turn in words 8 and 16.
func many(t *testing.T, p *ebpf.Program) uint64 {
	const threads = 2
	var wg sync.WaitGroup
	cpus := min(runtime.NumCPU(), 2)
	for cpu := range cpus {
		for n := range threads {
			wg.Add(1)
			go func() {
				defer wg.Done()
				runtime.LockOSThread() // ends with the thread: its affinity is not for others
				var set unix.CPUSet
				set.Set(cpu)
				if err := unix.SchedSetaffinity(0, &set); err != nil {
					t.Error(err)
					return
				}
				var ctx [24]byte
				binary.LittleEndian.PutUint64(ctx[8:], uint64(cpu*threads+n))
				for turn := range uint64(hitsEach) {
					binary.LittleEndian.PutUint64(ctx[16:], turn)
					if _, err := p.Run(&ebpf.RunOptions{Context: ctx[:]}); err != nil {
						t.Error(err)
						return
					}
				}
			}()
		}
	}
	wg.Wait()
	return uint64(cpus * threads * hitsEach)
}

// shared is a word of the map that others write.
func (m *machine) shared(at uint64) *uint64 { return (*uint64)(unsafe.Pointer(&m.mem[at])) }

// counter is the sum of a counter over the CPUs.
func (m *machine) counter(n uint64) (sum uint64) {
	l, _ := layout()
	for cpu := range uint64(l.CPUMask) + 1 {
		sum += atomic.LoadUint64(m.shared(l.Counters + cpu*l.CounterStride + 8*n))
	}
	return sum
}

const manyRecord = `b0:
  v0 = ctx.8 8
  v1 = ctx.8 16
  count 0
  v2 = xor.8 v0, v1
  reserve 56
  put.8 @24, v0
  put.8 @32, v1
  put.8 @40, v2
  commit
  exit`

func (m *machine) program(text string, cfg Config) *ebpf.Program {
	m.t.Helper()
	p, err := ir.Parse(text)
	must(m.t, err)
	must(m.t, ir.Check(p))
	insns, err := Compile(p, cfg)
	must(m.t, err)
	return m.load(insns)
}

func (m *machine) config() Config {
	l, size := layout()
	return Config{Name: mapName, Layout: l, Slack: testSlack, MapSize: size, Features: m.full}
}

// TestManyFull: without a reader each CPU's ring takes what fits, all else is
// counted as lost, and no hit is counted twice or forgotten.
func TestManyFull(t *testing.T) {
	m := newMachine(t)
	cfg := m.config()
	cfg.Atomic = true // programs of this type can be preempted
	p := m.program(manyRecord, cfg)
	defer p.Close()
	hits := many(t, p)
	if got := m.counter(0); got != hits {
		t.Errorf("%d hits counted, want %d", got, hits)
	}
	stored := uint64(0)
	l := cfg.Layout
	for cpu := range uint64(2) {
		const event = 56 - ring.RecHeader + ring.EventHead
		const least, most = testRing / testSub * ((testSub - ring.PacketHead) / (event + ring.ContextSize)), testRing / testSub * ((testSub - ring.PacketHead) / event)
		list, end, err := m.read(&l, cpu, 0, ring.Position(*m.shared(l.Rings + cpu*l.RingStride)))
		if err != nil || end > l.RingSize || len(list) <= least || len(list) > most {
			t.Errorf("ring %d: %d events in %d bytes of %d, want more than %d, at most %d; %v", cpu, len(list), end, l.RingSize, least, most, err)
		}
		stored += uint64(len(list))
	}
	if lost := m.counter(ir.CounterLost); lost+stored != hits {
		t.Errorf("%d stored + %d lost != %d hits", stored, lost, hits)
	}
}

// TestManyRead: with a concurrent reader every record is intact, the records of each thread are in order,
// and missing ones were counted.
func TestManyRead(t *testing.T) {
	m := newMachine(t)
	cfg := m.config()
	cfg.Atomic = true
	p := m.program(manyRecord, cfg)
	defer p.Close()
	stop, done := make(chan bool), make(chan bool)
	var read uint64
	go func() {
		defer close(done)
		next := map[uint64]uint64{}
		for last := false; !last; {
			select {
			case <-stop:
				last = true // all is committed: once more
			default:
				runtime.Gosched()
			}
			read += m.drain(t, next)
		}
	}()
	hits := many(t, p)
	close(stop)
	<-done
	if lost := m.counter(ir.CounterLost); read+lost != hits || m.counter(0) != hits {
		t.Errorf("%d read + %d lost != %d hits (%d counted)", read, lost, hits, m.counter(0))
	}
	if read < 100 {
		t.Errorf("%d records read", read)
	}
	t.Logf("%d hits, %d read", hits, read)
}

// drain reads the committed records of all rings, as package ring's reader does.
func (m *machine) drain(t *testing.T, next map[uint64]uint64) (records uint64) {
	l, _ := layout()
	for cpu := range uint64(2) {
		base := l.Rings + cpu*l.RingStride
		reserved := ring.Position(atomic.LoadUint64(m.shared(base + ring.RingReserved)))
		pos := atomic.LoadUint64(m.shared(base + ring.RingConsumed))
		list, pos, err := m.read(&l, cpu, pos, reserved)
		if err != nil {
			t.Error(err)
			return
		}
		for _, rec := range list {
			if head := binary.LittleEndian.Uint64(rec); head != 42<<32|56 {
				t.Errorf("header %#x", head)
				return
			}
			field := func(n int) uint64 { return binary.LittleEndian.Uint64(rec[ring.RecHeader+8*n:]) }
			thread, turn, check := field(0), field(1), field(2)
			if thread^turn != check || turn < next[thread] {
				t.Errorf("thread %d, turn %d (after %d), check %#x", thread, turn, next[thread], check)
			}
			next[thread] = turn + 1
			records++
		}
		atomic.StoreUint64(m.shared(base+ring.RingConsumed), pos)
	}
	return records
}
