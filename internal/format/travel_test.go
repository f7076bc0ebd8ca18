package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/test/testkit"
)

// Schemas are data: what is written to a file and read again prints the same bytes.

// travel encodes a file and decodes it.
func travel(t testing.TB, f *event.File) *event.File {
	t.Helper()
	var b bytes.Buffer
	if err := f.Encode(&b); err != nil {
		t.Fatal(err)
	}
	got, err := event.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// both is an event as text and as JSON, in every style.
func both(t testing.TB, ev *event.Event, names *event.Remember) string {
	t.Helper()
	var b bytes.Buffer
	for _, cpp := range []bool{false, true} {
		p := Printer{CPlusPlus: cpp, NullStop: cpp, ASCII: cpp, Symbol: names.Symbol}
		x := NewText(&b, TextOptions{Printer: p, Time: MonotoneTime, Kernel: names})
		if err := errors.Join(x.Event(ev), x.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	j := NewJSON(&b, JSONOptions{Symbol: names.Symbol, Kernel: names})
	if err := errors.Join(j.Event(ev), j.Flush()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sameAfterTravel compares an event's text with what its schema's copy prints, and what
// a copy of that copy prints.
func sameAfterTravel(t testing.TB, ev *event.Event, names *event.Remember) {
	t.Helper()
	want := both(t, ev, names)
	f := &event.File{Schemas: []*event.Schema{ev.Schema}, Names: names.Names}
	for range 2 {
		f = travel(t, f)
		far := *ev
		far.Schema = f.Schemas[0]
		if !slices.Equal(far.Schema.Elapsed, ev.Schema.Elapsed) {
			t.Fatalf("%s: %v became %v", ev.Schema.Place, ev.Schema.Elapsed, far.Schema.Elapsed)
		}
		if got := both(t, &far, &event.Remember{From: f.Names.Symbol, Kernel: &f.Names}); got != want {
			t.Fatalf("%s:\n got %.2000s\nwant %.2000s", ev.Schema.Place, got, want)
		}
	}
}

type someKernel struct{}

func (someKernel) KernelSymbol(addr uint64) (event.KernelSymbol, bool) {
	return event.KernelSymbol{Name: "vfs_\xffread", Offset: addr & 0xff, Size: 0x100, Module: "ext4"}, addr>>63 != 0
}
func (someKernel) KernelString(addr uint64) (string, bool) { return "text \xfe", addr == 0x1234 }

func TestSchemasTravel(t *testing.T) {
	for _, list := range [][]*event.Event{events(), kernelEvents()} {
		for _, ev := range list {
			sameAfterTravel(t, ev, &event.Remember{From: symbol, Kernel: someKernel{}})
		}
	}
	done := 0
	first := uint64(testkit.Seed(t, 0))
	for seed := first; seed < first+2000; seed++ {
		m := &typeMaker{Rand: rand.New(rand.NewPCG(seed, 11))}
		l := newLayout("random \xff\xfe \u2028")
		for i := range 3 {
			raw := m.bytes(200)
			typ, data := wildType(raw)
			f := l.add(event.Field{Name: "x\x80", Type: typ, Group: "$args", Show: event.Show{Letter: "\x00xduotcafsz"[seed%11], Count: i}}, data)
			f.Kind = event.FieldKind(i % 2)
		}
		ev := l.event()
		if err := (&event.File{Schemas: []*event.Schema{ev.Schema}}).Encode(io.Discard); err != nil {
			continue // a kind of type that there is not
		}
		sameAfterTravel(t, ev, &event.Remember{From: symbol})
		done++
	}
	if done < 200 {
		t.Errorf("only %d random schemas", done)
	}
}

// TestVariablesTravel: every global variable of the programs that GDB is the oracle for.
func TestVariablesTravel(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"gcc", "clang"} {
		prog := loadProgram(t, build(t, compiler))
		for _, v := range prog.vars {
			l := newLayout(v.name)
			data := prog.memory(v.addr, int(v.typ.Strip().Size))
			for _, letter := range "\x00xs" {
				l.add(event.Field{Name: v.name, Type: v.typ, Show: event.Show{Letter: byte(letter)}}, data)
			}
			sameAfterTravel(t, l.event(), &event.Remember{From: prog.name})
		}
	}
}

// TestTypesTravel: variants, bit-fields, Fortran's arrays, base classes, cycles by
// pointers, and that what a pointer points to comes without its members.
func TestTypesTravel(t *testing.T) {
	node := &ctype.Type{Kind: ctype.Struct, Name: "node", Size: 16}
	far := &ctype.Type{Kind: ctype.Struct, Name: "far", Size: 8}
	far.SetFields([]ctype.Field{{Name: "f", Type: ctype.LongT}})
	node.SetFields([]ctype.Field{
		{Name: "next", Type: ctype.PointerTo(&ctype.Type{Kind: ctype.Const, Elem: node})}, {Name: "far", Type: ctype.PointerTo(far), BitOffset: 64},
	})
	some := &ctype.Type{Kind: ctype.Struct, Name: "Some", Size: 8}
	some.SetFields([]ctype.Field{{Name: "__0", Type: ctype.IntT, BitOffset: 32}})
	none := &ctype.Type{Kind: ctype.Struct, Name: "None", Size: 8}
	option := &ctype.Type{Kind: ctype.Struct, Name: "Option<i32>", Size: 8}
	option.SetVariants(&ctype.Variants{
		Discr: &ctype.Field{Name: "discr", Type: ctype.IntT},
		List: []ctype.Variant{
			{Field: ctype.Field{Name: "None", Type: none}, Values: []ctype.Span{{Lo: 0, Hi: 0}}},
			{Field: ctype.Field{Name: "Some", Type: some}, Default: true},
		},
	})
	bits := &ctype.Type{Kind: ctype.Struct, Name: "bits", Size: 8}
	color := &ctype.Type{Kind: ctype.Enum, Name: "color", Size: 4}
	color.SetEnumerators([]ctype.Enumerator{{Name: "RED", Value: 1}, {Name: "BLUE", Value: 2}})
	bits.SetFields([]ctype.Field{
		{Name: "a", Type: ctype.IntT, BitOffset: 3, BitSize: 5}, {Name: "", Type: ctype.IntT, BitOffset: 8, BitSize: 2}, {Name: "c", Type: color, BitOffset: 32},
	})
	derived := &ctype.Type{Kind: ctype.Struct, Name: "derived", Size: 8}
	derived.SetFields([]ctype.Field{{Name: "bits", Type: bits, Base: true}, {Name: "v", Type: bits, Base: true, Virtual: true, VtableOffset: -24}})
	fortran := ctype.ArrayOf(ctype.ArrayOf(ctype.IntT, 2), 1)
	fortran.Fortran, fortran.Lower = true, -3
	fn := &ctype.Type{Kind: ctype.Func, Elem: ctype.VoidT, Params: []*ctype.Type{ctype.PointerTo(node), ctype.IntT}, Variadic: true}
	u := &ctype.Type{Kind: ctype.Union, Size: 8}
	u.SetFields([]ctype.Field{{Name: "n", Type: ctype.LongT}, {Name: "p", Type: ctype.PointerTo(fn)}})
	lazy := &ctype.Type{Kind: ctype.Struct, Name: "lazy", Size: 4}
	lazy.Lazy(func(t *ctype.Type) { t.SetFields([]ctype.Field{{Name: "loaded", Type: ctype.IntT}}) })

	l := newLayout("types")
	for _, typ := range []*ctype.Type{node, option, bits, derived, fortran, ctype.PointerTo(fn), u, lazy, ctype.PointerTo(ctype.CharT), {Kind: ctype.Reference, Size: 8, Elem: derived}} {
		for _, first := range []uint64{0, 1, 0x4000_0002_0000_00ab} {
			l.fixed("v", typ, append(le(first, 8), le(2, 8)...)[:max(8, typ.Size)])
		}
	}
	ev := l.event()
	sameAfterTravel(t, ev, &event.Remember{From: symbol})
	got := travel(t, &event.File{Schemas: []*event.Schema{ev.Schema}}).Schemas[0].Fields[0].Type.Fields()
	if to := got[1].Type.Elem; !to.Incomplete || to.Name != "far" || to.Size != 8 || len(to.Fields()) != 0 {
		t.Errorf("behind a pointer: %+v", to)
	}
}

// TestVirtualBasesTravel: virtual bases, of bases too, shared ones, one that could not be read, and one whose object
// does not point to a table.
func TestVirtualBasesTravel(t *testing.T) {
	top := &ctype.Type{Kind: ctype.Struct, Name: "Top", Size: 4}
	top.SetFields([]ctype.Field{{Name: "t", Type: ctype.IntT}})
	mid := &ctype.Type{Kind: ctype.Struct, Name: "Mid", Size: 16}
	mid.SetFields([]ctype.Field{{Type: top, Base: true, Virtual: true, VtableOffset: -24}, {Name: "m", Type: ctype.IntT, BitOffset: 64}})
	low := &ctype.Type{Kind: ctype.Struct, Name: "Low", Size: 32}
	low.SetFields([]ctype.Field{
		{Type: mid, Base: true, Virtual: true, VtableOffset: -32},
		{Type: top, Base: true, Virtual: true, VtableOffset: -24},
		{Name: "l", Type: ctype.IntT, BitOffset: 64},
	})
	words := func(list ...uint64) (b []byte) {
		for _, w := range list {
			b = append(b, le(w, 8)...)
		}
		return b
	}
	l := newLayout("bases")
	with := func(first uint64, status event.Status) {
		inner := event.VirtualBase{In: mid, Offset: l.slot(words(0x2020, 8, 7)[:20]), Size: 20, StatusOffset: l.status(status)}
		outer := event.VirtualBase{In: low, Offset: l.slot(words(first, 16, 0x2020, 5)), Size: 32, StatusOffset: -1, Bases: []event.VirtualBase{inner}}
		f := l.fixed("x", low, words(first, 6))
		f.Bases = []event.VirtualBase{outer, {In: low, Index: 1, Again: true, StatusOffset: -1}}
	}
	with(0x1020, event.OK)
	with(0x1020, event.Unreadable)
	with(0x3020, event.OK) // nothing has a name there
	with(0x1018, event.OK) // the distance would be before the table
	names := func(addr uint64) string {
		if addr>>12 == 1 || addr>>12 == 2 {
			return fmt.Sprintf("vtable for %c+%d", "?ML"[addr>>12], addr&0xfff)
		}
		return "data+1"
	}
	ev := l.event()
	sameAfterTravel(t, ev, &event.Remember{From: names})
	p := &Printer{Symbol: names}
	for i, want := range []string{
		"{<Mid> = {<Top> = {t = 7}, m = 5}, l = 6}", "{<Mid> = {<Top> = <unreadable address 0x2020>, m = 5}, l = 6}",
		"{<Mid> = <unavailable>, l = 6}", "{<Mid> = <unavailable>, l = 6}",
	} {
		v := ev.Value(i)
		if got := string(p.AppendField(nil, ev, &v)); got != want {
			t.Errorf("value %d: %s, not %s", i, got, want)
		}
	}
}

// FuzzSchemaFile: for every file, Decode and printing of its result do not panic, and an accepted file is
// unchanged after encoding and decoding it again.
func FuzzSchemaFile(f *testing.F) {
	for _, list := range [][]*event.Event{events(), kernelEvents()} {
		file := &event.File{Names: event.Names{Symbols: map[uint64]string{1: "\xff"}}}
		for _, ev := range list {
			file.Schemas = append(file.Schemas, ev.Schema)
		}
		var b bytes.Buffer
		if err := file.Encode(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes(), list[0].Raw)
	}
	f.Add([]byte(`{"format":"jalon schemas","version":1,"types":[{"kind":"struct","size":8,"members":[{"type":1}]},{"kind":"typedef","elem":2},`+
		`{"kind":"array","elem":1,"count":9223372036854775807},{"kind":"struct","variants":{"list":[{}]}}],`+
		`"schemas":[{"site":0,"size":64,"fields":[{"kind":"fixed","type":1,"offset":24,"size":8},{"kind":"fixed","type":2,"offset":24,"size":8},`+
		`{"kind":"counted","type":3,"offset":24,"size":24},{"kind":"fixed","type":4,"offset":24,"size":8}]}]}`), make([]byte, 64))
	f.Fuzz(func(t *testing.T, b, raw []byte) {
		file, err := event.Decode(bytes.NewReader(b))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := file.Encode(&again); err != nil {
			t.Fatal(err)
		}
		if _, err := event.Decode(&again); err != nil {
			t.Fatal(err)
		}
		if len(raw) < ring.RecHeader {
			return
		}
		for _, s := range file.Schemas[:min(len(file.Schemas), 8)] {
			ev := &event.Event{Schema: s, Raw: raw}
			var text, line bytes.Buffer
			tx, j := NewText(&text, TextOptions{Kernel: &file.Names}), NewJSON(&line, JSONOptions{Kernel: &file.Names})
			if err := errors.Join(tx.Event(ev), tx.Flush(), j.Event(ev), j.Flush()); err != nil {
				t.Fatal(err)
			}
			if !json.Valid(line.Bytes()) {
				t.Fatalf("not JSON: %s", line.Bytes())
			}
		}
	})
}
