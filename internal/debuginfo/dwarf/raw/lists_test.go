package raw

import (
	"fmt"
	"testing"
)

// TestList reads an entry of each kind, by the numbers that each section has for it.
func TestList(t *testing.T) {
	indexed := func(i uint64) (uint64, bool) { return 0x1000 * i, i < 4 }
	for _, c := range []struct {
		what  string
		kinds []ListEntry
		bytes []byte
		want  string
	}{
		{"offset_pair", RangeEntries, []byte{4, 1, 2, 0}, "101-102"},
		{"base_addressx", RangeEntries, []byte{1, 2, 4, 1, 2, 0}, "2001-2002"},
		{"base_addressx that is not there", RangeEntries, []byte{4, 1, 2, 1, 9, 4, 1, 2, 0}, "101-102"},
		{"startx_endx", RangeEntries, []byte{2, 1, 3, 0}, "1000-3000"},
		{"startx_endx, the end not there", RangeEntries, []byte{2, 1, 9, 4, 1, 2, 0}, "unknown 101-102"},
		{"startx_length", LocationEntries, []byte{3, 2, 0x81, 1, 0}, "2000-2081"},
		{"base_address", RangeEntries, []byte{5, 0, 3, 0, 0, 4, 1, 2, 0}, "301-302"},
		{"start_end", RangeEntries, []byte{6, 0, 3, 0, 0, 0, 4, 0, 0, 0}, "300-400"},
		{"start_length", RangeEntries, []byte{7, 0, 3, 0, 0, 5, 0}, "300-305"},
		{"default_location", LocationEntries, []byte{5, 0}, "default"},
		{"base_address of locations", LocationEntries, []byte{6, 0, 3, 0, 0, 4, 1, 2, 0}, "301-302"},
		{"start_end of locations", LocationEntries, []byte{7, 0, 3, 0, 0, 0, 4, 0, 0, 0}, "300-400"},
		{"start_length of locations", LocationEntries, []byte{8, 0, 3, 0, 0, 5, 0}, "300-305"},
		{"view_pair", LocationEntries, []byte{9, 0x80, 1, 7, 4, 1, 2, 0}, "101-102"},
		{"startx_length, split", SplitEntries, []byte{3, 2, 4, 1, 0, 0, 0}, "2000-2104"},
		{"offset_pair, split", SplitEntries, []byte{4, 1, 0, 0, 0, 2, 0, 0, 0, 0}, "101-102"},
		{"a kind that is not known", SplitEntries, []byte{4, 1, 0, 0, 0, 2, 0, 0, 0, 5}, "101-102"},
		{"a list that is cut off", RangeEntries, []byte{4, 1, 2, 4, 1}, "101-102 cut"},
	} {
		got := ""
		cur := At(c.bytes, 0)
		cur.List(c.kinds, Addresses{Base: 0x100, Size: 4, Indexed: indexed}, func(kind ListEntry, lo, hi uint64, known bool) bool {
			word := fmt.Sprintf("%x-%x", lo, hi)
			switch {
			case cur.Bad:
				word = "cut"
			case !known:
				word = "unknown"
			case kind == DefaultLocation:
				word = "default"
			}
			if got != "" {
				got += " "
			}
			got += word
			return true
		})
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
