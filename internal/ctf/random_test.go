package ctf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/test/testkit"
)

// randomType makes a type with sizes and offsets as a compiler gives them.
func randomType(rnd *rand.Rand, depth int) *ctype.Type {
	leaves := []*ctype.Type{
		ctype.BoolT, ctype.CharT, ctype.UCharT, ctype.ShortT, ctype.UShortT, ctype.IntT, ctype.UIntT, ctype.LongT, ctype.ULLongT, ctype.FloatT, ctype.DoubleT,
		ctype.PointerTo(ctype.IntT),
		{Kind: ctype.Float, Name: "long double", Size: 16},
		{Kind: ctype.Int, Name: "__int128", Size: 16, Signed: true},
		{Kind: ctype.Complex, Name: "complex double", Size: 16, Elem: ctype.DoubleT},
	}
	switch n := rnd.IntN(10); {
	case depth == 0 || n < 5:
		return leaves[rnd.IntN(len(leaves))]
	case n == 5:
		e := &ctype.Type{Kind: ctype.Enum, Name: "e", Size: 4, Signed: rnd.IntN(2) == 0}
		e.SetEnumerators([]ctype.Enumerator{{Name: "A", Value: 0}, {Name: "int", Value: 7}, {Name: "X::Y", Value: 1 << 30}, {Name: "N", Value: -1}}[:1+rnd.IntN(4)])
		return e
	case n == 6:
		return ctype.ArrayOf(randomType(rnd, depth-1), int64(1+rnd.IntN(4)))
	}
	kind := ctype.Struct
	if rnd.IntN(4) == 0 {
		kind = ctype.Union
	}
	s := &ctype.Type{Kind: kind, Name: "s"}
	var fields []ctype.Field
	pos, largest := int64(0), int64(1)
	for i := range 1 + rnd.IntN(5) {
		f := ctype.Field{Name: fmt.Sprintf("m%d", i), Type: randomType(rnd, depth-1)}
		size := f.Type.Strip().Size
		align := min(max(size&-size, 1), 8)
		largest = max(largest, align)
		switch bits := int64(1 + rnd.IntN(31)); {
		case kind == ctype.Union:
			largest = max(largest, size)
			pos = max(pos, 8*size)
		case rnd.IntN(4) == 0:
			f.Type, f.BitSize = ctype.UIntT, bits
			if pos%32+bits > 32 {
				pos = (pos + 31) &^ 31
			}
			f.BitOffset, pos, largest = pos, pos+bits, max(largest, 4)
		default:
			pos = (pos + 8*align - 1) / (8 * align) * (8 * align)
			f.BitOffset, pos = pos, pos+8*size
		}
		fields = append(fields, f)
	}
	s.SetFields(fields)
	largest = min(largest, 8)
	s.Size = ((pos+7)/8 + largest - 1) / largest * largest
	return s
}

// randomSchema makes a schema with fields of all kinds.
func randomSchema(rnd *rand.Rand, id uint32, kernel bool) *event.Schema {
	s := &event.Schema{SiteID: id, Place: fmt.Sprintf("file \"%d\".c:%d", id, rnd.IntN(100)), Kernel: kernel, Flat: rnd.IntN(3) == 0}
	at := ring.RecHeader
	room := func(n int) int {
		off := at
		at += (max(n, 8) + 7) &^ 7
		return off
	}
	status := func() int {
		if rnd.IntN(2) == 0 {
			return -1
		}
		return room(1)
	}
	for range rnd.IntN(6) {
		f := event.Field{Name: []string{"i", "p->x", "int", "a + b", "$x", "", "ünlich"}[rnd.IntN(7)], StatusOffset: -1, StrStatusOffset: -1}
		switch rnd.IntN(8) {
		default:
			f.Type = randomType(rnd, 3)
			f.Size = int(f.Type.Strip().Size)
			f.Offset, f.StatusOffset = room(f.Size), status()
		case 0:
			f.Type, f.Kind, f.Size = ctype.PointerTo(ctype.CharT), event.Counted, 8+40
			f.Offset, f.StatusOffset = room(f.Size), status()
		case 1:
			f.Type, f.Kind = ctype.ArrayOf(randomType(rnd, 1), -1), event.Counted
			f.Size = 8 + 4*int(f.Type.Elem.Strip().Size)
			f.Offset, f.StatusOffset = room(f.Size), status()
		case 2:
			f.Static, f.Reason = event.OptimisedOut, "why"
		case 3:
			f.Kind, f.Size = event.UserFrames, 8+16
			f.Offset = room(f.Size)
		}
		s.Fields = append(s.Fields, f)
	}
	s.RecordSize = at
	return s
}

// randomRecord fills a record as a hit program does.
func randomRecord(rnd *rand.Rand, s *event.Schema) []byte {
	rec := make([]byte, s.RecordSize)
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Static != event.OK {
			continue
		}
		state := event.OK
		if f.StatusOffset >= 0 {
			state = []event.Status{event.OK, event.OK, event.Unreadable, event.DivideByZero}[rnd.IntN(4)]
			rec[f.StatusOffset] = byte(state)
		}
		slot := rec[f.Offset : f.Offset+f.Size]
		switch {
		case state == event.Unreadable:
			binary.LittleEndian.PutUint64(rec[f.Offset:], 0xdead0000+rnd.Uint64N(100))
		case state != event.OK:
		case f.Kind == event.Fixed:
			fill(rnd, f.Type, slot, 0)
		case f.Kind == event.Counted && f.Type.Kind == ctype.Pointer:
			n := rnd.IntN(len(slot) - 8)
			text := "abcé"
			if !s.Flat && rnd.IntN(2) == 0 {
				text = "ab\x00é"
			}
			fillCounted(slot, []byte(strings.Repeat(text, 20))[:n], uint32(rnd.IntN(2)))
		case f.Kind == event.Counted:
			elem := int(f.Type.Elem.Strip().Size)
			n := rnd.IntN((len(slot)-8)/elem + 1)
			list := make([]byte, n*elem)
			for k := range n {
				fill(rnd, f.Type.Elem, list[k*elem:(k+1)*elem], 0)
			}
			fillCounted(slot, list, uint32(rnd.IntN(2)))
		}
	}
	return rec
}

// fill stores a value. What is between members stays zero, since it is not compared.
func fill(rnd *rand.Rand, t *ctype.Type, b []byte, depth int) {
	s := t.Strip()
	switch s.Kind {
	case ctype.Bool:
		b[0] = byte(rnd.IntN(2))
	case ctype.Array:
		n := int(s.Elem.Strip().Size)
		for k := range int(s.Count) {
			fill(rnd, s.Elem, b[k*n:(k+1)*n], depth+1)
		}
	case ctype.Union:
		f := s.Fields()[0]
		fill(rnd, f.Type, b[:f.Type.Strip().Size], depth+1)
	case ctype.Struct:
		for _, f := range s.Fields() {
			if f.BitSize > 0 {
				for bit := f.BitOffset; bit < f.BitOffset+f.BitSize; bit++ {
					b[bit/8] |= byte(rnd.IntN(2)) << (bit & 7)
				}
				continue
			}
			at := f.BitOffset / 8
			fill(rnd, f.Type, b[at:at+f.Type.Strip().Size], depth+1)
		}
	default:
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		if s.Kind == ctype.Float { // no NaN, which tools print in their own ways
			copy(b, make([]byte, len(b)))
		}
	}
}

// made is a trace of a test.
type made struct {
	dir    string
	events []madeEvent
	sites  Schemas
	info   *Info // for the metadata
}

type madeEvent struct {
	class    Class
	schema   *event.Schema
	time     int64
	cpu      int
	pid, tid int
	rec      []byte
}

// makeTrace writes a trace with random schemas and records.
func makeTrace(t testing.TB, seed uint64, events int) *made {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 7))
	m := &made{dir: t.TempDir(), sites: Schemas{}}
	uuid := [16]byte{1, 2, 3}
	large := rnd.IntN(2) == 0
	info := FileInfo{UUID: uuid, WallOffset: 1_700_000_000_123_456_789}
	if large {
		info.Large = []string{"process", "kernel"}
	}
	sites := map[*event.Schema]*Site{}
	for class := range State {
		for i := range 1 + rnd.IntN(40) {
			s := randomSchema(rnd, uint32(i), class == Kernel)
			x, err := NewSite(s)
			if err != nil {
				t.Fatal(err)
			}
			m.sites[class] = append(m.sites[class], s)
			sites[s] = x
		}
	}
	type out struct {
		*Stream
		b []byte
	}
	var streams []*out
	for i := range 4 {
		streams = append(streams, &out{Stream: NewStream(uuid, Class(i%2), uint64(i), i, 100, large)})
	}
	now := int64(1 << 40)
	for range events {
		now += 1 + rnd.Int64N(1000)
		if rnd.IntN(50) == 0 {
			now += rnd.Int64N(1 << 34)
		}
		o := streams[rnd.IntN(len(streams))]
		list := m.sites[o.class]
		s := list[rnd.IntN(len(list))]
		e := madeEvent{o.class, s, now, o.cpu, 100, 1 + rnd.IntN(3), randomRecord(rnd, s)}
		if o.class == Kernel {
			e.pid = 1 + rnd.IntN(1000)
		}
		o.Event(sites[s], e.time, e.pid, e.tid, e.rec, nil)
		m.events = append(m.events, e)
		if rnd.IntN(100) == 0 {
			o.b = append(o.b, o.Take(0, nil)...)
		}
	}
	state := NewStream(uuid, State, 0, 0, 0, false)
	state.Thread(1, Thread{Since: 1 << 40, Pid: 100, Tid: 1, Name: "one"})
	state.Thread(2, Thread{Since: 1<<40 + 1000, Pid: 100, Tid: 1, Name: "uno"})
	state.Stack(1<<39, 1, []debuginfo.Frame{{PC: 1, Function: "f", Line: 3, File: "f.c"}, {PC: 2, Cut: "why"}})
	state.Begin(1 << 39)
	state.Process(1<<39, StateProcess{Pid: 1, Name: "init"})
	state.Mapping(1<<39, Mapping{Pid: 1, Start: 4096, End: 8192, Path: "/bin/x", BuildID: "00ff"})
	state.File(1<<39, OpenFile{1, 2, "/dev/null"})
	state.CPU(1<<39, CPU{0, 0, -1, 0})
	state.Task(1<<39, 1, 1, "init")
	state.Interrupt(1<<39, Interrupt{9, "IO-APIC", "acpi"})
	state.Span(1<<39, Span{1 << 38, 1 << 39})
	state.End(1<<39, 0)
	m.write(t, "state", state.Take(0, nil))
	for i, o := range streams {
		if !o.Empty() {
			o.b = append(o.b, o.Take(0, nil)...)
		}
		m.write(t, fmt.Sprintf("%v-%d", o.class, i), o.b)
	}
	head := &Info{UUID: uuid, WallOffset: info.WallOffset, Large: [classes]bool{large, large}, Env: []Env{{"hostname", "a \"b\""}, {"vpid", int64(3)}}}
	m.info = head
	text, err := Metadata(head, m.sites)
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, MetadataFile, text)
	schemas, err := EncodeSchemas(m.sites)
	if err != nil {
		t.Fatal(err)
	}
	own, err := EncodeInfo(info)
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, OwnDirectory+"/"+SchemasFile, schemas)
	m.write(t, OwnDirectory+"/"+InfoFile, own)
	return m
}

func (m *made) write(t testing.TB, name string, b []byte) {
	t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRandomTraces: events of random schemas come back from disk with all values, states and times; babeltrace2 reads the trace
// without a warning, with the same events in the same order.
func TestRandomTraces(t *testing.T) {
	testkit.Need(t, "babeltrace2")
	first := uint64(testkit.Seed(t, 1))
	for seed := first; seed < first+8; seed++ {
		m := makeTrace(t, seed, 400)
		checkRead(t, seed, m, Query{})
		mid := m.events[len(m.events)/3].time
		checkRead(t, seed, m, Query{From: mid, To: m.events[len(m.events)/2].time})
		var out, errs bytes.Buffer
		cmd := exec.Command("babeltrace2", "--clock-cycles", "--no-delta", m.dir)
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil || errs.Len() > 0 {
			t.Fatalf("seed %d: babeltrace2: %v\n%s", seed, err, errs.String())
		}
		i := 0
		for line := range strings.Lines(out.String()) {
			if stamp, rest, _ := strings.Cut(strings.TrimPrefix(line, "["), "] "); strings.Contains(rest, `file "`) {
				e := &m.events[i]
				if want := fmt.Sprintf("%020d", e.time); stamp != want || !strings.Contains(rest, fmt.Sprintf("tid = %d", e.tid)) {
					t.Fatalf("seed %d: event %d is at %s, want %s: %s", seed, i, stamp, want, rest)
				}
				i++
			}
		}
		if i != len(m.events) {
			t.Fatalf("seed %d: babeltrace2 has %d events of %d", seed, i, len(m.events))
		}
	}
}

// checkRead compares what the reader returns.
func checkRead(t *testing.T, seed uint64, m *made, q Query) {
	t.Helper()
	tr, err := Open(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if len(tr.Damage) > 0 || !tr.State.Dumped || tr.State.Frames(1)[0].Function != "f" || len(tr.State.Processes) != 1 || tr.State.Mappings[0].BuildID != "00ff" ||
		len(tr.State.Interrupts) != 1 || tr.State.Interrupts[0] != (Interrupt{9, "IO-APIC", "acpi"}) || len(tr.State.Spans) != 1 || tr.State.Spans[0].Since != 1<<38 {
		t.Fatalf("seed %d: damage %q, states %+v", seed, tr.Damage, tr.State)
	}
	it, read := tr.Events(q), 0
	for i := range m.events {
		want := &m.events[i]
		if want.time < q.From || q.To > 0 && want.time > q.To {
			continue
		}
		ev, err := it.Next()
		if err != nil {
			t.Fatalf("seed %d: event %d: %v", seed, i, err)
		}
		read++
		if ev.TimeNS != want.time || ev.CPU != want.cpu || ev.Tid != want.tid || ev.Pid != want.pid || ev.Schema.Place != want.schema.Place {
			t.Fatalf("seed %d: event %d is %+v, want %+v", seed, i, ev, want)
		}
		if name := ev.Comm; want.tid == 1 && name != map[bool]string{true: "one", false: "uno"}[want.time < 1<<40+1000] {
			t.Fatalf("seed %d: event %d at %d is of %q", seed, i, want.time-1<<40, name)
		}
		was := event.Event{Schema: want.schema, Raw: want.rec}
		for k := range want.schema.Fields {
			a, b := ev.Value(k), was.Value(k)
			if a.Status != b.Status || a.Addr != b.Addr || a.Truncated != b.Truncated || want.schema.Fields[k].Kind != event.UserFrames && !bytes.Equal(a.Data, b.Data) {
				t.Fatalf("seed %d: event %d, field %d (%v): %v %#x %t %x, want %v %#x %t %x", seed, i, k, want.schema.Fields[k].Type, a.Status, a.Addr, a.Truncated, a.Data, b.Status, b.Addr, b.Truncated, b.Data)
			}
		}
	}
	if _, err := it.Next(); !errors.Is(err, io.EOF) || read == 0 || len(it.Damage()) > 0 {
		t.Fatalf("seed %d: after %d events: %v, damage %q", seed, read, err, it.Damage())
	}
}

// FuzzStream: a file of packets, and the schemas, can have anything: nothing panics, and the reader ends.
func FuzzStream(f *testing.F) {
	m := makeTrace(f, 1, 60)
	packets, err := os.ReadFile(filepath.Join(m.dir, "process-0"))
	if err != nil {
		f.Fatal(err)
	}
	schemas, err := os.ReadFile(filepath.Join(m.dir, OwnDirectory, SchemasFile))
	if err != nil {
		f.Fatal(err)
	}
	state, err := os.ReadFile(filepath.Join(m.dir, "state"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(packets, schemas, state)
	f.Add(packets[:len(packets)/2], schemas, state[:len(state)/2])
	f.Fuzz(func(t *testing.T, packets, schemas, state []byte) {
		m.write(t, "process-0", packets)
		m.write(t, OwnDirectory+"/"+SchemasFile, schemas)
		m.write(t, "state", state)
		tr, err := Open(m.dir)
		if err != nil {
			return
		}
		defer tr.Close()
		it := tr.Events(Query{})
		for {
			ev, err := it.Next()
			if err != nil {
				return
			}
			for i := range ev.Schema.Fields {
				v := ev.Value(i)
				tr.Unwind(ev, &v)
			}
		}
	})
}

// FuzzInfo: what a trace says of itself can be anything. What is read can be joined with others, and is the same then.
func FuzzInfo(f *testing.F) {
	m := makeTrace(f, 1, 40)
	info, err := os.ReadFile(filepath.Join(m.dir, OwnDirectory, InfoFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(info, []byte(`{"outcome":"exited","events":40,"lost":1,"sites":[{"place":"a","recorded":5}]}`))
	f.Add(bytes.Replace(info, []byte(`"version"`), []byte(`"large":["process"],"joined":[{"host":"a","ids":-1,"cpus":1e9}],"version"`), 1), []byte(`{`))
	f.Fuzz(func(t *testing.T, info, summary []byte) {
		m.write(t, OwnDirectory+"/"+InfoFile, info)
		m.write(t, OwnDirectory+"/"+SummaryFile, summary)
		tr, err := Open(m.dir)
		if err != nil {
			return
		}
		defer tr.Close()
		out := filepath.Join(t.TempDir(), "joined")
		n, err := Join(out, []Part{{Trace: tr, Time: func(t int64) int64 { return t }}}, tr.Info, nil)
		if err != nil {
			return
		}
		again, err := Open(out)
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		it := again.Events(Query{})
		for err == nil {
			_, err = it.Next()
		}
		if !errors.Is(err, io.EOF) || it.Read() != n || len(it.Damage())+len(again.Damage) > 0 {
			t.Fatalf("%d events of %d: %v, damage %q %q", it.Read(), n, err, it.Damage(), again.Damage)
		}
	})
}
