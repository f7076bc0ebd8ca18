package elf

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRadixSort: it sorts as a stable sort by comparing does.
func TestRadixSort(t *testing.T) {
	for _, n := range []int{0, 1, 2, 999, 1000, 1001, 5000} {
		for _, span := range []uint64{1, 2, 1 << 16, 1<<16 + 1, 1 << 33, 1<<64 - 1} {
			list := make([]keyed, n)
			for i := range list {
				list[i] = keyed{rand.Uint64N(span) + (1<<64-1-span)/2, int32(i)}
			}
			want := slices.Clone(list)
			slices.SortStableFunc(want, func(x, y keyed) int { return cmp.Compare(x.key, y.key) })
			if got := radixSort(list); !slices.Equal(got, want) {
				t.Errorf("%d keys of %#x", n, span)
			}
		}
	}
}
