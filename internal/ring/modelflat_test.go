package ring

import "testing"

// TestModelFlat is TestModelOverwrite for the kernel's programs: they are interrupted and migrated, and do not die. At the end, when all
// have completed what they began, each record has been returned once, or was overwritten since, and no hit is counted twice.
func TestModelFlat(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 50
	}
	var counts modelCounts
	var total overwriteCounts
	for seed := range seeds {
		m := newOverwriteModel(t, seed)
		m.immortal, m.flat = true, true
		for n := modelCPUs; n < len(m.out); n++ {
			m.r.rings[n].near, m.r.rings[n].timeLast = true, true
		}
		for _, th := range m.threads {
			th.restartable = false
		}
		m.run(8000)
		m.finish()
		for n := modelCPUs; n < len(m.out); n++ {
			if !m.r.Settled(n) {
				t.Errorf("ring %d is not settled", n)
			}
		}
		m.checkOverwritten()
		counts.add(&m.modelCounts)
		total.add(&m.overwritten)
		if st := m.r.Stats(); m.overwritten.Returned != int(st.Records) || st.Torn != 0 {
			t.Errorf("%d records returned, %+v", m.overwritten.Returned, st)
		}
		if got := m.overwritten.Returned + m.overwritten.Overwritten; got != m.Complete {
			t.Errorf("%d returned or overwritten, %d complete", got, m.Complete)
		}
		if t.Failed() {
			t.Fatalf("seed %d: %+v %+v", seed, m.modelCounts, m.overwritten)
		}
	}
	t.Logf("%+v %+v", counts, total)
	if total.Returned == 0 || total.Overwritten == 0 || total.Torn == 0 || total.Passed == 0 || total.Undone == 0 || total.During == 0 ||
		counts.Near == 0 || counts.Nested == 0 || counts.Refused == 0 || counts.Kept == 0 || counts.Lost == 0 {
		t.Errorf("something never happened: %+v %+v", counts, total)
	}
}

// kernelOver is the protocol of the kernel's programs. Each load, store and exchange is a step.
func (th *modelThread) kernelOver() {
	n := th.cpu + modelCPUs
	th.steps, th.again = nil, nil
	th.do(func() { th.packed = *th.word(n, RingReserved); th.old = Position(th.packed) }, func() {
		if !th.fits() {
			th.claimFlat(n, (th.old+modelSub-1)&^(modelSub-1))
			return
		}
		th.nearFlat(n)
		th.do(func() { th.exchangeFlat(n, th.kernelOver) })
	})
}

// nearFlat is 2n, and the time.
func (th *modelThread) nearFlat(n int) {
	near := th.packed >> NearShift
	th.near = 0
	time := func() { th.time = th.m.now }
	if near == 0 || near+th.size()/NearUnit > MaxNear {
		th.do(time)
		return
	}
	context, ours, epoch := th.old-near*NearUnit, true, uint64(0)
	th.do(func() {
		if ours = entry(*th.entry(n, th.old)).done() == th.old&(modelSub-1); !ours {
			th.m.Kept++
		}
	}, func() { epoch = *th.at(n, context+ContextTime) >> WordKind },
		func() { ours = ours && *th.at(n, context+ContextThread) == th.id },
		time, func() {
			if ours && epoch == th.time>>WordKind {
				th.near = near
			}
		})
}

// claimFlat is 1f to 3f for an event that begins a sub-buffer.
func (th *modelThread) claimFlat(n int, start uint64) {
	e := uint64(0)
	th.steps = nil
	undo := func() {
		th.m.overwritten.Undone++
		th.do(func() {
			th.setBase(n, start, uint32(*th.entry(n, start)>>32)-modelSub/8)
			th.kernelOver()
		})
	}
	th.do(func() {
		switch e = *th.entry(n, start); {
		case entry(e).done() == modelSub:
		case start+modelSub-th.old > PageSize/2:
			th.full(n)
		default:
			th.m.overwritten.Passed++
			th.claimFlat(n, start+modelSub)
		}
	}, func() {
		if *th.entry(n, start) != e {
			th.m.Refused++
			th.kernelOver()
			return
		}
		*th.entry(n, start) = e<<32 | e&(1<<32-1)
	}, func() {
		th.packed = *th.word(n, RingReserved)
		if th.old = Position(th.packed); th.old > start {
			th.steps = nil
			undo()
			return
		}
	}, func() {
		th.time, th.near = th.m.now, 0
		th.beginAt(start)
		th.do(func() { th.exchangeFlat(n, undo) })
	})
}

// exchangeFlat is the exchange of 3f, and adds the rest.
func (th *modelThread) exchangeFlat(n int, undo func()) {
	if *th.word(n, RingReserved) != th.packed {
		th.m.Refused++
		th.steps = nil
		undo()
		return
	}
	distance, owed := (ContextSize+th.size())/NearUnit, ContextSize+th.size()
	th.ring = n
	switch {
	case th.near > 0:
		th.m.Near++
		th.context, th.event, distance, owed = th.old, th.old, th.near+th.size()/NearUnit, th.size()
	case th.begins:
		owed += PacketHead
	}
	*th.word(n, RingReserved) = (th.event + th.size()) | distance<<NearShift
	th.m.noteBegun(th, n)
	if th.near == 0 {
		th.headsFlat(n)
	}
	th.store(n, th.event, is(WordPending|th.eventWord()))
	th.completeFlat(n, owed)
}

func (th *modelThread) headsFlat(n int) {
	if th.begins {
		start, old, filler := th.context-PacketHead, th.old, -th.old&(modelSub-1)
		th.store(n, start+PacketPosition, is(start))
		th.store(n, start+PacketBefore, is(old))
		th.store(n, start+PacketBegin, is(th.time))
		if filler != 0 {
			th.store(n, old, is(filler<<32|KindFiller<<WordKind))
			th.do(func() { th.add(n, old, filler) })
		}
		th.store(n, start, is(PacketMagic))
	}
	th.store(n, th.context, is(th.size()<<32|KindContext<<WordKind|th.time&WordClock))
	th.store(n, th.context+ContextThread, is(th.id))
	th.store(n, th.context+ContextTime, is(th.time))
}

// completeFlat adds the stores of the fields, and 6f.
func (th *modelThread) completeFlat(n int, owed uint64) {
	for i, f := range th.fields {
		th.store(n, th.event+EventHead+8*uint64(i), is(f))
	}
	th.do(func() { *th.at(n, th.event) &^= WordPending }, func() {
		th.add(n, th.event, owed)
		key := th.time<<3 | th.id
		if th.m.want[key] != nil {
			th.m.t.Error("BUG: a thread has two records of one time")
		}
		th.m.want[key] = th.fields
		th.m.where[key] = place{n, th.event}
		th.m.Complete++
	})
}
