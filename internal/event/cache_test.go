package event

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestClockSegments: conversion through cached segments returns the same times.
func TestClockSegments(t *testing.T) {
	seed := uint64(testkit.Seed(t, 5))
	rnd := rand.New(rand.NewPCG(seed, seed))
	f := &fakeTime{tsc: 1 << 40, ns: 1e15, rate: 0.4}
	c := f.clock(t)
	first := c.nodes[0].tsc
	var s segment
	kept := 0
	for range 20000 {
		switch rnd.IntN(4) {
		case 0:
			f.rate = 0.4 * (1 + (rnd.Float64()-0.5)*1e-3)
			f.pass(rnd.Uint64N(4e6))
		case 1:
			if err := c.Refresh(); err != nil {
				t.Fatal(err)
			}
		}
		tsc := f.tsc - rnd.Uint64N(min(f.tsc-first, 1e7))
		if rnd.IntN(100) == 0 {
			tsc = []uint64{0, f.tsc + 100, ^uint64(0)}[rnd.IntN(3)]
		}
		if s.from <= tsc && tsc < s.to {
			kept++
		}
		if got, want := c.mono(&s, tsc), c.Mono(tsc); got != want {
			t.Fatalf("seed %d: %d is %d, want %d", seed, tsc, got, want)
		}
	}
	if kept == 0 {
		t.Error("no segment was used twice")
	}
}

// TestLookups: cached results equal those of Lookup, regardless of reports in between.
func TestLookups(t *testing.T) {
	seed := uint64(testkit.Seed(t, 6))
	rnd := rand.New(rand.NewPCG(seed, seed))
	th := NewThreads()
	var c lookups
	now := uint64(1000)
	for range 20000 {
		now += rnd.Uint64N(10)
		tid, tp := 1+rnd.IntN(12), uint64(1+rnd.IntN(6))*0x800000
		at := now - rnd.Uint64N(200)
		switch rnd.IntN(40) {
		case 0:
			th.Born(tid, tp, fmt.Sprint("name ", rnd.IntN(3)), at)
		case 1:
			th.Renamed(tid, fmt.Sprint("name ", rnd.IntN(3)), at)
		case 2:
			th.Died(tid, at)
		case 3:
			th.Forget(now - min(now, 500))
		}
		for range 4 {
			tp, at := uint64(1+rnd.IntN(6))*0x800000, now+20-rnd.Uint64N(400)
			got, ok := th.lookup(&c, tp, at)
			if want, known := th.Lookup(tp, at); got != want || ok != known {
				t.Fatalf("seed %d: %#x at %d is %v, %v; want %v, %v", seed, tp, at, got, ok, want, known)
			}
		}
	}
}

// TestMergerCompact: waiting records keep their bytes while others are added and emitted, and need at most
// a few times their size in memory.
func TestMergerCompact(t *testing.T) {
	seed := uint64(testkit.Seed(t, 7))
	rnd := rand.New(rand.NewPCG(seed, seed))
	for _, stuck := range []bool{false, true} {
		m := NewMerger(1)
		if stuck { // a damaged stamp, which waits for ever
			m.Add(0, rawRecord(nil, 0, 1<<60, 9, 3))
		}
		tsc, next := uint64(0), uint64(1)
		for range 3000 {
			var data []byte
			for range rnd.IntN(40) {
				tsc++
				data = rawRecord(data, 0, tsc, tsc, rnd.IntN(5))
			}
			m.Add(0, data)
			m.Looked(0, ring.Empty, tsc-min(tsc, rnd.Uint64N(100)))
			if err := m.Emit(func(r Record) error {
				if got := binary.LittleEndian.Uint64(r.Data[16:]); got != next || r.TSC != next {
					t.Fatalf("seed %d: record %d, stamp %d, want %d", seed, got, r.TSC, next)
				}
				next++
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if n := len(m.chunks.list); n > 3 || len(m.pages) > 2 {
				t.Fatalf("seed %d: %d chunks and %d free pages for %d bytes that wait", seed, n, len(m.pages), m.Waiting())
			}
		}
	}
}
