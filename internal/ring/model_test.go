package ring

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestModel runs the writer protocols of layout.go step by step, in random order: threads with and without restartable
// sequences on virtual CPUs, that are preempted, migrated, interrupted by handlers that hit too, and killed between any two steps, and the reader. Afterwards
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
	if total.Complete == 0 || total.Compact == 0 || total.Nested == 0 || total.Near == 0 || total.Lost == 0 || total.Aborted == 0 || total.Refused == 0 || total.Fillers == 0 || total.Holes == 0 {
		t.Errorf("something never happened: %+v", total)
	}
}

const (
	modelCPUs  = 2
	modelSites = 3
	modelSub   = 512 // SubSize
)

// modelCounts is what happened.
type modelCounts struct {
	Complete, Lost   int
	Compact, Nested  int // without a context of their own; in handlers of signals
	Near             int // without a context of their own, with lock
	Kept             int // with one, since a program was interrupted
	Aborted, Refused int // sequences, exchanges
	Fillers, Holes   int // of threads that were killed
}

func (c *modelCounts) add(d *modelCounts) {
	c.Complete += d.Complete
	c.Lost += d.Lost
	c.Compact += d.Compact
	c.Nested += d.Nested
	c.Near += d.Near
	c.Kept += d.Kept
	c.Aborted += d.Aborted
	c.Refused += d.Refused
	c.Fillers += d.Fillers
	c.Holes += d.Holes
}

type model struct {
	modelCounts
	overwriteModel
	t       *testing.T
	rnd     *rand.Rand
	s       *Shared
	r       *Reader
	now     uint64 // the counter of all virtual CPUs
	threads []*modelThread
	running [modelCPUs]*modelThread
	kernel  bool                // writers with lock do as the kernel's programs do
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

	// interrupted are the hits that handlers of signals have interrupted, with what follows.
	interrupted []modelThread

	steps  []func() // the next steps; none: it is outside of a hit
	again  func()   // the abort handler of the sequence it is in; nil: none
	ring   int      // where room is the thread's; -1: none is
	site   uint32
	fields []uint64
	time   uint64
	old    uint64 // what it loaded from reserved
	near   uint64 // see nearest
	packed uint64 // with the distance of a context
	// Positions of the context, behind the head of a sub-buffer if the event begins one, and of the event.
	context, event uint64
	begins         bool
}

func newModel(t *testing.T, seed uint64) *model {
	g := geometry(t, modelCPUs, PageSize, modelSites)
	g.Restartable = true
	s := newShared(t, g)
	m := &model{t: t, rnd: rand.New(rand.NewPCG(seed, 5)), s: s, r: NewReader(s), now: 1 << 40, lazy: 1 << (seed % 7), want: map[uint64][]uint64{}}
	for site := range modelSites {
		m.r.SetSize(uint32(site), m.size(uint32(site)))
	}
	m.kernel = seed%3 == 0
	for n := modelCPUs; n < len(m.out); n++ {
		m.r.rings[n].timeLast = m.kernel
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
		switch k := m.rnd.IntN(100 * m.lazy); {
		case k != 9:
			m.step()
		case m.on:
			m.snapshot(m.rnd.IntN(len(m.out)), false)
		default:
			n := m.rnd.IntN(len(m.out))
			m.out[n], _ = m.r.Drain(n, m.out[n])
		}
	}
}

// step executes a step of a thread, or of the kernel.
func (m *model) step() {
	{
		m.now += uint64(m.rnd.IntN(3))
		switch k := m.rnd.IntN(100); {
		case k < 8:
			m.schedule()
		case k == 11 && m.rnd.IntN(10) == 0:
			m.now += uint64(m.rnd.IntN(2 * WordClock))
		case k == 12:
			if th := m.running[m.rnd.IntN(modelCPUs)]; th != nil {
				th.signal()
			}
		case k == 10 && !m.immortal && m.rnd.IntN(60) == 0:
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
	m.leave(th)
	for i := range th.interrupted {
		m.leave(&th.interrupted[i])
	}
}

// leave counts what a hit leaves that goes no further.
func (m *model) leave(th *modelThread) {
	if len(th.steps) == 0 || th.ring < 0 {
		return
	}
	switch {
	case m.on:
	case th.ring < modelCPUs && *th.at(th.ring, th.event)&WordPending == 0:
		m.t.Error("room that was reserved in a sequence has no size")
	case th.ring < modelCPUs || *th.at(th.ring, th.context) != 0:
		m.Fillers++
	default:
		m.Holes++
	}
}

// preempt: the kernel sends a thread in a sequence to its abort handler.
func (th *modelThread) preempt() {
	if th.again != nil {
		th.m.Aborted++
		th.again()
	}
}

// signal interrupts a thread in a hit by a handler that makes one too.
func (th *modelThread) signal() {
	if len(th.steps) == 0 || len(th.interrupted) > 1 {
		return
	}
	th.preempt()
	th.m.now++
	th.m.Nested++
	th.interrupted = append(th.interrupted, *th)
	th.steps = nil
	th.run()
}

// resume goes on with the hit that a handler has interrupted.
func (th *modelThread) resume() {
	th.m.now++
	last := len(th.interrupted) - 1
	cpu, rest := th.cpu, th.interrupted[:last]
	*th = th.interrupted[last]
	th.cpu, th.interrupted = cpu, rest
}

// run executes a step, or begins a hit.
func (th *modelThread) run() {
	if len(th.steps) > 0 {
		step := th.steps[0]
		th.steps = th.steps[1:]
		if step(); len(th.steps) == 0 && len(th.interrupted) > 0 {
			th.resume()
		}
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
		case 2: // like an event, complete or not
			site := uint32(rnd.IntN(modelSites))
			size := uint64(th.m.size(site) - RecHeader + EventHead)
			th.fields[i] = uint64(EventWord(site, size, EventHead))<<32 | KindEvent<<WordKind | rnd.Uint64N(2)<<63
		default: // like a context
			size := uint64(th.m.size(uint32(rnd.IntN(modelSites))) - RecHeader + EventHead)
			th.fields[i] = size<<32 | KindContext<<WordKind
		}
	}
	if th.reserveLocked(); th.restartable {
		th.hit()
	}
}

func (th *modelThread) reserveLocked() {
	switch {
	case th.m.flat:
		th.kernelOver()
	case th.m.on:
		th.lockedOver()
	default:
		th.locked()
	}
}

func (th *modelThread) reserveSlow() {
	if th.m.on {
		th.slowOver()
		return
	}
	th.slow()
}

func (th *modelThread) word(cpu int, off uint64) *uint64 {
	return th.m.s.word(th.m.s.g.RingOffset(cpu) + off)
}

// at is the word of a ring's data at a position.
func (th *modelThread) at(cpu int, pos uint64) *uint64 {
	return th.m.s.word(th.m.s.g.RingOffset(cpu) + RingData + pos&(PageSize-1))
}

// full counts a hit that found a ring full: sequence L, or with lock.
func (th *modelThread) full(ring int) {
	if th.steps, th.again = nil, nil; ring >= modelCPUs {
		*th.word(ring, RingDropped) += 1
		th.m.Lost++
		return
	}
	n := uint64(0)
	th.do(func() {
		ring, th.again = th.cpu, th.reserveLocked
		n = *th.word(ring, RingDropped)
	}, func() {
		*th.word(ring, RingDropped) = n + 1
		th.m.Lost++
		th.again = nil
	})
}

// place computes where the context (or, with the room of a context that is not needed, the event) goes; false: full.
func (th *modelThread) place(cpu int) bool {
	need := ContextSize + th.size()
	th.context, th.begins = th.old, false
	if PacketHead+need > modelSub || (th.old-1)&(modelSub-1) > modelSub-1-need {
		start := (th.old + modelSub - 1) &^ (modelSub - 1)
		if start+(PacketHead+need+modelSub-1)&^(modelSub-1)-*th.word(cpu, RingConsumed) > PageSize {
			return false
		}
		th.context, th.begins = start+PacketHead, true
	}
	th.event = th.context + ContextSize
	return true
}

// size is that of the event in the ring.
func (th *modelThread) size() uint64 { return uint64(EventHead + 8*len(th.fields)) }

func (th *modelThread) eventWord() uint64 {
	return uint64(EventWord(th.site, th.size(), EventHead))<<32 | KindEvent<<WordKind | th.time&WordClock
}

func (th *modelThread) do(steps ...func()) { th.steps = append(th.steps, steps...) }

// store adds the store of a word as a step.
func (th *modelThread) store(cpu int, pos uint64, value func() uint64) {
	th.do(func() { *th.at(cpu, pos) = value() })
}

func is(value uint64) func() uint64 { return func() uint64 { return value } }

// heads adds steps 4 and 5 but for the fields.
func (th *modelThread) heads(cpu int) {
	if th.begins {
		start := th.context - PacketHead
		th.store(cpu, start+PacketBefore, is(th.old))
		th.store(cpu, start+PacketPosition, is(start))
		th.store(cpu, start+PacketBegin, is(th.time))
		th.store(cpu, start+PacketLost, func() uint64 { return *th.word(cpu, RingDropped) })
		if start != th.old {
			th.store(cpu, th.old, is((start-th.old)<<32|KindFiller<<WordKind))
		}
		th.store(cpu, start, is(PacketMagic))
	}
	timeLast := cpu >= modelCPUs && th.m.kernel
	if !timeLast {
		th.store(cpu, th.context+ContextTime, is(th.time))
	}
	th.store(cpu, th.context, is(th.size()<<32|KindContext<<WordKind|th.time&WordClock))
	if timeLast {
		th.store(cpu, th.context+ContextThread, is(th.id))
		th.store(cpu, th.context+ContextTime, is(th.time))
	}
	th.store(cpu, th.event, is(WordPending|th.eventWord()>>32<<32))
	th.store(cpu, th.event, is(WordPending|th.eventWord()))
	if !timeLast {
		th.store(cpu, th.context+ContextThread, is(th.id))
	}
}

// hit is sequence A.
func (th *modelThread) hit() {
	cpu := th.cpu
	th.steps, th.again = nil, th.reserveLocked
	th.do(func() {
		th.time = th.m.now
	}, func() {
		if *th.word(cpu, RingThread) != th.id {
			th.reserveSlow()
		}
	}, func() {
		if *th.word(cpu, RingEpoch) != th.time>>WordKind {
			th.reserveSlow()
		}
	}, func() {
		if th.old = *th.word(cpu, RingReserved); th.old < *th.word(cpu, RingFrom) {
			th.reserveSlow()
		}
	}, func() {
		if th.old+th.size() > *th.word(cpu, RingLimit) {
			th.reserveSlow()
		}
	}, func() {
		*th.at(cpu, th.old) = WordPending | th.eventWord()
	}, func() {
		th.event = th.old
		*th.word(cpu, RingReserved) = th.old + th.size()
		th.m.Compact++
		th.reserved(cpu)
	})
}

// slow is sequence S. It can be aborted before its first step.
func (th *modelThread) slow() {
	cpu := th.cpu
	th.steps, th.again = nil, th.locked
	th.do(func() {
		th.time = th.m.now
	}, func() {
		*th.word(cpu, RingFrom) = ^uint64(0)
	}, func() {
		*th.word(cpu, RingThread) = th.id
	}, func() {
		*th.word(cpu, RingEpoch) = th.time >> WordKind
	}, func() {
		if th.old = *th.word(cpu, RingReserved); !th.place(cpu) {
			th.full(cpu)
			return
		}
		end := th.event + th.size()
		th.do(func() { *th.word(cpu, RingFrom) = end })
		th.heads(cpu)
		th.do(func() {
			*th.word(cpu, RingLimit) = (end + modelSub - 1) &^ (modelSub - 1)
		}, func() {
			*th.word(cpu, RingReserved) = end
			th.reserved(cpu)
		})
	})
}

// locked is the protocol with lock. The thread may be on another CPU after any step.
func (th *modelThread) locked() {
	cpu := th.cpu + modelCPUs
	th.steps, th.again = nil, nil
	th.do(func() {
		th.packed = *th.word(cpu, RingReserved)
		th.old = Position(th.packed)
	}, func() {
		switch {
		case th.place(cpu):
		case *th.word(cpu, RingReserved) == th.packed:
			th.full(cpu)
		default:
			th.m.Refused++
			th.locked()
		}
	}, func() {
		th.time = th.m.now
		th.nearest(cpu)
		th.do(func() { th.exchange(cpu) })
	})
}

// nearest adds step 2k. What it finds is in near: the distance of a context that the event can do with.
func (th *modelThread) nearest(cpu int) {
	near := th.packed >> NearShift
	th.near = 0
	if th.m.on || th.begins || near == 0 || near+th.size()/NearUnit > MaxNear {
		return
	}
	context := th.old - near*NearUnit
	epoch := uint64(0)
	time := func() { epoch = *th.at(cpu, context+ContextTime) >> WordKind }
	thread := func() {
		if *th.at(cpu, context+ContextThread) == th.id {
			th.near = near
		}
	}
	now := func() { th.time = th.m.now }
	if th.m.kernel {
		th.do(time, thread, now)
	} else {
		th.do(thread, now, time)
	}
	th.do(func() {
		if epoch != th.time>>WordKind {
			th.near = 0
		}
	})
}

// exchange is step 3, and adds the rest.
func (th *modelThread) exchange(cpu int) {
	if *th.word(cpu, RingReserved) != th.packed {
		th.m.Refused++
		th.locked()
		return
	}
	near, end := uint64(0), th.event+th.size()
	if th.near > 0 {
		th.m.Near++
		th.context, th.event, end, near = th.old, th.old, th.old+th.size(), th.near+th.size()/NearUnit
		th.store(cpu, th.event, is(WordPending|th.eventWord()))
	} else {
		near = (ContextSize + th.size()) / NearUnit
		th.heads(cpu)
	}
	*th.word(cpu, RingReserved) = end | near<<NearShift
	th.ring = cpu
	th.complete(cpu)
}

// reserved is what follows the commit of a sequence.
func (th *modelThread) reserved(cpu int) {
	th.again, th.steps = nil, nil
	th.ring = cpu
	if th.m.on {
		th.completeOver(cpu)
		return
	}
	th.complete(cpu)
}

// complete adds the stores of the fields, and step 6.
func (th *modelThread) complete(cpu int) {
	for i, f := range th.fields {
		if f != 0 {
			th.store(cpu, th.event+EventHead+8*uint64(i), is(f))
		}
	}
	th.do(func() {
		*th.at(cpu, th.event) &^= WordPending
		key := th.time<<3 | th.id
		if th.m.want[key] != nil {
			th.m.t.Error("BUG: a thread has two records of one time")
		}
		th.m.want[key] = th.fields
		th.m.Complete++
	})
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
	dropped := 0
	for n := range m.out {
		dropped += int(m.s.Dropped(n))
	}
	if dropped != m.Lost {
		m.t.Errorf("%d hits found no room, %d are counted", m.Lost, dropped)
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

// checkFree: the room of a ring is zero, but for the heads that an aborted sequence leaves for the next: at reserved, and
// where the next sub-buffer begins.
func (m *model) checkFree(n int) {
	data := m.s.mem[m.s.g.RingOffset(n)+RingData:][:2*PageSize]
	if next := *m.s.word(m.s.g.RingOffset(n) + RingReserved); n < modelCPUs {
		start := (next + modelSub - 1) &^ (modelSub - 1)
		clear(data[next&(PageSize-1):][:ContextSize+EventHead])
		clear(data[start&(PageSize-1):][:PacketHead+ContextSize+EventHead])
	}
	for i, b := range data[:PageSize] {
		if b != 0 {
			m.t.Errorf("ring %d: byte %d of the free room is %#x", n, i, b)
			return
		}
	}
}
