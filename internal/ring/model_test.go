package ring

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestModel runs the writer protocols of layout.go step by step, in random order: threads with and without restartable
// sequences on virtual CPUs, that are preempted, migrated and killed between any two steps, and the reader. Afterwards
// each record that was completed has come once, whole and in the order of time, each that was not is a filler, and
// each that found no room is counted.
func TestModel(t *testing.T) {
	seeds := uint64(150)
	if testing.Short() {
		seeds = 40
	}
	var total modelCounts
	for seed := range seeds {
		m := newModel(t, seed)
		m.run(6000)
		m.check()
		total.add(&m.modelCounts)
		if t.Failed() {
			t.Fatalf("seed %d: %+v", seed, m.modelCounts)
		}
	}
	t.Logf("%+v", total)
	if total.Complete == 0 || total.Lost == 0 || total.Aborted == 0 || total.Refused == 0 || total.Fillers == 0 || total.Holes == 0 {
		t.Errorf("something never happened: %+v", total)
	}
}

const (
	modelCPUs  = 2
	modelSites = 3
)

// modelCounts is what happened.
type modelCounts struct {
	Complete, Lost   int
	Aborted, Refused int // sequences, exchanges
	Fillers, Holes   int // of threads that were killed
}

func (c *modelCounts) add(d *modelCounts) {
	c.Complete += d.Complete
	c.Lost += d.Lost
	c.Aborted += d.Aborted
	c.Refused += d.Refused
	c.Fillers += d.Fillers
	c.Holes += d.Holes
}

type model struct {
	modelCounts
	t       *testing.T
	rnd     *rand.Rand
	s       *Shared
	r       *Reader
	now     uint64 // the counter of all virtual CPUs
	threads []*modelThread
	running [modelCPUs]*modelThread
	lazy    int                 // how seldom the reader reads
	want    map[uint64][]uint64 // the fields of completed records, by their time
	out     [2 * modelCPUs][]byte
}

// modelThread is a thread that executes the writer protocols.
type modelThread struct {
	m           *model
	id          uint64
	restartable bool // it is listed in the table of thread pointers
	dead        bool
	cpu         int

	step   func() // the next step; nil: it is outside of a hit
	inSeq  bool   // between b and e
	ring   int
	site   uint32
	fields []uint64
	old    uint64
	time   uint64
}

func newModel(t *testing.T, seed uint64) *model {
	g := geometry(t, modelCPUs, PageSize, modelSites)
	g.Restartable = true
	s := newShared(t, g)
	m := &model{t: t, rnd: rand.New(rand.NewPCG(seed, 5)), s: s, r: NewReader(s), now: 1 << 40, lazy: 1 << (seed % 7), want: map[uint64][]uint64{}}
	for site := range modelSites {
		m.r.SetSize(uint32(site), m.size(uint32(site)))
	}
	for id := range 3 + m.rnd.IntN(4) {
		m.threads = append(m.threads, &modelThread{m: m, id: uint64(id + 1), restartable: m.rnd.IntN(4) != 0})
	}
	return m
}

func (m *model) size(site uint32) int { return RecHeader + 8*(1+5*int(site)) }

// run executes random steps.
func (m *model) run(steps int) {
	for range steps {
		m.now += uint64(m.rnd.IntN(3))
		switch k := m.rnd.IntN(100); {
		case k < 8:
			m.schedule()
		case k == 9 && m.rnd.IntN(m.lazy) == 0:
			n := m.rnd.IntN(len(m.out))
			m.out[n], _ = m.r.Drain(n, m.out[n])
		case k == 10 && m.rnd.IntN(60) == 0:
			m.kill(m.threads[m.rnd.IntN(len(m.threads))])
		default:
			if th := m.running[m.rnd.IntN(modelCPUs)]; th != nil {
				th.run()
			}
		}
	}
}

// schedule lets another thread run on a CPU. The one that ran there is preempted.
func (m *model) schedule() {
	cpu, th := m.rnd.IntN(modelCPUs), m.threads[m.rnd.IntN(len(m.threads))]
	if was := m.running[cpu]; was != nil {
		was.preempt()
	}
	m.running[cpu] = nil
	if th.dead || m.running[th.cpu] == th {
		return
	}
	m.running[cpu], th.cpu = th, cpu
}

// kill ends a thread, whatever it is doing.
func (m *model) kill(th *modelThread) {
	if th.dead {
		return
	}
	if m.running[th.cpu] == th {
		m.running[th.cpu] = nil
	}
	th.dead = true
	if th.step == nil || th.ring < 0 {
		return
	}
	switch {
	case *m.s.word(th.room()) != 0:
		m.Fillers++
	case th.ring < modelCPUs:
		m.t.Error("room that was reserved in a sequence has no size")
	default:
		m.Holes++
	}
}

// preempt: the kernel sends a thread in a sequence to its abort handler.
func (th *modelThread) preempt() {
	if th.inSeq {
		th.m.Aborted++
		th.inSeq = false
		th.step = th.load
	}
}

// run executes a step, or begins a hit.
func (th *modelThread) run() {
	if th.step != nil {
		th.step()
		return
	}
	rnd := th.m.rnd
	th.site, th.ring = uint32(rnd.IntN(modelSites)), -1
	th.fields = make([]uint64, (th.m.size(th.site)-RecHeader)/8)
	for i := range th.fields {
		switch rnd.IntN(4) {
		case 0: // not written, and zero
		case 1:
			th.fields[i] = rnd.Uint64()
		case 2: // like a record that is being written
			th.fields[i] = uint64(th.m.size(uint32(rnd.IntN(modelSites)))) | RecPending
		default: // like one that is complete
			site := rnd.IntN(modelSites)
			th.fields[i] = uint64(th.m.size(uint32(site))) | uint64(site+1)<<32
		}
	}
	th.step = th.load
	if th.restartable {
		th.inSeq, th.step = true, th.seqTime
	}
}

func (th *modelThread) word(cpu int, off uint64) *uint64 {
	return th.m.s.word(th.m.s.g.RingOffset(cpu) + off)
}

func (th *modelThread) room() uint64 {
	return th.m.s.g.RingOffset(th.ring) + RingData + th.old&(PageSize-1)
}

// store stores a word of the record, which may continue at the start of the data.
func (th *modelThread) store(off, value uint64) {
	base := th.m.s.g.RingOffset(th.ring) + RingData
	*th.m.s.word(base + (th.old+off)&(PageSize-1)) = value
}

func (th *modelThread) full(cpu int) bool {
	return th.old+uint64(th.m.size(th.site))-*th.word(cpu, RingConsumed) > PageSize
}

func (th *modelThread) lost() {
	th.m.Lost++
	th.step, th.inSeq = nil, false
}

func (th *modelThread) pending() uint64 { return uint64(th.m.size(th.site)) | RecPending }

// The steps of a restartable sequence, b to e. ring is set when the room is the thread's.

func (th *modelThread) seqTime() {
	th.time, th.step = th.m.now, th.seqLoad
}

func (th *modelThread) seqLoad() {
	th.old, th.step = *th.word(th.cpu, RingReserved), th.seqRoom
}

func (th *modelThread) seqRoom() {
	if th.step = th.seqSize; th.full(th.cpu) {
		th.lost()
	}
}

func (th *modelThread) seqSize() {
	th.ring = th.cpu
	th.store(0, th.pending())
	th.ring, th.step = -1, th.seqCommit
}

func (th *modelThread) seqCommit() {
	*th.word(th.cpu, RingReserved) = th.old + uint64(th.m.size(th.site))
	th.ring, th.inSeq, th.step = th.cpu, false, th.storeTime
}

// The steps with lock, 1 to 4. The thread may be on another CPU after any of them.

func (th *modelThread) load() {
	cpu := th.cpu + modelCPUs
	th.old = *th.word(cpu, RingReserved)
	th.step = func() { th.checkRoom(cpu) }
}

func (th *modelThread) checkRoom(cpu int) {
	switch {
	case !th.full(cpu):
		th.step = func() { th.time, th.step = th.m.now, func() { th.exchange(cpu) } }
	case *th.word(cpu, RingReserved) == th.old:
		th.lost()
	default:
		th.m.Refused++
		th.step = th.load
	}
}

func (th *modelThread) exchange(cpu int) {
	if *th.word(cpu, RingReserved) != th.old {
		th.m.Refused++
		th.step = th.load
		return
	}
	*th.word(cpu, RingReserved) += uint64(th.m.size(th.site))
	th.ring, th.step = cpu, th.storeSize
}

func (th *modelThread) storeSize() {
	th.store(0, th.pending())
	th.step = th.storeTime
}

// Steps 5 and 6.

func (th *modelThread) storeTime() {
	th.store(RecTSC, th.time)
	th.step = func() {
		th.store(RecThread, th.id)
		th.step = func() { th.storeField(0) }
	}
}

func (th *modelThread) storeField(n int) {
	if n == len(th.fields) {
		th.store(0, uint64(th.m.size(th.site))|uint64(th.site+1)<<32)
		key := th.time<<3 | th.id
		if th.m.want[key] != nil {
			th.m.t.Error("BUG: a thread has two records of one time")
		}
		th.m.want[key] = th.fields
		th.m.Complete++
		th.step = nil
		return
	}
	if th.fields[n] != 0 {
		th.store(RecHeader+8*uint64(n), th.fields[n])
	}
	th.step = func() { th.storeField(n + 1) }
}

// check ends all threads and compares what the reader finds.
func (m *model) check() {
	for _, th := range m.threads {
		th.preempt()
		m.kill(th)
	}
	got := 0
	for n := range m.out {
		m.out[n] = m.r.Recover(n, m.out[n])
		last := uint64(0)
		for _, rec := range decode(m.t, m.out[n]) {
			if err := m.compare(rec, &last); err != nil {
				m.t.Errorf("ring %d: record %+v: %v", n, rec, err)
			}
			got++
		}
		m.checkFree(n)
	}
	st := m.r.Stats()
	if got != m.Complete || st.Records != uint64(got) || st.Corrupt != 0 {
		m.t.Errorf("%d records, %d complete; %+v", got, m.Complete, st)
	}
	if torn := m.Fillers + m.Holes; int(st.Torn) != torn && (m.Holes == 0 || int(st.Torn) > torn || int(st.Torn) < m.Fillers) {
		m.t.Errorf("%d torn; %d fillers, %d holes", st.Torn, m.Fillers, m.Holes)
	}
}

func (m *model) compare(rec record, last *uint64) error {
	want, ok := m.want[rec.tsc<<3|rec.thread]
	if !ok || len(want) != len(rec.fields) {
		return fmt.Errorf("no thread wrote it, or it comes twice")
	}
	delete(m.want, rec.tsc<<3|rec.thread)
	for i := range want {
		if rec.fields[i] != want[i] {
			return fmt.Errorf("field %d should be %#x", i, want[i])
		}
	}
	if rec.tsc < *last {
		return fmt.Errorf("the one before it is of %d", *last)
	}
	*last = rec.tsc
	return nil
}

// checkFree: the room of a ring is zero, but for the size that an aborted sequence leaves for the next.
func (m *model) checkFree(n int) {
	data := m.s.mem[m.s.g.RingOffset(n)+RingData:][:PageSize]
	next := *m.s.word(m.s.g.RingOffset(n) + RingReserved) & (PageSize - 1)
	if binary.LittleEndian.Uint32(data[next:])&RecPending != 0 && n < modelCPUs {
		clear(data[next : next+8])
	}
	for i, b := range data {
		if b != 0 {
			m.t.Errorf("ring %d: byte %d of the free room is %#x", n, i, b)
			return
		}
	}
}
