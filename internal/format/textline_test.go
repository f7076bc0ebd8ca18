package format

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// TestTextLines compares lines that are made of known parts with those that are made anew: integers of all sizes at any offsets, other
// values between them, names with control characters, events in any order.
func TestTextLines(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	names := []string{"i", "p->x", "a\tb", "\x1b[2J", "ü", "$tid", ""}
	comms := []string{"sh", "a name", "x\ny", "\x1b]0;", ""}
	types := []*ctype.Type{ctype.IntT, ctype.UIntT, ctype.LongT, ctype.ULongT, ctype.CharT, ctype.DoubleT, ctype.PointerTo(ctype.IntT), ctype.BoolT}
	for _, size := range []int64{1, 2, 3, 4, 8} {
		types = append(types, &ctype.Type{Kind: ctype.Int, Name: "t", Size: size, Signed: size != 2})
	}
	var schemas []*event.Schema
	for range 400 {
		s := &event.Schema{Place: names[rng.IntN(len(names))], Kernel: rng.IntN(3) == 0}
		at := ring.RecHeader
		for range rng.IntN(5) {
			ty := types[rng.IntN(len(types))]
			f := event.Field{Name: names[rng.IntN(len(names))], Type: ty, Offset: at, Size: int(ty.Size), StatusOffset: -1}
			at += f.Size
			switch rng.IntN(8) {
			case 0:
				f.StatusOffset = at
				at++
			case 1:
				f.Show.Letter = 'x'
			case 2:
				f = event.Field{Name: "$tid", Kind: event.Header, StatusOffset: -1}
			}
			s.Fields = append(s.Fields, f)
		}
		s.RecordSize = at
		schemas = append(schemas, s)
	}
	known, anew := &bytes.Buffer{}, &bytes.Buffer{}
	a, b := NewText(known, TextOptions{}), NewText(anew, TextOptions{})
	b.lines.known = map[*event.Schema]*textLine{}
	quick := 0
	for _, s := range schemas {
		b.lines.known[s] = &textLine{}
		if l := newTextLine(s); l.whole && l.plain && len(l.fields) > 0 {
			quick++
		}
	}
	if quick < 5 {
		t.Fatalf("only %d of the schemas need no escapes", quick)
	}
	for i := range 5000 {
		s := schemas[rng.IntN(len(schemas))]
		raw := make([]byte, s.RecordSize)
		for n := range raw {
			raw[n] = byte(rng.Uint32()) >> (rng.IntN(2) * 8)
		}
		for n := range s.Fields {
			if at := s.Fields[n].StatusOffset; at >= 0 {
				raw[at] = byte(rng.IntN(2))
			}
		}
		tid := rng.IntN(40)
		ev := &event.Event{TimeNS: int64(i) * 1e8, CPU: tid % 3, Pid: rng.IntN(2) * 7, Tid: tid, Comm: comms[rng.IntN(len(comms))], Schema: s, Raw: raw, Overwritten: rng.IntN(9) == 0, Untimed: rng.IntN(9) == 0}
		if rng.IntN(9) == 0 {
			ev.Raw = raw[:rng.IntN(len(raw)+1)]
		}
		for _, x := range []*Text{a, b} {
			if err := x.Event(ev); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := a.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	x, y := bytes.Split(known.Bytes(), []byte("\n")), bytes.Split(anew.Bytes(), []byte("\n"))
	if len(x) != 5001 || len(y) != 5001 {
		t.Fatalf("%d and %d lines", len(x), len(y))
	}
	for i := range x {
		if !bytes.Equal(x[i], y[i]) {
			t.Fatalf("line %d:\n%q\n%q", i, x[i], y[i])
		}
	}
}
