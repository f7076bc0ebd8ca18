package memory

import "testing"

// TestPlaceIn: below the stack or the libraries, at a distance, else in the largest gap; no hint where there is little room.
func TestPlaceIn(t *testing.T) {
	const g = 1 << 30
	for _, c := range []struct {
		name string
		maps []Mapping
		want uint64
	}{
		{"usual", []Mapping{{Start: 0x555500000000, End: 0x555500010000}, {Start: 0x7f0000000000, End: 0x7f0000100000}, {Start: 0x7ffc00000000, End: 0x7ffc00021000}, {Start: 0xffffffffff600000, End: 0xffffffffff601000}}, 0x7ffc00000000 - 16*g},
		{"stack near", []Mapping{{Start: 0x555500000000, End: 0x555500010000}, {Start: 0x7ff000000000, End: 0x7ff000100000}, {Start: 0x7ff400000000, End: 0x7ff400021000}}, 0x7ff000000000 - 16*g},
		{"small gaps", []Mapping{{Start: 0x10000, End: 8 * g}, {Start: 12 * g, End: 0x7fffffff0000}}, 10 * g},
		{"full", []Mapping{{Start: 0x10000, End: 8 * g}, {Start: 8*g + leastPlace/2, End: 0x7fffffff0000}}, 0},
		{"nothing", nil, 0},
	} {
		if got := placeIn(c.maps); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
	s := &Space{place: 1 << 40}
	a, b := s.Place(1), s.Place(3*PageSize)
	if a != 1<<40-2*PageSize || b != a-4*PageSize {
		t.Errorf("%#x, %#x", a, b)
	}
}
