package amd64

import (
	"encoding/binary"
	"math/rand"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestAlone: a hit that takes a slot that was gone leaves it, and counts its update, where another slot of the window has the key's hash (step 14 of the protocol
// of package maps). The other one is of another key here, so that the search passes it, as it passes what another hit claims behind it.
func TestAlone(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	state := irgen.RandomState(r, irgen.Options{Maps: true})
	e := startExecutor(t, state.Base, state.Mem[:])
	const table = irgen.LongKeyMap
	tab := execMaps(0)[table]
	hash := maps.Hash(100, 1, 100, 100, 100) &^ maps.StateMask
	p := parse(t, irgen.OnLongKey("v2 = mapslot 2, v1, v0\n  mapset 2, v2, 0, v0\n  mapshow 2, v2"))
	for other := range maps.Window + 1 { // Window: none
		e.reset()
		e.setMaps(state.Maps, false)
		mem := e.shm[offMaps+tab.Addr:][:tab.Bytes()]
		clear(mem)
		tagAt := func(i int) uint64 { return maps.HeaderSize + (tab.Index(hash)+uint64(i))*tab.Stride() + maps.Tag }
		for i := range maps.Window {
			binary.LittleEndian.PutUint64(mem[tagAt(i):], maps.Gone)
		}
		if other < maps.Window {
			binary.LittleEndian.PutUint64(mem[tagAt(other):], hash|maps.Shown)
		}
		var trials []*trial
		for range 4 {
			tr := &trial{p: p, cfg: randomConfig(r, e.nextAddr())}
			var err error
			if tr.code, err = compile(p, tr.cfg, randomTuning(r)); err != nil {
				t.Fatal(err)
			}
			more, ok := tr.inStates(e, r, state)
			if !ok {
				t.Fatal("the code does not fit into one batch")
			}
			trials = append(trials, more...)
		}
		if err := e.run(); err != nil {
			t.Fatal(err)
		}
		taken, lost := 0, 0
		for n := range trials {
			after := e.output(n).Maps[tab.Addr:][:tab.Bytes()]
			if binary.LittleEndian.Uint64(after[maps.Full:]) != 0 {
				lost++
			}
			for i := range maps.Window {
				if i != other && binary.LittleEndian.Uint64(after[tagAt(i):]) != maps.Gone {
					taken++
				}
			}
		}
		// Switches are off in some states.
		if alone := other == maps.Window; alone != (taken > 0) || alone != (lost == 0) {
			t.Errorf("another slot at %d of the window: %d of %d hits have taken a slot, the updates of %d are counted", other, taken, len(trials), lost)
		}
	}
}
