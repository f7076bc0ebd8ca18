package event

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// gridEvent is an event with one array of words of 4 bytes, the bytes of whose slot count from 0.
func gridEvent(size, length int, flags uint32, words ...int64) *Event {
	var raw []byte
	raw = binary.LittleEndian.AppendUint32(raw, uint32(length))
	raw = binary.LittleEndian.AppendUint32(raw, flags)
	for i := range size {
		raw = append(raw, byte(i))
	}
	for _, w := range words {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(w))
	}
	rank := len(words) / 2
	f := Field{Kind: Counted, Offset: 0, Size: 8 + size, StatusOffset: -1, Grid: &Grid{Elem: ctype.IntT, Rank: rank, Offset: 8 + size}}
	return &Event{Raw: raw, Schema: &Schema{Fields: []Field{f}}}
}

// firsts are the first bytes of the elements.
func firsts(v *Value) (out []byte) {
	for i := 0; i+4 <= len(v.Data); i += 4 {
		out = append(out, v.Data[i])
	}
	return out
}

// TestSpread: the elements of arrays by their distances.
func TestSpread(t *testing.T) {
	for _, x := range []struct {
		name   string
		ev     *Event
		want   []byte
		counts []int64
		cut    bool
	}{
		{"one behind the other", gridEvent(16, 12, 0, 3, 4, 0), []byte{0, 4, 8}, []int64{3}, false},
		{"every second", gridEvent(24, 20, 0, 3, 8, 0), []byte{0, 8, 16}, []int64{3}, false},
		{"backwards", gridEvent(24, 20, 0, 3, -8, 16), []byte{16, 8, 0}, []int64{3}, false},
		{"two dimensions", gridEvent(64, 28, 0, 2, 4, 2, 20, 0), []byte{0, 4, 20, 24}, []int64{2, 2}, false},
		{"one of two backwards", gridEvent(64, 28, 0, 2, -4, 2, 20, 4), []byte{4, 0, 24, 20}, []int64{2, 2}, false},
		{"longer than its slot", gridEvent(16, 16, 1, 9, 4, 0), []byte{0, 4, 8, 12}, []int64{9}, true},
		{"backwards, longer than its slot", gridEvent(16, 16, 1, 9, -4, 32), nil, []int64{9}, true},
		{"no elements", gridEvent(16, 0, 0, 3, 4, 0, 12, 0), nil, []int64{3, 0}, false},
		{"a negative number", gridEvent(16, 0, 0, -3, 4, 0), nil, []int64{0}, false},
		{"the same element again", gridEvent(16, 4, 0, 3, 0, 0), []byte{0, 0, 0}, []int64{3}, false},
		{"numbers that cannot be", gridEvent(16, 16, 0, 1<<62, 1<<62, 1<<40, -1<<62, 8), []byte{8}, []int64{1 << 62, 1 << 40}, true},
	} {
		v := x.ev.Value(0)
		if v.Status != OK || !slices.Equal(firsts(&v), x.want) || !slices.Equal(v.Counts, x.counts) || v.Truncated != x.cut {
			t.Errorf("%s: status %d, elements %v of %v, truncated %v", x.name, v.Status, firsts(&v), v.Counts, v.Truncated)
		}
	}
}

// TestSpreadAny: whatever the numbers in a record are, no more bytes come out than its slot has.
func TestSpreadAny(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	any := func() int64 {
		switch r.IntN(4) {
		case 0:
			return int64(r.Uint64())
		case 1:
			return -r.Int64N(20)
		}
		return r.Int64N(20)
	}
	for range 20_000 {
		words := make([]int64, 2*(1+r.IntN(3))+1)
		for i := range words {
			words[i] = any()
		}
		size := 4 * r.IntN(12)
		ev := gridEvent(size, r.IntN(64), uint32(r.IntN(2)), words...)
		if v := ev.Value(0); v.Status == OK && (len(v.Data) > size+8 || len(v.Data)%4 != 0) {
			t.Fatalf("%v: %d bytes of a slot of %d", words, len(v.Data), size)
		}
	}
}
