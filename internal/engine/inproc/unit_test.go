package inproc

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/ring"
)

func TestTables(t *testing.T) {
	var r tableRef
	if r.get().inCode(0) {
		t.Error("empty tables have code")
	}
	r.add(&tables{trap: map[uint64]uint64{0x10: 0x100}, fault: map[uint64]uint64{1: 2}, code: []span{{0x300, 0x400}}})
	before := r.get()
	r.add(&tables{trap: map[uint64]uint64{0x20: 0x200}, code: []span{{0x100, 0x200}}})
	now := r.get()
	if len(before.trap) != 1 || len(before.code) != 1 {
		t.Error("published tables were changed")
	}
	if now.trap[0x10] != 0x100 || now.trap[0x20] != 0x200 || now.fault[1] != 2 {
		t.Errorf("union: %+v", now)
	}
	for pc, want := range map[uint64]bool{0xff: false, 0x100: true, 0x1ff: true, 0x200: false, 0x2ff: false, 0x300: true, 0x400: false, ^uint64(0): false} {
		if now.inCode(pc) != want {
			t.Errorf("inCode(%#x) = %v", pc, !want)
		}
	}
	r.forget(0x10)
	if _, ok := r.get().trap[0x10]; ok || r.get().trap[0x20] != 0x200 || now.trap[0x10] == 0 {
		t.Error("forget must remove one int3, and not change published tables")
	}
	if r.clear(); r.get().inCode(0x100) {
		t.Error("clear")
	}
}

// TestMentioned: the instructions inside jumps to which words of a stack lead.
func TestMentioned(t *testing.T) {
	list := []innerPC{{orig: 0x1000}, {orig: 0x3000}, {orig: 0x5000}}
	var mem []byte
	for _, w := range []uint64{0, 0x1000, 0x1001, 0x5000, 0x2000, ^uint64(0), 0x3000} {
		mem = binary.LittleEndian.AppendUint64(mem, w)
	}
	var got []uint64
	for _, x := range mentioned(list, append(mem, 0, 0x10)) {
		got = append(got, x.orig)
	}
	if !slices.Equal(got, []uint64{0x1000, 0x5000, 0x3000}) {
		t.Errorf("%#x", got)
	}
}

func TestJoin(t *testing.T) {
	p := &placed{plan: &patch.Plan{Addr: 0x10, Len: 6, Insts: []patch.Inst{{Addr: 0x10, Len: 2}, {Addr: 0x12, Len: 4}}}}
	for addr, ok := range map[uint64]bool{0x10: true, 0x11: false, 0x12: true, 0x13: false} {
		if err := p.join(&site{Program: &engine.Program{}, addr: addr}); (err == nil) != ok {
			t.Errorf("%#x: %v", addr, err)
		}
	}
	if len(p.sites) != 2 || p.end() != 0x16 {
		t.Errorf("%d sites, end %#x", len(p.sites), p.end())
	}
}

// Sites for which the buffers have no number are left out. Sites that have a number, or reuse that of a
// removed site, are not.
func TestRoomFor(t *testing.T) {
	m := &module{Module: &image.Module{}}
	at := func(addr uint64) *site {
		w := &Site{mod: m, site: probe.Site{Addr: addr}}
		return &site{Program: &engine.Program{Key: 1, Site: w, Schema: &event.Schema{}}, where: w, addr: addr}
	}
	old, gone := at(1), at(2)
	old.numbered, gone.numbered = true, true
	b := &buffers{}
	e := newSites(report{&Options{}})
	e.list, e.retired = []*site{old, gone}, []*site{gone}
	fresh := []*site{old, at(3), at(4), at(2)}
	if got := e.roomFor(fresh, b); len(got) != len(fresh) {
		t.Errorf("%d of %d before there are buffers", len(got), len(fresh))
	}
	b.mem, b.g = &ring.Shared{}, ring.Geometry{Sites: 3}
	got := e.roomFor(fresh, b)
	if !slices.Equal(got, []*site{fresh[0], fresh[1], fresh[3]}) || len(e.refused) != 1 || e.refused[fresh[2]] == nil {
		t.Errorf("%d sites, left out: %+v", len(got), e.refused)
	}
}
