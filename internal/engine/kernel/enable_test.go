package kernel

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/ring"
)

// TestEnable: which switches are stored, and what is detached at once or later: a program alone, two that share their code, and
// a pair, whose first one decides for both.
func TestEnable(t *testing.T) {
	e := newHost(&base{}).NewEngine(EngineOptions{})
	flat, err := ring.NewFlat(1, ring.PageSize, ring.RecHeader, 8, false, ring.MaxFlat)
	if err != nil {
		t.Fatal(err)
	}
	if e.loader.mem.shared, err = flat.Wrap(make([]byte, flat.Size())); err != nil {
		t.Fatal(err)
	}
	var list []*program
	for i := range uint32(5) {
		x := &engine.Program{}
		p := &program{Program: x, id: i, at: Instruction(1), on: true}
		list, e.known[x] = append(list, p), p
	}
	for _, l := range [][]*program{list[:1], list[1:3], list[3:4], list[4:]} {
		load := &load{programs: l, shared: len(l) > 1}
		for _, p := range l {
			p.load = load
		}
		e.loads = append(e.loads, load)
	}
	list[4].first, list[3].gives = list[3], true
	for i, c := range []struct {
		program  int
		on       bool
		off      string // switches
		attached string
	}{
		{0, false, "x....", "xxxxx"},
		{0, true, ".....", "xxxxx"},
		{0, false, "x....", "xxxxx"},
		{1, false, "x....", "x.xxx"}, // its code goes on for program 2
		{2, false, "xx...", "x.xxx"},
		{4, false, "xx.x.", "x.xxx"},
		{4, true, "xx...", "x.xxx"},
		{4, false, "xx.x.", "x.xxx"},
	} {
		if err := e.Enable([]*engine.Program{list[c.program].Program}, c.on); err != nil {
			t.Fatal(err)
		}
		off, attached := "", ""
		for _, p := range list {
			off += mark(e.Rings().Off(p.id))
			attached += mark(p.on)
		}
		if off != c.off || attached != c.attached {
			t.Errorf("change %d: switches %s, attached %s; want %s, %s", i, off, attached, c.off, c.attached)
		}
		if e.Armed(list[c.program].Program) != c.on {
			t.Errorf("change %d: armed: %v", i, !c.on)
		}
	}
	if err := e.detachOff(); err != nil {
		t.Fatal(err)
	}
	for i, p := range list {
		if p.on {
			t.Errorf("program %d is still attached", i)
		}
	}
	e.programs = list
	if err := e.turn(list, true); err != nil {
		t.Fatal(err)
	}
	if err := e.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, l := range e.loads[:3] { // the second of a pair has no switch
		if id := l.programs[0].id; !e.Rings().Off(id) {
			t.Errorf("program %d counts hits while the others are detached", id)
		}
	}
	if !e.switches.ended {
		t.Error("programs are detached behind the end")
	}
}

func mark(b bool) string {
	if b {
		return "x"
	}
	return "."
}
