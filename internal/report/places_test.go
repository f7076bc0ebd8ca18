package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/event"
)

// TestFieldsOfSeveralPlaces: an expression is compiled for each place. A place that lacks a field of it is left out and named; of a list of
// fields each place shows those that it has.
func TestFieldsOfSeveralPlaces(t *testing.T) {
	tr := makeTrace(t)
	const begin, end = "the events of a.c:9 are left out: ", "the events of end are left out: "
	for _, tt := range []struct {
		where, fields, hist, by string
		events                  int
		notes                   []string
	}{
		{where: "i > 5", events: 94, notes: []string{end + `no field "i" was recorded there`}},
		{where: "i > 5 || n > 5", notes: []string{begin + `no field "n" was recorded there`, end + `no field "i" was recorded there`}},
		{where: "n == 1 || r->at.x == 2 && r->text[0]", notes: []string{begin + `no field "n" was recorded there`, end + `no fields "*r", "r->text" were recorded there`}},
		{where: "str(r->text) == \"text\" && n > 5", notes: []string{begin + `no field "n" was recorded there`, end + `no field "r->text" was recorded there`}},
		{where: "i > n", fields: "$tid", notes: []string{begin + `no field "n" was recorded there`, end + `no field "i" was recorded there`}},
		{fields: "n, i", events: 200},
		{fields: "n + 1, $cpu, i * 2", events: 200},
		{fields: "$tid", events: 200},
		{fields: "$tid, i", events: 100, notes: []string{end + `no field "i" was recorded there`}},
		{fields: "i + n", notes: []string{begin + `no field "n" was recorded there`, end + `no field "i" was recorded there`}},
		{hist: "i", events: 100, notes: []string{end + `no field "i" was recorded there`}},
		{hist: "i", by: "n", notes: []string{begin + `no field "n" was recorded there`, end + `no field "i" was recorded there`}},
	} {
		r, err := NewReader(tr, Query{Where: tt.where, Fields: tt.fields})
		if err != nil {
			t.Errorf("%+v: %v", tt, err)
			continue
		}
		events := 0
		if tt.hist == "" {
			events = strings.Count(lines(t, r, "text"), "\n")
		} else if h, err := MakeHist(r, tt.hist, tt.by); err != nil {
			t.Errorf("%+v: %v", tt, err)
		} else {
			for _, x := range h.keys {
				events += int(x.events)
			}
		}
		if got := r.Notes(); events != tt.events || !slices.Equal(got, tt.notes) {
			t.Errorf("%+v: %d events, %q", tt, events, got)
		}
	}
	r := reader(t, tr, Query{Fields: "n, i * 2, $tid, i"})
	text := lines(t, r, "csv")
	if head := "time,cpu,pid,tid,comm,place,function,n,i * 2,$tid,i\n"; !strings.HasPrefix(text, head) {
		t.Errorf("the columns are not in the order of the list: %s", text[:len(head)])
	}
	_, text, _ = strings.Cut(text, "\n")
	for line := range strings.Lines(text) {
		if has := strings.Contains(line, ",end,end,"); has && !strings.HasSuffix(line, ",\n") || !has && strings.Contains(line, ",begin,,") == strings.HasSuffix(line, ",\n") {
			t.Errorf("%s", line)
		}
	}
	// The fields are in both places, and the expression is wrong in both, or in one.
	for where, want := range map[string]string{"$tid.x > 1 && i": "i", "i > 5 && j > n": `no field "j" was recorded`, "i.x == 1": "int has no members"} {
		if _, err := NewReader(tr, Query{Where: where}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// TestLatencyByMissingField: a place that lacks the field by which events are paired is named.
func TestLatencyByMissingField(t *testing.T) {
	r := reader(t, makeTrace(t), Query{})
	l, err := MakeLatency(r, "begin", "end", "i", 5)
	if err != nil || l.Pairs != 0 {
		t.Fatalf("%+v, %v", l, err)
	}
	if got := r.Notes(); !slices.Equal(got, []string{`the events of end are left out: no field "i" was recorded there`}) {
		t.Errorf("%q", got)
	}
}

// TestPartlySkipped: of a place with several lists the events of one may be left out.
func TestPartlySkipped(t *testing.T) {
	with, without := &event.Schema{Place: "f"}, &event.Schema{Place: "f"}
	r := &Reader{
		scopes: []*scope{{schema: with}, {schema: without}}, left: map[*event.Schema]bool{without: true},
		Skipped: []Skipped{{"f", "no field"}, {"g", "no field"}},
	}
	if got := r.skippedText(); !slices.Equal(got, []string{"the events of f (some of them), g are left out: no field"}) {
		t.Errorf("%q", got)
	}
}
