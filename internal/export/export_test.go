package export

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/report"
	"github.com/jalon-trace/jalon/test/madetrace"
)

const hostile = "</script><img src=x onerror=alert(1)>\x1b[2J\"\\\n\xff"

// makeReader has 50 events of begin (i, text) and 50 of end (with a stack), of two threads.
func makeReader(t testing.TB) *report.Reader {
	m := madetrace.New(t)
	begin := m.Site("a.c:9", "begin", madetrace.Field{Name: "i", Type: ctype.IntT}, madetrace.Field{Name: "text", Type: ctype.PointerTo(ctype.CharT), Pointed: 60},
		madetrace.Field{Name: "u", Type: ctype.ULLongT, Fails: true}, madetrace.Field{Name: "d", Type: ctype.DoubleT})
	end := m.Site("end", "end", madetrace.Field{Name: "$bt", Stack: true})
	m.Thread(10, 11, "one;\n\x01")
	stack := m.Stack("end", "f;g\n", "main")
	for i := range 50 {
		at := int64(7_000_000_000 + 1_000_001*i)
		var u any = -1
		if i%2 == 1 {
			u = madetrace.Unavailable{Addr: 0x20}
		}
		m.Event(begin, at, 0, 10, 11+i%2, 0, madetrace.Record(begin, -i, madetrace.Text{Addr: 1, Text: hostile}, u, []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}))
		m.Event(end, at+10, 1, 10, 11, stack, madetrace.Record(end))
	}
	r, err := report.NewReader(m.Open(), report.Query{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func export(t testing.TB, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Named(name).Write(&b, makeReader(t), &Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestChrome: the JSON is valid, with all events, their exact times and their values, whatever bytes the program has in its texts.
func TestChrome(t *testing.T) {
	var got struct {
		TraceEvents []struct {
			Ph, Name string
			Pid, Tid int
			TS       json.Number
			Args     map[string]any
		}
	}
	if err := json.Unmarshal(export(t, "chrome"), &got); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range got.TraceEvents {
		if e.Ph != "i" || e.Name == "end" {
			continue
		}
		ns := 7_000_000_000 + 1_000_001*n
		if e.Name != "a.c:9 in begin" || e.Tid != 11+n%2 || e.TS.String() != fmt.Sprintf("%d.%03d", ns/1000, ns%1000) || e.Args["i"] != float64(-n) || e.Args["d"] != "NaN" ||
			e.Args["text"] != strings.ReplaceAll(hostile, "\xff", "�") {
			t.Fatalf("event %d: %+v", n, e)
		}
		if u := e.Args["u"]; n%2 == 1 && u != "<unreadable address 0x20>" || n%2 == 0 && u != float64(1<<64-1) {
			t.Fatalf("event %d: u is %v", n, u)
		}
		n++
	}
	if n != 50 {
		t.Errorf("%d events", n)
	}
}

// field is a field of an encoded message.
type field struct {
	n uint64
	v uint64
	b []byte
}

// TestCompleteMark: the time from which on a trace has all events is an event of its own, before those.
func TestCompleteMark(t *testing.T) {
	for at, want := range map[int64]uint64{0: 0, 1000: 0, 2500: 2500, 3000: 3000} {
		m := madetrace.New(t)
		m.CompleteFrom = at
		s := m.Site("work", "work", madetrace.Field{Name: "i", Type: ctype.IntT})
		m.Thread(10, 10, "prog")
		for i := range 3 {
			m.Event(s, int64(2000+1000*i), 0, 10, 10, 0, madetrace.Record(s, i))
		}
		tr := m.Open()
		write := func(name string) []byte {
			r, err := report.NewReader(tr, report.Query{})
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := Named(name).Write(&b, r, &Options{}); err != nil {
				t.Fatal(err)
			}
			return b.Bytes()
		}
		var times []uint64
		mark, track := uint64(0), ""
		for _, p := range fields(t, write("perfetto")) {
			packet := fields(t, p.b)
			if d := find(packet, 60); d.b != nil && find(fields(t, d.b), 1).v == completeTrack {
				track = string(find(fields(t, d.b), 2).b)
			}
			if e := find(packet, 11); e.b != nil {
				times = append(times, find(packet, 8).v)
				if ev := fields(t, e.b); find(ev, 11).v == completeTrack && string(find(ev, 23).b) == completeText && find(ev, 9).v == 3 {
					mark = find(packet, 8).v
				}
			}
		}
		if mark != want || !slices.IsSorted(times) || (track == completeName) != (want != 0) {
			t.Errorf("%d: perfetto has the mark at %d on %q, times %d", at, mark, track, times)
		}
		var got struct {
			TraceEvents []struct {
				Ph, S, Name string
				TS          json.Number
			}
		}
		if err := json.Unmarshal(write("chrome"), &got); err != nil {
			t.Fatal(err)
		}
		text := json.Number("")
		for _, e := range got.TraceEvents {
			if e.Name == completeText && e.Ph == "i" && e.S == "g" {
				text = e.TS
			}
		}
		if us := fmt.Sprintf("%d.%03d", want/1000, want%1000); want != 0 && string(text) != us || want == 0 && text != "" {
			t.Errorf("%d: chrome has the mark at %q", at, text)
		}
	}
}

// fields decodes a message; a bad one fails the test.
func fields(t *testing.T, b []byte) (list []field) {
	t.Helper()
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			t.Fatalf("a message ends within a number: % x", b)
		}
		b = b[n:]
		return v
	}
	for len(b) > 0 {
		tag := number()
		f := field{n: tag >> 3}
		switch tag & 7 {
		case 0:
			f.v = number()
		case 1:
			f.v, b = binary.LittleEndian.Uint64(b), b[8:]
		case 2:
			n := number()
			f.b, b = b[:n], b[n:]
		default:
			t.Fatalf("wire type %d", tag&7)
		}
		list = append(list, f)
	}
	return list
}

func find(list []field, n uint64) *field {
	for i := range list {
		if list[i].n == n {
			return &list[i]
		}
	}
	return &field{}
}

// TestPerfetto: the packets are decoded again: clocks, tracks before their events, names before their numbers, all values.
func TestPerfetto(t *testing.T) {
	names, keys, tracks := map[uint64]string{}, map[uint64]string{}, map[uint64]bool{}
	events, text := 0, 0
	for _, p := range fields(t, export(t, "perfetto")) {
		if p.n != 1 {
			t.Fatalf("field %d of a trace", p.n)
		}
		packet := fields(t, p.b)
		if find(packet, 10).v != 1 {
			t.Fatal("a packet has no sequence")
		}
		for _, x := range fields(t, find(packet, 12).b) {
			entry := fields(t, x.b)
			map[uint64]map[uint64]string{2: names, 3: keys}[x.n][find(entry, 1).v] = string(find(entry, 2).b)
		}
		if d := find(packet, 60); d.b != nil {
			tracks[find(fields(t, d.b), 1).v] = true
		}
		e := find(packet, 11)
		if e.b == nil {
			continue
		}
		ev := fields(t, e.b)
		i := events / 2
		want, ns := "a.c:9 in begin", uint64(7_000_000_000+1_000_001*i)
		if events%2 == 1 {
			want, ns = "end", ns+10
		}
		if names[find(ev, 10).v] != want || find(ev, 9).v != 3 || !tracks[find(ev, 11).v] || find(packet, 8).v != ns || find(packet, 13).v != 2 {
			t.Fatalf("event %d: %q at %d", events, names[find(ev, 10).v], find(packet, 8).v)
		}
		for _, a := range ev {
			if a.n != 4 {
				continue
			}
			note := fields(t, a.b)
			switch keys[find(note, 1).v] {
			case "i":
				if int64(find(note, 4).v) != int64(-i) {
					t.Fatalf("i is %d", int64(find(note, 4).v))
				}
			case "text":
				if string(find(note, 6).b) == strings.ReplaceAll(hostile, "\xff", "�") {
					text++
				}
			case "u":
				if i%2 == 0 && find(note, 3).v != 1<<64-1 || i%2 == 1 && string(find(note, 6).b) != "<unreadable address 0x20>" {
					t.Fatalf("u is %v", note)
				}
			}
		}
		events++
	}
	if events != 100 || text != 50 {
		t.Errorf("%d events, %d texts", events, text)
	}
}

// TestFolded: separators in names do not break lines.
func TestFolded(t *testing.T) {
	got := string(export(t, "folded"))
	for _, line := range []string{"one: \x01;main;f:g ;end 50\n", "one: \x01;a.c:9 25\n"} {
		if !strings.Contains(got, line) {
			t.Errorf("no %q in %q", line, got)
		}
	}
}

// TestPprof: go tool pprof reads the profile and has the counts, the program and its build-id.
func TestPprof(t *testing.T) {
	r := makeReader(t)
	r.Trace.State.Mappings = []ctf.Mapping{{Pid: 10, Start: 0x1000, End: 0x3000, Path: "/bin/theprogram", BuildID: "ab12"}}
	var b bytes.Buffer
	if err := Named("pprof").Write(&b, r, &Options{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "p.gz")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "pprof", "-top", "-nodecount=10", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, part := range []string{"File: theprogram", "Build ID: ab12", "Type: events", "50 50.00%", "a.c:9", "100% of 100 total"} {
		if !strings.Contains(string(out), part) {
			t.Errorf("no %q in\n%s", part, out)
		}
	}
}
