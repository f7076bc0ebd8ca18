package format

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

var update = flag.Bool("update", false, "write the golden files")

// layout builds a record and its schema side by side.
type layout struct {
	s   event.Schema
	raw []byte
}

func init() { time.Local = time.UTC } // the expected times of day

func newLayout(place string) *layout {
	return &layout{s: event.Schema{Elapsed: []event.Elapsed{{Offset: 24, Status: -1, Rate: 0.3846153846153846}}, Place: place, Function: "handle", File: "main.c", Line: 9, PC: 0x401139}, raw: make([]byte, ring.RecHeader)}
}

func (l *layout) slot(data []byte) int {
	for len(l.raw)%8 != 0 {
		l.raw = append(l.raw, 0)
	}
	off := len(l.raw)
	l.raw = append(l.raw, data...)
	return off
}

func (l *layout) status(s event.Status) int { return l.slot([]byte{byte(s)}) }

func (l *layout) add(f event.Field, data []byte) *event.Field {
	f.StatusOffset = -1
	f.Offset, f.Size = l.slot(data), len(data)
	l.s.Fields = append(l.s.Fields, f)
	return &l.s.Fields[len(l.s.Fields)-1]
}

func (l *layout) fixed(name string, t *ctype.Type, data []byte) *event.Field {
	return l.add(event.Field{Name: name, Type: t}, data)
}

func (l *layout) fail(name string, t *ctype.Type, s event.Status, addr uint64) *event.Field {
	f := l.fixed(name, t, le(addr, 8))
	f.StatusOffset = l.status(s)
	return f
}

func (l *layout) event() *event.Event {
	l.s.RecordSize = len(l.raw)
	return &event.Event{TimeNS: 1234567890123, CPU: 1, Pid: 4242, Tid: 4243, Comm: "prog", Schema: &l.s, Raw: l.raw}
}

func le(v uint64, n int) []byte {
	return binary.LittleEndian.AppendUint64(nil, v)[:n]
}

func countedSlot(text string, flags uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	b = binary.LittleEndian.AppendUint32(b, flags)
	return append(b, text...)
}

func regsSlot() []byte {
	var b []byte
	for i := range 18 {
		b = binary.LittleEndian.AppendUint64(b, uint64(i)*0x1111)
	}
	binary.LittleEndian.PutUint64(b[0:], ^uint64(0))
	binary.LittleEndian.PutUint64(b[16*8:], 0x401139)
	binary.LittleEndian.PutUint64(b[17*8:], 0x246)
	return b
}

func pointType() *ctype.Type {
	t := &ctype.Type{Kind: ctype.Struct, Name: "point", Size: 8}
	t.SetFields([]ctype.Field{{Name: "x", Type: ctype.IntT}, {Name: "y", Type: ctype.IntT, BitOffset: 32}})
	return t
}

// events makes an event of every kind of field, and the one of the issue.
func events() []*event.Event {
	charp := ctype.PointerTo(&ctype.Type{Kind: ctype.Const, Size: 1, Elem: ctype.CharT})
	issue := newLayout("main.c:9")
	issue.fixed("2*i+9*j", ctype.IntT, le(31, 4))
	issue.fail("p->x", ctype.IntT, event.Unreadable, 0x10)

	all := newLayout("handle")
	all.fixed("req->len", ctype.ULongT, le(1<<63+1, 8))
	all.fixed("len/x", ctype.IntT, le(255, 4)).Show.Letter = 'x'
	all.fixed("c", ctype.CharT, le('a', 1))
	all.fixed("*pt", pointType(), le(0xffffffff00000001, 8))
	all.fixed("part", pointType(), le(0xffffffff00000001, 8)).Gaps = []event.Gap{{From: 32, To: 64}}
	path := all.fixed("path", charp, le(0x402010, 8))
	path.StrOffset, path.StrSize, path.StrStatusOffset = all.slot(countedSlot("/index\n\xff", 0)), 16, -1
	cut := all.fixed("long", charp, le(0x402010, 8))
	cut.StrOffset, cut.StrSize, cut.StrStatusOffset = all.slot(countedSlot("/inde", 1)), 13, -1
	wild := all.fixed("wild", charp, le(0x18, 8))
	wild.StrOffset, wild.StrSize = all.slot(le(0x18, 8)), 8
	wild.StrStatusOffset = all.status(event.Unreadable)
	null := all.fixed("null", charp, le(0, 8))
	null.StrOffset, null.StrSize = all.slot(le(0, 8)), 8
	null.StrStatusOffset = all.status(event.Unreadable)
	all.add(event.Field{Name: "path/s", Type: charp, Kind: event.Counted, Show: event.Show{Letter: 's'}}, countedSlot("/index", 0))
	all.add(event.Field{Name: "v[0]@n", Type: ctype.ArrayOf(ctype.ShortT, 4), Kind: event.Counted}, countedSlot("\x01\x00\xff\xff\x03\x00", 0))
	all.add(event.Field{Name: "v[0]@m", Type: ctype.ArrayOf(ctype.ShortT, 4), Kind: event.Counted}, countedSlot("\x01\x00\xff\xff", 1))
	all.add(event.Field{Name: "none", Type: ctype.ArrayOf(ctype.ShortT, 4), Kind: event.Counted}, countedSlot("", 0))
	all.add(event.Field{Name: "buf@8", Type: ctype.ArrayOf(ctype.CharT, 8), Kind: event.Counted}, countedSlot("ab\x00\x00\x00\x00\x00\x00", 0))
	all.fixed("req->len", ctype.ULongT, le(1<<63+1, 8)) // twice
	all.fail("a/b", ctype.IntT, event.DivideByZero, 0)
	all.fail("v[0]@k", ctype.IntT, event.BadBounds, 0)
	all.s.Fields = append(all.s.Fields,
		event.Field{Name: "gone", Static: event.OptimisedOut, Reason: "optimised out", StatusOffset: -1},
		event.Field{Name: "odd", Static: event.Unsupported, Reason: "no thread-local storage here", StatusOffset: -1})
	for _, name := range []string{"$tid", "$pid", "$cpu", "$time", "$comm"} {
		all.s.Fields = append(all.s.Fields, event.Field{Name: name, Kind: event.Header, StatusOffset: -1})
	}
	all.fixed("i", ctype.IntT, le(1, 4)).Group = "$args"
	all.fail("bad", ctype.IntT, event.Unreadable, 0xdead).Group = "$args"
	all.fixed("i", ctype.IntT, le(2, 4)).Group = "$locals"

	blocks := newLayout("main.c:12")
	blocks.fixed("x", ctype.DoubleT, le(0x3ff8000000000000, 8))
	blocks.add(event.Field{Name: "$regs", Kind: event.Regs}, regsSlot())
	blocks.add(event.Field{Name: "$bt", Kind: event.Stack}, append(regsSlot(), countedSlot("stack", 0)...))

	empty := newLayout("a place with a name that is longer than any column should be")
	ev := empty.event()
	ev.Comm, ev.Tid, ev.TimeNS = "evil\x1b[31m\u009b", 0, -5
	return []*event.Event{issue.event(), all.event(), blocks.event(), ev}
}

func summary() *event.Summary {
	a := &event.Schema{Place: "main.c:9", Function: "main", PC: 0x401139}
	b := &event.Schema{Place: "handle", Function: "handle", PC: 0x401000}
	c := &event.Schema{Place: "handle", Function: "caller", PC: 0x402000}
	return &event.Summary{
		Sites: []event.SiteSummary{
			{Schema: a, Tactic: "jump", Recorded: 31, False: 999000, Faults: 2, Lost: 10},
			{Schema: b, Recorded: 1},
			{Schema: c},
		},
		Torn: 1, Late: 2, Pause: 1234567, Pauses: 2, LongestPause: 700 * time.Microsecond,
		Duration: 12340 * time.Millisecond, Outcome: "exited with status 0",
	}
}

func unwind(*event.Event, *event.Value) []Frame {
	return []Frame{
		{PC: 0x401139, Function: "inner", Offset: 9, File: "main.c", Line: 12, Inlined: true},
		{PC: 0x401139, Function: "main", Offset: 19, File: "main.c", Line: 30},
		{PC: 0x7f0000001234, Function: "__libc_start_call_main", Offset: 128, Module: "/lib/libc.so.6"},
		{PC: 0x10},
	}
}

func symbol(addr uint64) string {
	if addr == 0x401139 {
		return "handle+9"
	}
	return ""
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := "testdata/" + file
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
	}
}

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		file string
		sink func(*bytes.Buffer) Sink
	}{
		{"text.golden", func(w *bytes.Buffer) Sink {
			return NewText(w, TextOptions{Printer: Printer{Symbol: symbol}, Zone: time.UTC, WallOffset: 1700000000e9})
		}},
		{"text-start.golden", func(w *bytes.Buffer) Sink {
			return NewText(w, TextOptions{Unwind: unwind, Time: SinceStart})
		}},
		{"text-mono.golden", func(w *bytes.Buffer) Sink {
			return NewText(w, TextOptions{Time: MonotoneTime})
		}},
		{"events.jsonl", func(w *bytes.Buffer) Sink { return NewJSON(w, JSONOptions{Symbol: symbol}) }},
		{"events-bt.jsonl", func(w *bytes.Buffer) Sink { return NewJSON(w, JSONOptions{Unwind: unwind}) }},
	} {
		var out bytes.Buffer
		s := c.sink(&out)
		for range 2 {
			for _, ev := range events() {
				if err := s.Event(ev); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(c.file, ".golden") {
			out.WriteString(SummaryText(summary()))
		}
		golden(t, c.file, out.Bytes())
		if strings.HasSuffix(c.file, ".jsonl") {
			for line := range bytes.Lines(out.Bytes()) {
				if !json.Valid(line) {
					t.Errorf("%s: not JSON: %s", c.file, line)
				}
			}
		}
	}
}

// TestIssueLine holds the line of the issue, letter for letter.
func TestIssueLine(t *testing.T) {
	var out bytes.Buffer
	j := NewJSON(&out, JSONOptions{})
	ev := events()[0]
	ev.Schema.Function, ev.TimeNS = "main", 77
	if err := errors.Join(j.Event(ev), j.Flush()); err != nil {
		t.Fatal(err)
	}
	want := `{"time":77,"cpu":1,"pid":4242,"tid":4243,"comm":"prog","place":"main.c:9","function":"main","values":{"2*i+9*j":31},"errors":{"p->x":"unreadable address 0x10"}}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
}

type brokenPipe struct{ n int }

func (w *brokenPipe) Write(p []byte) (int, error) {
	w.n++
	return 0, errors.New("broken pipe")
}

func TestWriteErrors(t *testing.T) {
	for _, sink := range []func(w *brokenPipe) Sink{
		func(w *brokenPipe) Sink { return NewText(w, TextOptions{}) },
		func(w *brokenPipe) Sink { return NewJSON(w, JSONOptions{}) },
	} {
		w := &brokenPipe{}
		s := sink(w)
		if err := s.Flush(); err != nil || w.n != 0 {
			t.Errorf("an empty Flush: %v", err)
		}
		var err error
		for i := 0; err == nil && i < 10000; i++ {
			err = s.Event(events()[0])
		}
		if err == nil || !strings.Contains(err.Error(), "broken pipe") {
			t.Errorf("error %v", err)
		}
		if err := s.Event(events()[0]); err != nil {
			t.Errorf("an event into the empty buffer: %v", err)
		}
		if err := s.Flush(); err == nil {
			t.Error("Flush hides the error")
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 ns", 999: "999 ns", 1500: "1.50 µs", 45678: "45.7 µs", 123456: "123 µs", 1234567: "1.23 ms", 61 * time.Second: "61.0 s", 3 * time.Hour: "10800 s"} {
		if got := duration(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
}

func BenchmarkEvent(b *testing.B) {
	l := newLayout("main.c:9")
	l.fixed("counter1", ctype.IntT, le(123456, 4))
	l.fixed("counter2", ctype.IntT, le(7, 4))
	simple := l.event()
	l = newLayout("main.c:9")
	l.fixed("*pt", pointType(), le(7, 8))
	l.fixed("pts", ctype.ArrayOf(pointType(), 8), regsSlot()[:64])
	nested := l.event()
	for _, c := range []struct {
		name string
		s    Sink
		ev   *event.Event
	}{
		{"text", NewText(discard{}, TextOptions{}), simple},
		{"json", NewJSON(discard{}, JSONOptions{}), simple},
		{"text-structs", NewText(discard{}, TextOptions{}), nested},
		{"json-structs", NewJSON(discard{}, JSONOptions{}), nested},
	} {
		ev := c.ev
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ev.TimeNS += 1000
				if err := c.s.Event(ev); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
