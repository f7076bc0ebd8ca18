package format

import (
	"encoding/binary"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// TestGrid: arrays with their extents as text, as JSON, and after a schema file.
func TestGrid(t *testing.T) {
	for _, x := range []struct {
		counts []int64
		n      int // elements that were recorded
		text   string
		json   string
	}{
		{[]int64{3}, 3, "{1, 2, 3}", "[1,2,3]"},
		{[]int64{3}, 2, "{1, 2...}", "[1,2]"},
		{[]int64{2, 3}, 6, "{{1, 2}, {3, 4}, {5, 6}}", "[[1,2],[3,4],[5,6]]"},
		{[]int64{2, 3}, 4, "{{1, 2}, {3, 4}...}", "[[1,2],[3,4]]"},
		{[]int64{2, 3}, 3, "{{1, 2}, {3...}...}", "[[1,2],[3]]"},
		{[]int64{2, 1, 2}, 4, "{{{1, 2}}, {{3, 4}}}", "[[[1,2]],[[3,4]]]"},
		{[]int64{2, 1, 2}, 3, "{{{1, 2}}, {{3...}}}", "[[[1,2]],[[3]]]"},
		{[]int64{0, 2}, 0, "{{}, {}}", "[[],[]]"},
		{[]int64{2, 0}, 0, "{}", "[]"},
		{[]int64{0}, 0, "{}", "[]"},
	} {
		raw := make([]byte, 64)
		raw = binary.LittleEndian.AppendUint32(raw, uint32(4*x.n))
		raw = append(raw, 0, 0, 0, 0)
		for i := range 8 {
			raw = binary.LittleEndian.AppendUint32(raw, uint32(i+1))
		}
		head, stride := len(raw), int64(4)
		typ := ctype.IntT
		for _, n := range x.counts {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(n))
			raw = binary.LittleEndian.AppendUint64(raw, uint64(stride))
			stride *= n
			typ = ctype.ArrayOf(typ, -1)
		}
		raw = binary.LittleEndian.AppendUint64(raw, 0)
		s := &event.Schema{Place: "p", RecordSize: len(raw), Fields: []event.Field{{
			Name: "a", Type: typ, Kind: event.Counted, Offset: 64, Size: head - 64, StatusOffset: -1,
			Grid: &event.Grid{Elem: ctype.IntT, Rank: len(x.counts), Offset: head},
		}}}
		ev := &event.Event{Schema: s, Raw: raw}
		v := ev.Value(0)
		if got := string((&Printer{}).AppendField(nil, ev, &v)); got != x.text {
			t.Errorf("%v: %s, want %s", x.counts, got, x.text)
		}
		if got := string(jsonCounted(nil, &v)); got != x.json {
			t.Errorf("%v: %s, want %s", x.counts, got, x.json)
		}
		sameAfterTravel(t, ev, &event.Remember{})
	}
}
