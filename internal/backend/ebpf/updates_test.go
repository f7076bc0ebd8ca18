package ebpf

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/maps"
)

// updates is a program with n updates of maps of irgen, each of another key: with one word, with long keys, with cells.
func updates(n int) string {
	var b strings.Builder
	b.WriteString(`map 0 words 1 slots 8 "one"
map 1 words 5 slots 8 limit 64 shared "five"
map 2 words 1 slots 8 more 3 deletes shared "long"
map 3 words 6 slots 8 limit 64 cells "cells"
b0:
  v0 = const 1
`)
	v := 1
	next := func() int { v++; return v - 1 }
	for k := range n {
		key, table := next(), k%4
		fmt.Fprintf(&b, "  v%d = const %d\n", key, 100+k/4%8)
		if table == 2 {
			for w := 2; w < 5; w++ {
				fmt.Fprintf(&b, "  keyword %d, v%d\n", w, key)
			}
		}
		slot := next()
		fmt.Fprintf(&b, "  v%d = mapslot %d, v%d, v0\n  mapadd %d, v%d, 0, v0\n  mapshow %d, v%d\n", slot, table, key, table, slot, table, slot)
	}
	return b.String() + "  exit"
}

// TestManyUpdates: a program with 200 updates of maps is accepted, and does them all.
func TestManyUpdates(t *testing.T) {
	m := newMachine(t)
	for _, old := range []bool{false, true} {
		cfg := m.config()
		if cfg.Maps = testTables(); old {
			cfg.Features = Features{FSBase: -1, TaskComm: -1}
		}
		p, err := ir.Parse(updates(200))
		must(t, err)
		must(t, ir.Check(p))
		insns, err := Compile(p, cfg)
		must(t, err)
		prog, err := m.tryLoad(ebpf.Syscall, insns)
		must(t, err)
		m.setMaps(make(eval.Maps, len(cfg.Maps)), false)
		m.run(prog, make([]byte, 24))
		must(t, prog.Close())
		got, noRoom := m.tables()
		sums := []uint64{0, 0, 0, 0}
		for n := range sums {
			for _, s := range got[n] {
				sums[n] += s.Words[0]
			}
			if len(got[n]) != 8 || sums[n] != 50 || noRoom != 0 {
				t.Errorf("map %d has %d keys with %d updates, %d without room", n, len(got[n]), sums[n], noRoom)
			}
		}
		t.Logf("%d instructions", len(insns))
	}
}

// TestRetiredSlot: a program that inserts a key whose slot is retired takes this slot again; one that looks for it finds nothing.
func TestRetiredSlot(t *testing.T) {
	m := newMachine(t)
	cfg := m.config()
	cfg.Maps = testTables()
	const table = irgen.LongKeyMap
	tab := cfg.Maps[table].Shape
	key := []uint64{100, 1, 100, 100, 100}
	for _, c := range []struct {
		code  string
		state uint64
	}{
		{"v2 = mapslot 2, v1, v0\n  mapset 2, v2, 0, v0\n  mapshow 2, v2", maps.Shown},
		{"v2 = mapslot 2, v1, v0\n  maphide 2, v2", maps.Hidden},
		{"v2 = mapfind 2, v1, v0\n  mapset 2, v2, 0, v0\n  mapshow 2, v2\n  maphide 2, v2", maps.Retired},
	} {
		prog := m.program(irgen.OnLongKey(c.code), cfg)
		clear(m.mapsMem[table])
		tab.Fill(m.mapsMem[table], false, func(add func(key []uint64, shown bool, value []uint64)) {
			add([]uint64{7, 7, 7, 7, 7}, true, []uint64{7})
			add(key, false, []uint64{9})
		})
		r := maps.NewReader(tab, m.mapsMem[table])
		if n := r.RetireDeleted(); n != 1 {
			t.Fatalf("%d slots are retired", n)
		}
		m.run(prog, make([]byte, 24))
		must(t, prog.Close())
		state, slots := uint64(maps.Retired), 0
		for e := range r.Entries() {
			if e.Key[0] == key[0] {
				state, slots = maps.Hidden, slots+1
				if e.Shown {
					state = maps.Shown
				}
			}
		}
		if state != c.state || slots > 1 {
			t.Errorf("%s: state %d in %d slots, want %d", c.code, state, slots, c.state)
		}
	}
}

// TestAlone: a program that takes a slot that was gone leaves it, and counts its update, where another slot of the window has the key's hash: step 14 of the protocol
// of package maps. The other one is of another key here, so that the search passes it.
func TestAlone(t *testing.T) {
	m := newMachine(t)
	cfg := m.config()
	cfg.Maps = testTables()
	const table = irgen.LongKeyMap
	tab := cfg.Maps[table].Shape
	hash := maps.Hash(100, 1, 100, 100, 100) &^ maps.StateMask
	prog := m.program(irgen.OnLongKey("v2 = mapslot 2, v1, v0\n  mapset 2, v2, 0, v0\n  mapshow 2, v2"), cfg)
	for other := range maps.Window + 1 { // Window: none
		mem := m.mapsMem[table]
		clear(mem)
		tag := func(i int) []byte { return mem[maps.HeaderSize+(tab.Index(hash)+uint64(i))*tab.Stride()+maps.Tag:] }
		for i := range maps.Window {
			binary.LittleEndian.PutUint64(tag(i), maps.Gone)
		}
		if other < maps.Window {
			binary.LittleEndian.PutUint64(tag(other), hash|maps.Shown)
		}
		m.run(prog, make([]byte, 24))
		taken, lost := 0, maps.NewReader(tab, mem).NoRoom()
		for i := range maps.Window {
			if i != other && binary.LittleEndian.Uint64(tag(i)) != maps.Gone {
				taken++
			}
		}
		if alone := other == maps.Window; alone != (taken == 1) || alone != (lost == 0) {
			t.Errorf("another slot at %d of the window: %d slots are taken, %d updates lost", other, taken, lost)
		}
	}
	must(t, prog.Close())
}
