package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/test/madetrace"
)

// TestComplete: a report says from when on a trace has all events, if it has older ones, and --from complete leaves those out.
func TestComplete(t *testing.T) {
	for _, c := range []struct {
		from   int64
		events []int
		said   int64
	}{
		{0, []int{0, 1, 2, 3}, 0},
		{1000, []int{0, 1, 2, 3}, 0}, // before the first event
		{3000, []int{1, 2, 3}, 3000},
		{3001, []int{2, 3}, 3001},
		{9000, nil, 9000}, // behind the last
	} {
		m := madetrace.New(t)
		m.CompleteFrom = c.from
		s := m.Site("work", "work", madetrace.Field{Name: "i", Type: ctype.IntT})
		m.Thread(10, 10, "prog")
		for i := range 4 {
			m.Event(s, int64(2000+1000*i), i%2, 10, 10, 0, madetrace.Record(s, i))
		}
		tr := m.Open()
		if tr.CompleteFrom != c.from {
			t.Errorf("%d: the trace has %d", c.from, tr.CompleteFrom)
		}
		from, err := When(tr, lang.TextOf("--from", "complete"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r := reader(t, tr, Query{From: from})
		if got := numbers(t, r); !slices.Equal(got, c.events) || r.Incomplete() != 0 || strings.Contains(strings.Join(r.Notes(), "\n"), "missing") {
			t.Errorf("%d: from then on %v, notes %q", c.from, got, r.Notes())
		}
		r = reader(t, tr, Query{})
		stat, err := MakeStat(r, true)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		var got struct {
			CompleteFrom int64 `json:"complete_from"`
		}
		if err := stat.JSON(&b); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(b.String()), &got); err != nil || got.CompleteFrom != c.said {
			t.Errorf("%d: %v, %s", c.from, err, b.String())
		}
		if notes := strings.Join(r.Notes(), "\n"); strings.Contains(notes, "all events are there from") != (c.said != 0) {
			t.Errorf("%d: notes %q", c.from, notes)
		}
	}
}
