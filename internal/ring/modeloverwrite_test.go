package ring

import (
	"math/rand/v2"
	"testing"
)

// TestModelOverwrite runs the protocols of overwrite.go like TestModel. A snapshot's steps come between the writers' too: it
// is taken of a copy of the memory whose words were copied at different times. Each record that is returned was completed, and
// comes once, whole, and in order; at the end, each that was completed has been returned, or overwritten since, or was in a
// sub-buffer that is counted as torn; and those that were not returned are not younger than the snapshots say (Missing).
func TestModelOverwrite(t *testing.T) {
	seeds := uint64(150)
	if testing.Short() {
		seeds = 40
	}
	var total overwriteCounts
	for seed := range seeds {
		m := newOverwriteModel(t, seed)
		m.immortal = seed%3 == 0
		m.run(8000)
		if m.immortal {
			m.finish()
		}
		m.checkOverwritten()
		total.add(&m.overwritten)
		if t.Failed() {
			t.Fatalf("seed %d: %+v %+v", seed, m.modelCounts, m.overwritten)
		}
	}
	t.Logf("%+v", total)
	if total.Returned == 0 || total.Overwritten == 0 || total.Torn == 0 || total.Unfinished == 0 || total.Passed == 0 || total.Undone == 0 || total.Again == 0 || total.During == 0 || total.Gaps == 0 {
		t.Errorf("something never happened: %+v", total)
	}
}

// overwriteCounts is what happened.
type overwriteCounts struct {
	Returned, Overwritten, Torn, Unfinished int
	Passed                                  int // sub-buffers that were not complete when the writers came there
	Undone, Again                           int // claims
	During                                  int // snapshots in several steps
	Gaps                                    int // snapshots before which something is missing
}

func (c *overwriteCounts) add(d *overwriteCounts) {
	c.Returned += d.Returned
	c.Overwritten += d.Overwritten
	c.Torn += d.Torn
	c.Unfinished += d.Unfinished
	c.Passed += d.Passed
	c.Undone += d.Undone
	c.Again += d.Again
	c.During += d.During
	c.Gaps += d.Gaps
}

// overwriteModel is what the model of this mode has besides.
type overwriteModel struct {
	on, immortal bool // this mode; threads are not killed
	flat         bool // as the kernel's programs do
	overwritten  overwriteCounts
	where        map[uint64]place // of completed records, by their keys
	begun        [2 * modelCPUs]map[uint64]uint64
	missing      [2 * modelCPUs]uint64 // by ring: before this time records are missing, as snapshots say
}

type place struct {
	ring int
	pos  uint64
}

func newOverwriteModel(t *testing.T, seed uint64) *model {
	g := geometry(t, modelCPUs, PageSize, modelSites)
	g.Restartable, g.Overwrite = true, true
	s := newShared(t, g)
	m := &model{t: t, rnd: rand.New(rand.NewPCG(seed, 7)), s: s, r: NewReader(s), now: 1 << 40, lazy: 1 << (3 + seed%7), want: map[uint64][]uint64{}}
	m.on, m.where = true, map[uint64]place{}
	for n := range m.begun {
		m.begun[n] = map[uint64]uint64{}
	}
	for site := range modelSites {
		m.r.SetSize(uint32(site), m.size(uint32(site)))
	}
	for id := range 3 + m.rnd.IntN(4) {
		m.threads = append(m.threads, &modelThread{m: m, id: uint64(id + 1), restartable: m.rnd.IntN(4) != 0})
	}
	return m
}

// snapshot reads a ring while the others go on.
func (m *model) snapshot(n int, final bool) {
	rr := &m.r.rings[n]
	if !final {
		m.overwritten.During++
		pace := 1 + m.rnd.IntN(100)
		rr.between = func() {
			if m.rnd.IntN(100) == 0 {
				for range m.rnd.IntN(20 * pace) {
					m.step()
				}
			}
		}
	}
	s := m.r.Snapshot(n, final)
	rr.between = nil
	for ok := true; ok; {
		m.out[n], ok = s.Next(m.out[n])
	}
	if before, some := s.Missing(); some {
		m.missing[n] = max(m.missing[n], min(before, m.now))
		m.overwritten.Gaps++
	}
}

func (th *modelThread) entry(n int, pos uint64) *uint64 {
	return th.word(n, SubTable+pos&(PageSize-1)/modelSub*SubEntry)
}

// add is a locked addition to done.
func (th *modelThread) add(n int, pos, bytes uint64) {
	e := th.entry(n, pos)
	*e = *e>>32<<32 | uint64(uint32(*e)+uint32(bytes/8))
}

func (th *modelThread) setBase(n int, pos uint64, base uint32) {
	e := th.entry(n, pos)
	*e = uint64(base)<<32 | *e&(1<<32-1)
}

// fits reports whether the event has room in old's sub-buffer.
func (th *modelThread) fits() bool {
	th.context, th.begins = th.old, false
	th.event = th.context + ContextSize
	return (th.old-1)&(modelSub-1) <= modelSub-1-ContextSize-th.size()
}

func (th *modelThread) beginAt(start uint64) {
	th.context, th.begins = start+PacketHead, true
	th.event = th.context + ContextSize
}

// look adds the steps that look for a complete sub-buffer from start on, and then what follows.
func (th *modelThread) look(n int, start uint64, found func(start uint64)) {
	th.steps = nil
	th.do(func() {
		switch {
		case entry(*th.entry(n, start)).done() == modelSub:
			found(start)
		case start+modelSub-*th.word(n, RingReserved) > PageSize/2:
			th.full(n)
		default:
			th.m.overwritten.Passed++
			th.look(n, start+modelSub, found)
		}
	})
}

// overwriteHeads adds the stores of heads, and of zeros for the fields.
func (th *modelThread) overwriteHeads(n int) {
	if th.begins {
		start, filler := th.context-PacketHead, -th.old&(modelSub-1)
		th.store(n, start+PacketBefore, is(th.old))
		th.store(n, start+PacketPosition, is(start))
		th.store(n, start+PacketBegin, is(th.time))
		th.store(n, start, is(PacketMagic))
		if filler != 0 {
			th.store(n, th.old, is(filler<<32|KindFiller<<WordKind))
		}
	}
	th.store(n, th.context+ContextTime, is(th.time))
	th.store(n, th.context, is(th.size()<<32|KindContext<<WordKind|th.time&WordClock))
	th.store(n, th.event, is(WordPending|th.eventWord()))
	th.store(n, th.context+ContextThread, is(th.id))
}

// account adds what 4o adds to done.
func (th *modelThread) account(n int) {
	if !th.begins {
		th.do(func() { th.add(n, th.context, ContextSize) })
		return
	}
	start, old := th.context-PacketHead, th.old
	th.do(func() { th.add(n, start, PacketHead+ContextSize) })
	if filler := -old & (modelSub - 1); filler != 0 {
		th.do(func() { th.add(n, old, filler) })
	}
}

// slowOver is sequence S.
func (th *modelThread) slowOver() {
	n := th.cpu
	th.steps, th.again = nil, th.lockedOver
	commit := func() {
		end := th.event + th.size()
		th.do(func() { *th.word(n, RingFrom) = end })
		th.overwriteHeads(n)
		th.do(func() {
			*th.word(n, RingLimit) = (end + modelSub - 1) &^ (modelSub - 1)
		}, func() {
			*th.word(n, RingReserved) = end
			th.again, th.steps, th.ring = nil, nil, n
			th.m.noteBegun(th, n)
			th.account(n)
			th.completeOver(n)
		})
	}
	claimed := func(start uint64) {
		th.beginAt(start)
		th.do(func() { th.setBase(n, start, uint32(*th.entry(n, start))) })
		commit()
	}
	th.do(func() { th.time = th.m.now },
		func() { *th.word(n, RingFrom) = ^uint64(0) },
		func() { *th.word(n, RingThread) = th.id },
		func() { *th.word(n, RingEpoch) = th.time >> WordKind },
		func() {
			th.old = *th.word(n, RingReserved)
			claim := *th.word(n, RingClaim)
			switch {
			case th.fits():
				commit()
			case claim >= th.old:
				th.m.overwritten.Again++
				claimed(claim)
			default:
				th.look(n, (th.old+modelSub-1)&^(modelSub-1), func(start uint64) {
					th.do(func() {
						*th.word(n, RingClaim) = start
						claimed(start)
					})
				})
			}
		})
}

// lockedOver is the protocol with lock.
func (th *modelThread) lockedOver() {
	n := th.cpu + modelCPUs
	th.steps, th.again = nil, nil
	exchange := func(undo func()) {
		th.do(func() {
			if *th.word(n, RingReserved) != th.old {
				th.m.Refused++
				th.steps = nil
				undo()
				return
			}
			*th.word(n, RingReserved) = th.event + th.size()
			th.ring = n
			th.m.noteBegun(th, n)
			th.overwriteHeads(n)
			th.account(n)
			th.completeOver(n)
		})
	}
	th.do(func() { th.old = *th.word(n, RingReserved) }, func() {
		if th.fits() {
			th.do(func() { th.time = th.m.now })
			exchange(func() { th.lockedOver() })
			return
		}
		th.look(n, (th.old+modelSub-1)&^(modelSub-1), func(start uint64) {
			e := *th.entry(n, start)
			undo := func() {
				th.m.overwritten.Undone++
				th.do(func() {
					th.setBase(n, start, uint32(*th.entry(n, start)>>32)-modelSub/8)
					th.lockedOver()
				})
			}
			th.do(func() {
				if *th.entry(n, start) != e {
					th.m.Refused++
					th.lockedOver()
					return
				}
				th.setBase(n, start, uint32(e))
			}, func() {
				if th.old = *th.word(n, RingReserved); th.old > start {
					undo()
				}
			}, func() {
				th.time = th.m.now
				th.beginAt(start)
				exchange(undo)
			})
		})
	})
}

// completeOver adds the stores of the fields, 6 and 6o.
func (th *modelThread) completeOver(n int) {
	for i := range th.fields {
		th.store(n, th.event+EventHead+8*uint64(i), is(0))
	}
	for i, f := range th.fields {
		if f != 0 {
			th.store(n, th.event+EventHead+8*uint64(i), is(f))
		}
	}
	th.do(func() {
		*th.at(n, th.event) &^= WordPending
		th.m.want[th.time<<3|th.id] = th.fields
		th.m.where[th.time<<3|th.id] = place{n, th.event}
		th.m.Complete++
	}, func() {
		th.add(n, th.event, th.size())
	})
}

// noteBegun notes which turn a sub-buffer is in.
func (m *model) noteBegun(th *modelThread, n int) {
	if th.begins {
		m.begun[n][th.context&(PageSize-1)/modelSub] = th.context &^ (modelSub - 1)
	}
}

// finish lets all threads finish their hits. Then all sub-buffers are complete, but for the one where a ring's free room is and
// one that a sequence was aborted for.
func (m *model) finish() {
	for _, th := range m.threads {
		for th.preempt(); len(th.steps) > 0; {
			m.now++
			th.run()
		}
	}
	for n := range m.out {
		left := 0
		for i := range uint64(PageSize / modelSub) {
			if entry(*m.s.word(m.s.g.RingOffset(n) + SubTable + i*SubEntry)).done() != modelSub {
				left++
			}
		}
		if left > 2 || n >= modelCPUs && left > 1 {
			m.t.Errorf("ring %d: %d sub-buffers are not complete", n, left)
		}
	}
}

func (m *model) checkOverwritten() {
	for _, th := range m.threads {
		th.preempt()
		m.kill(th)
	}
	for n := range m.out {
		m.snapshot(n, true)
		last := uint64(0)
		for _, rec := range decode(m.t, m.out[n]) {
			if err := m.compare(rec, &last); err != nil {
				m.t.Errorf("ring %d: record %+v: %v", n, rec, err)
			}
			m.overwritten.Returned++
		}
	}
	st := m.r.Stats()
	if st.Corrupt != 0 {
		m.t.Errorf("%+v", st)
	}
	m.overwritten.Torn, m.overwritten.Unfinished = int(st.TornSubs), int(st.Torn)
	for key := range m.want {
		at := m.where[key]
		sub := at.pos & (PageSize - 1) / modelSub
		rr := &m.r.rings[at.ring]
		if at.pos < rr.pos && key>>3 > m.missing[at.ring] {
			m.t.Errorf("ring %d: the record at %#x of %d was not returned, and records are said to be missing before %d only", at.ring, at.pos, key>>3, m.missing[at.ring])
		}
		switch now := m.begun[at.ring][sub]; {
		case now > at.pos, entry(*m.s.word(m.s.g.RingOffset(at.ring) + SubTable + sub*SubEntry)).done() == 0:
			m.overwritten.Overwritten++
		case rr.pos > at.pos && now+modelSub <= rr.pos: // it became complete behind newer ones
			m.overwritten.Overwritten++
		case at.ring >= modelCPUs && entry(*m.s.word(m.s.g.RingOffset(at.ring) + SubTable + sub*SubEntry)).done() != modelSub:
		default:
			m.t.Errorf("ring %d: the record at %#x is in its sub-buffer, and was not returned", at.ring, at.pos)
		}
	}
}
