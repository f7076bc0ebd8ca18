package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/report"
	"github.com/jalon-trace/jalon/test/madetrace"
)

// parquetRows reads a file: the rows by the names of the columns, without those that have no value.
func parquetRows(t *testing.T, b []byte) (rows []map[string]parquet.Value) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	columns := f.Schema().Columns()
	for _, g := range f.RowGroups() {
		from := len(rows)
		for range g.NumRows() {
			rows = append(rows, map[string]parquet.Value{})
		}
		r := g.Rows()
		buf := make([]parquet.Row, 1000)
		for at := from; ; {
			n, err := r.ReadRows(buf)
			for _, row := range buf[:n] {
				for _, v := range row {
					if !v.IsNull() {
						rows[at][columns[v.Column()][0]] = v.Clone()
					}
				}
				at++
			}
			if errors.Is(err, io.EOF) {
				if at != len(rows) {
					t.Fatalf("a group has %d rows, not %d", at-from, len(rows)-from)
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if int64(len(rows)) != f.NumRows() {
		t.Fatalf("%d rows, not %d", len(rows), f.NumRows())
	}
	return rows
}

// TestParquet: a reader that others have written has all values.
func TestParquet(t *testing.T) {
	rows := parquetRows(t, export(t, "parquet"))
	if len(rows) != 100 {
		t.Fatalf("%d rows", len(rows))
	}
	for i := range 50 {
		a, b := rows[2*i], rows[2*i+1]
		at := int64(7_000_000_000 + 1_000_001*i)
		if a["monotonic"].Int64() != at || a["time"].Int64() != at+madetrace.WallOffset || a["tid"].Int64() != int64(11+i%2) || a["pid"].Int64() != 10 || a["i"].Int64() != int64(-i) {
			t.Errorf("event %d: %v", i, a)
		}
		if got := a["text"].String(); got != utf8Text([]byte(hostile)) {
			t.Errorf("event %d: text %q", i, got)
		}
		if u, known := a["u"]; known != (i%2 == 0) || known && u.Uint64() != math.MaxUint64 {
			t.Errorf("event %d: u is %v, %t", i, u, known)
		}
		if why, bad := a["unavailable"]; bad != (i%2 == 1) || bad && why.String() != "u: unreadable address 0x20" {
			t.Errorf("event %d: unavailable is %v", i, why)
		}
		if !math.IsNaN(a["d"].Double()) {
			t.Errorf("event %d: d is %v", i, a["d"])
		}
		if got := b["stack"].String(); got != "main;f;g\n;end" || b["place"].String() != "end" || b["cpu"].Int64() != 1 {
			t.Errorf("event %d: %v", i, b)
		}
		if _, has := b["i"]; has {
			t.Errorf("event %d of another place has i", i)
		}
	}
}

// TestParquetKinds: many groups of rows; fields of the same name with other kinds, or with the name of a column that all events have.
func TestParquetKinds(t *testing.T) {
	m := madetrace.New(t)
	ints := m.Site("ints", "f", madetrace.Field{Name: "v", Type: ctype.IntT}, madetrace.Field{Name: "cpu", Type: ctype.LongT}, madetrace.Field{Name: "b", Type: ctype.BoolT, Fails: true})
	texts := m.Site("texts", "g", madetrace.Field{Name: "v", Type: ctype.PointerTo(ctype.CharT), Pointed: 20}, madetrace.Field{Name: "p", Type: ctype.PointerTo(ctype.IntT)})
	rnd := rand.New(rand.NewPCG(3, 4))
	const events = 300_000
	type want struct {
		text bool
		v    int
		b    int // 2: it could not be read
	}
	list := make([]want, events)
	for i := range list {
		w := want{rnd.IntN(3) == 0, rnd.IntN(1 << 30), rnd.IntN(3)}
		list[i] = w
		if w.text {
			m.Event(texts, int64(1000+i), i%2, 1, 1, 0, madetrace.Record(texts, madetrace.Text{Addr: 5, Text: fmt.Sprint(w.v)}, w.v))
			continue
		}
		var b any = []byte{byte(w.b)}
		if w.b == 2 {
			b = madetrace.Unavailable{Addr: 1}
		}
		m.Event(ints, int64(1000+i), i%2, 1, 1, 0, madetrace.Record(ints, w.v, -w.v, b))
	}
	r, err := report.NewReader(m.Open(), report.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Named("parquet").Write(&out, r, &Options{}); err != nil {
		t.Fatal(err)
	}
	rows := parquetRows(t, out.Bytes())
	if len(rows) != events {
		t.Fatalf("%d rows", len(rows))
	}
	for i, w := range list {
		row := rows[i]
		if row["monotonic"].Int64() != int64(1000+i) || row["cpu"].Int64() != int64(i%2) {
			t.Fatalf("row %d: %v", i, row)
		}
		if w.text {
			if row["v (text)"].String() != fmt.Sprint(w.v) || row["p"].Uint64() != uint64(w.v) || len(row) != 10 {
				t.Fatalf("row %d: %v, want %+v", i, row, w)
			}
			continue
		}
		b, has := row["b"]
		if row["v"].Int64() != int64(w.v) || row["cpu (int)"].Int64() != int64(-w.v) || has != (w.b < 2) || has && b.Boolean() != (w.b == 1) {
			t.Fatalf("row %d: %v, want %+v", i, row, w)
		}
	}
}

// TestParquetEmpty: a trace without events is a table without rows.
func TestParquetEmpty(t *testing.T) {
	m := madetrace.New(t)
	s := m.Site("a", "f", madetrace.Field{Name: "i", Type: ctype.IntT})
	m.Event(s, 5, 0, 1, 1, 0, madetrace.Record(s, 1))
	r, err := report.NewReader(m.Open(), report.Query{Where: "i > 1"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Named("parquet").Write(&out, r, &Options{}); err != nil {
		t.Fatal(err)
	}
	if rows := parquetRows(t, out.Bytes()); len(rows) != 0 {
		t.Errorf("%d rows", len(rows))
	}
}

// TestParts: the fields of a static tracepoint's record are values of their own, within the record.
func TestParts(t *testing.T) {
	rec := &ctype.Type{Kind: ctype.Struct, Name: "switch", Size: 40}
	rec.SetFields([]ctype.Field{
		{Name: "common_pid", Type: ctype.IntT},
		{Name: "comm", Type: ctype.ArrayOf(ctype.CharT, 16), BitOffset: 8 * 8},
		{Name: "pid", Type: ctype.IntT, BitOffset: 24 * 8},
		{Name: "state", Type: ctype.LongT, BitOffset: 32 * 8},
		{Name: "list", Type: ctype.ArrayOf(ctype.ShortT, 2), BitOffset: 28 * 8},
	})
	f := &event.Field{Kind: event.SData, Type: rec}
	data := append(append([]byte("12345678name\x00left over"), make([]byte, 2)...), 7, 0, 0, 0, 1, 0, 2, 0, 255, 255, 255, 255, 255, 255, 255, 255)
	data = append(data[:24:24], data[len(data)-16:]...)
	simples := format.NewSimples(&format.Trace{})
	var got []string
	for _, n := range []int{len(data), 30} {
		v := event.Value{Field: f, Data: data[:n]}
		for _, p := range format.PartsOf(f) {
			s := simples.Part(&v, &p)
			got = append(got, fmt.Sprint(p.Name, " ", s.Kind, " ", s.Int, " ", string(s.Text)))
		}
	}
	want := []string{"comm 5 0 name", "pid 1 7 ", "state 1 -1 ", "list 7 0 [1,2]", "comm 5 0 name", "pid 1 7 ", "state 0 0 ", "list 0 0 "}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
