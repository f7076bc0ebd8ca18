package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/test/madetrace"
)

var charPtr = ctype.PointerTo(ctype.CharT)

const (
	traceStart = int64(5_000_000_000)
	hostile    = "=cmd|' /C calc'!A0,\"x\"\n</script>\x1b[2J"
)

// request is a struct as C lays it out: int id; char name[8]; struct { int x, y; } at;
func request() *ctype.Type {
	pos := &ctype.Type{Kind: ctype.Struct, Name: "pos", Size: 8}
	pos.SetFields([]ctype.Field{{Name: "x", Type: ctype.IntT}, {Name: "y", Type: ctype.IntT, BitOffset: 32}})
	r := &ctype.Type{Kind: ctype.Struct, Name: "request", Size: 20}
	r.SetFields([]ctype.Field{{Name: "id", Type: ctype.IntT}, {Name: "name", Type: ctype.ArrayOf(ctype.CharT, 8), BitOffset: 32}, {Name: "at", Type: pos, BitOffset: 96}})
	return r
}

// makeTrace has, for i below 100: at time i ms in thread 11 or 12 an event of begin with i, a text, *r; 10+i%7 µs later one of end.
func makeTrace(t testing.TB) *ctf.Trace {
	m := madetrace.New(t)
	begin := m.Site("a.c:9", "begin", madetrace.Field{Name: "i", Type: ctype.IntT}, madetrace.Field{Name: "r->text", Type: charPtr, Pointed: 40},
		madetrace.Field{Name: "*r", Type: request(), Fails: true}, madetrace.Field{Name: "str(q, 8)", Type: charPtr, Text: 8}, madetrace.Field{Name: "*v@4", Type: ctype.ArrayOf(ctype.IntT, 4), Text: 16})
	end := m.Site("end", "end", madetrace.Field{Name: "n", Type: ctype.LongT}, madetrace.Field{Name: "$bt", Stack: true})
	m.Thread(10, 11, "one")
	m.Thread(10, 12, "two")
	stacks := []uint32{m.Stack("end", "f", "main"), m.Stack("end", "g", "main")}
	for i := range 100 {
		at, tid := traceStart+int64(i)*1_000_000, 11+i%2
		var r any = append(append([]byte{byte(i), 0, 0, 0}, "name\x00\x00\x00\x00"...), byte(i), 0, 0, 0, 0xff, 0xff, 0xff, 0xff)
		if i%10 == 3 {
			r = madetrace.Unavailable{Addr: 0x10}
		}
		text := "text"
		if i == 50 {
			text = hostile
		}
		list := []byte{8, 0, 0, 0, 0, 0, 0, 0, byte(i), 0, 0, 0, 7, 0, 0, 0}
		m.Event(begin, at, 0, 10, tid, 0, madetrace.Record(begin, i, madetrace.Text{Addr: 0x7000 + uint64(i), Text: text}, r, "a long text"[:3+i%8], list))
		m.Event(end, at+10_000+1000*int64(i%7), 1, 10, tid, stacks[i%2], madetrace.Record(end, i-50))
	}
	return m.Open()
}

func reader(t testing.TB, tr *ctf.Trace, q Query) *Reader {
	t.Helper()
	r, err := NewReader(tr, q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return r
}

// numbers are the first recorded numbers (i or n) of the events of a query.
func numbers(t testing.TB, r *Reader) (list []int) {
	t.Helper()
	if err := r.Each(func(ev *event.Event) error {
		v := ev.Value(0)
		n := int(int32(v.Data[0]) | int32(v.Data[1])<<8 | int32(v.Data[2])<<16 | int32(v.Data[3])<<24)
		list = append(list, n)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestWhere: a filter has exactly the events for which the C expression holds; those that need a value which is not in the trace are
// counted, never taken as zero.
func TestWhere(t *testing.T) {
	tr := makeTrace(t)
	for _, tt := range []struct {
		where   string
		want    func(i int) bool // of begin
		ends    func(n int) bool // of end; nil: the place is left out
		unknown uint64
	}{
		{where: "i > 90", want: func(i int) bool { return i > 90 }},
		{where: "i % 3 == 1 && i < 10", want: func(i int) bool { return i%3 == 1 && i < 10 }},
		{where: `r->text == "text" && i > 45 && i < 55`, want: func(i int) bool { return i != 50 && i > 45 && i < 55 }},
		{where: `*r->text == '='`, want: func(i int) bool { return i == 50 }},
		{where: `r->text[3] == 't' && i < 2`, want: func(i int) bool { return i < 2 }},
		{where: "r->at.x == 4 || (*r).id == 5", want: func(i int) bool { return i == 4 || i == 5 }, unknown: 10},
		{where: "r->at.y == -1", want: func(i int) bool { return i%10 != 3 }, unknown: 10},
		{where: `r->name == "name" && i < 5`, want: func(i int) bool { return i < 5 && i != 3 }, unknown: 10},
		{where: "i < 3 || r->at.x == 93", want: func(i int) bool { return i < 3 }, unknown: 10},
		{where: `str(q, 8) == "a long" && i < 9`, want: func(i int) bool { return i == 3 }},
		{where: "(*v@4)[0] == 7", want: func(i int) bool { return i == 7 }},
		{where: "(*v@4)[1] == 7 && i == 0", want: func(i int) bool { return i == 0 }},
		{where: "(*v@4)[2] == 0", want: func(int) bool { return false }, unknown: 100},
		{where: "v[0] == 7 && *v == 7 && v[i - 6] == 7", want: func(i int) bool { return i == 7 }},
		{where: "v[i] == 0", want: func(i int) bool { return i == 0 }, unknown: 98},
		{where: "v[-i] >= 0 && v[-i] < 1", want: func(i int) bool { return i == 0 }, unknown: 99},
		{where: `$tid == 12 && $cpu == 0`, want: func(i int) bool { return i%2 == 1 }, ends: func(int) bool { return false }},
		{where: `comm == "two"`, want: func(i int) bool { return i%2 == 1 }, ends: func(n int) bool { return n%2 != 0 }},
		{where: `$place == "end"`, want: func(int) bool { return false }, ends: func(int) bool { return true }},
		{where: `$function == "begin"`, want: func(int) bool { return true }, ends: func(int) bool { return false }},
		{where: "n < -48", want: func(int) bool { return false }, ends: func(n int) bool { return n < -48 }},
		{where: fmt.Sprintf("$time < %d", traceStart+1_000_000), want: func(i int) bool { return i == 0 }, ends: func(n int) bool { return n == -50 }},
		{where: "i / (i - 7) == 0 && i < 20", want: func(i int) bool { return i < 4 }, unknown: 1},
		{where: "1 / (i - i)", want: func(int) bool { return false }, unknown: 100},
		{where: "*(int *)16 == 0", want: func(int) bool { return false }, ends: func(int) bool { return false }, unknown: 200},
		{where: "sizeof(struct request) == 20 && (unsigned char)i == 255u - 250", want: func(i int) bool { return i == 5 }},
	} {
		var want []int
		for i := range 100 {
			if tt.want(i) {
				want = append(want, i)
			}
			if tt.ends != nil && tt.ends(i-50) {
				want = append(want, i-50)
			}
		}
		r := reader(t, tr, Query{Where: tt.where})
		if got := numbers(t, r); !slices.Equal(got, want) || r.Unknown != tt.unknown {
			t.Errorf("%s: %v, %d unknown; want %v, %d", tt.where, got, r.Unknown, want, tt.unknown)
		}
	}
}

// TestWhereRandom: arithmetic and comparisons are those of C.
func TestWhereRandom(t *testing.T) {
	tr := makeTrace(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		a, b, c := 1+rnd.IntN(20), rnd.IntN(100), rnd.IntN(200)
		where := fmt.Sprintf("i * %d %% 37 < %d && (i ^ %d) > i / %d - 3", a, b%37, c, a)
		var want []int
		for i := range 100 {
			if i*a%37 < b%37 && i^c > i/a-3 {
				want = append(want, i)
			}
		}
		if got := numbers(t, reader(t, tr, Query{Where: where})); !slices.Equal(got, want) {
			t.Fatalf("%s: %v, want %v", where, got, want)
		}
	}
}

// TestErrors: the user's errors have a caret and a hint.
func TestErrors(t *testing.T) {
	tr := makeTrace(t)
	for _, tt := range []struct{ where, fields, want, hint string }{
		{where: "j > 3", want: `no field "j" was recorded`, hint: "recorded fields: i, r->text, *r"},
		{where: "i > $tidd", want: `no field "$tidd" was recorded`, hint: `did you mean "$tid"`},
		{where: "$rax == 1", want: `no field "$rax" was recorded`},
		{where: "i > ", want: "an operand is missing at the end"},
		{where: "&i == 0", want: "addresses of fields were not recorded"},
		{where: "r->nam == 0", want: `struct request has no member "nam"`, hint: `did you mean "name"`},
		{where: "f(i)", want: "cannot be called"},
		{where: "i = 3", want: "would change the program"},
		{where: "arg0 > 1", want: `no field "arg0"`},
		{fields: "i, k", want: `no field "k" was recorded`},
		{fields: "i,, n", want: "missing"},
	} {
		_, err := NewReader(tr, Query{Where: tt.where, Fields: tt.fields})
		if err == nil || !isUsers(err) && !strings.Contains(err.Error(), "^") || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), tt.hint) || !strings.Contains(err.Error(), "^") {
			t.Errorf("%s%s: %v", tt.where, tt.fields, err)
		}
	}
}

// TestRange: From and To are both included.
func TestRange(t *testing.T) {
	tr := makeTrace(t)
	from, err := When(tr, lang.TextOf("--from", "3ms"), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, reader(t, tr, Query{From: from, To: traceStart + 4_000_000})); !slices.Equal(got, []int{3, 3 - 50, 4}) {
		t.Errorf("%v", got)
	}
}

// TestWhen: times as users write them.
func TestWhen(t *testing.T) {
	tr := makeTrace(t)
	_, last, _ := tr.Span()
	day := time.Unix(0, traceStart+madetrace.WallOffset).UTC()
	for text, want := range map[string]int64{
		"0": traceStart, "1.5s": traceStart + 1_500_000_000, "2": traceStart + 2_000_000_000, "-1ms": last - 1_000_000, "@77": 77,
		day.Add(time.Millisecond).Format("15:04:05.999999999"): traceStart + 1_000_000, day.Format(time.RFC3339Nano): traceStart,
		"9223372036": math.MaxInt64, "-9223372036": 1, "9999-01-01T00:00:00Z": math.MaxInt64 - madetrace.WallOffset, "0001-01-01T00:00:00Z": math.MinInt64,
	} {
		if got, err := When(tr, lang.TextOf("--from", text), time.UTC); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "25:00", "1.5x", "@", "2026-01-01"} {
		if got, err := When(tr, lang.TextOf("--from", text), time.UTC); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

// lines prints the events of a query as text.
func lines(t testing.TB, r *Reader, f string) string {
	t.Helper()
	var b bytes.Buffer
	ft := &format.Trace{Unwind: r.Unwind, Elements: 200, Time: format.MonotoneTime}
	sink := format.Sink(NewCSV(&b, r.Columns(), r.Schemas(), ft))
	if f != "csv" {
		sink = format.OutputNamed(f).New(&b, ft)
	}
	if err := r.Each(sink.Event); err != nil {
		t.Fatal(err)
	}
	if err := sink.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFields: recorded fields as they are, computed ones as C has them, in the user's order; values that are not in the trace are
// unavailable.
func TestFields(t *testing.T) {
	tr := makeTrace(t)
	got := lines(t, reader(t, tr, Query{Where: "i == 3 || i == 4", Fields: "i * 2, i/x, $tid, r->at.y, r->text, r->name, *v@4, (char)(i + 'a' - 3)"}), "text")
	for _, part := range []string{
		`i * 2=6 i=0x3 $tid=12 r->at.y=<the trace does not have what it is computed from> r->text=0x7003 "text" r->name=<the trace does not have what it is computed from> *v@4={3, 7} (char)(i + 'a' - 3)=97 'a'`,
		`i * 2=8 i=0x4 $tid=11 r->at.y=-1 r->text=0x7004 "text" r->name="name\000\000\000" *v@4={4, 7} (char)(i + 'a' - 3)=98 'b'`,
	} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in\n%s", part, got)
		}
	}
	got = lines(t, reader(t, tr, Query{Where: "n == -50", Fields: "n + 1, $bt"}), "json")
	if !strings.Contains(got, `"values":{"n + 1":-49,"$bt":[{"pc":"0x1000","function":"end"`) {
		t.Error(got)
	}
}

// TestCSV: a reader of CSV has the values again, with a column for each field of any place.
func TestCSV(t *testing.T) {
	tr := makeTrace(t)
	rows, err := csv.NewReader(strings.NewReader(lines(t, reader(t, tr, Query{}), "csv"))).ReadAll()
	if err != nil || len(rows) != 201 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	if want := "time cpu pid tid comm place function i r->text *r str(q, 8) *v@4 n $bt"; strings.Join(rows[0], " ") != want {
		t.Errorf("%q", rows[0])
	}
	for i := range 100 {
		row := rows[1+2*i]
		r := fmt.Sprintf(`{"id":%d,"name":"name","at":{"x":%d,"y":-1}}`, i, i)
		if i%10 == 3 {
			r = ""
		}
		text := "text"
		if i == 50 {
			text = hostile
		}
		if row[7] != fmt.Sprint(i) || row[8] != text || row[9] != r || row[11] != fmt.Sprintf("[%d,7]", i) || row[12] != "" || rows[2+2*i][12] != fmt.Sprint(i-50) {
			t.Fatalf("%q", row)
		}
	}
}

// TestStat, TestHist, ...: reports count each event once.
func TestStat(t *testing.T) {
	tr := makeTrace(t)
	s, err := MakeStat(reader(t, tr, Query{}), true)
	if err != nil {
		t.Fatal(err)
	}
	if s.Events != 200 || len(s.Places) != 2 || s.Places[0].Recorded != 100 || s.Places[0].Lost != nil || len(s.Threads) != 2 || s.Threads[0].Events != 100 || s.Threads[0].Comm != "one" {
		t.Errorf("%+v", s)
	}
	var b bytes.Buffer
	if err := s.Text(&b, 10); err != nil || !strings.Contains(b.String(), "one:10/11") || !strings.Contains(b.String(), "a.c:9 in begin 50, end 50") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := s.JSON(&b); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestHist(t *testing.T) {
	tr := makeTrace(t)
	h, err := MakeHist(reader(t, tr, Query{}), "i + 1", "i % 2")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	h.Text(&b, 10)
	for _, part := range []string{"i + 1[0]:\n[1] ", "i + 1[1]:\n[2, 4) ", "[64, 128)             19 |"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("no %q in\n%s", part, b.String())
		}
	}
	events := uint64(0)
	for _, x := range h.keys {
		events += x.events
	}
	if events != 100 || h.Unknown != 0 {
		t.Errorf("%d events, %d without a value", events, h.Unknown)
	}
	if h, err = MakeHist(reader(t, tr, Query{}), "r->at.x", ""); err != nil || h.Unknown != 10 || h.keys[""].events != 90 {
		t.Errorf("%+v: %v", h, err)
	}
	if _, err = MakeHist(reader(t, tr, Query{}), "*r", ""); err == nil || !strings.Contains(err.Error(), "not a number") {
		t.Error(err)
	}
}

func TestLatency(t *testing.T) {
	tr := makeTrace(t)
	for _, by := range []string{"", "$tid"} {
		x, err := MakeLatency(reader(t, tr, Query{}), "begin", "end", by, 3)
		if err != nil {
			t.Fatal(err)
		}
		if x.Pairs != 100 || x.Open != 0 || x.Alone != 0 || len(x.Slowest) != 3 || x.Slowest[0].NS != 16_000 || x.Slowest[2].NS != 16_000 || x.Slowest[0].Text != "n=-44" {
			t.Errorf("by %q: %+v", by, x)
		}
		var b bytes.Buffer
		if err := x.JSON(&b); err != nil || !json.Valid(b.Bytes()) {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
	x, err := MakeLatency(reader(t, tr, Query{Where: "$place == \"end\" || $tid == 11"}), "a.c:9", "end", "", 0)
	if err != nil || x.Pairs != 50 || x.Alone != 50 {
		t.Errorf("%+v: %v", x, err)
	}
	x, err = MakeLatency(reader(t, tr, Query{}), "begin", "begin", "", 1)
	if err != nil || x.Pairs != 98 || x.Slowest[0].NS != 2_000_000 {
		t.Errorf("%+v: %v", x, err)
	}
	if _, err = MakeLatency(reader(t, tr, Query{}), "begn", "end", "", 1); err == nil || !strings.Contains(err.Error(), "no events of this place") {
		t.Error(err)
	}
}

func TestFlame(t *testing.T) {
	tr := makeTrace(t)
	x, err := MakeFlame(reader(t, tr, Query{}))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := x.Folded(&b); err != nil {
		t.Fatal(err)
	}
	if want := "one;a.c:9 50\none;main;f;end 50\ntwo;a.c:9 50\ntwo;main;g;end 50\n"; b.String() != want {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := x.Text(&b, 100, 0); err != nil || !strings.Contains(b.String(), "  25.0%        50 █████") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestTimeline(t *testing.T) {
	tr := makeTrace(t)
	first, last, _ := tr.Span()
	x, err := MakeTimeline(reader(t, tr, Query{}), first, last, 50)
	if err != nil || len(x.Threads) != 2 || len(x.CPUs) != 2 {
		t.Fatalf("%+v: %v", x, err)
	}
	sum := uint64(0)
	for _, row := range x.Threads {
		for _, n := range row.Counts {
			sum += uint64(n)
		}
	}
	if sum != 200 {
		t.Errorf("%d events", sum)
	}
	var b bytes.Buffer
	if err := x.Text(&b, 10); err != nil || strings.Count(b.String(), "\n") != 8 {
		t.Errorf("%v\n%s", err, b.String())
	}
}
