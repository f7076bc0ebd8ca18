package sema

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// TestPadding: holes in a struct are no reason to have no value, members are.
func TestPadding(t *testing.T) {
	mixed := &ctype.Type{Kind: ctype.Struct, Name: "mixed", Size: 16} // int, hole, double
	mixed.SetFields([]ctype.Field{{Name: "i", Type: ctype.IntT}, {Name: "d", Type: ctype.DoubleT, BitOffset: 64}})
	flags := &ctype.Type{Kind: ctype.Struct, Name: "flags", Size: 4} // 20 bits of 32
	flags.SetFields([]ctype.Field{{Name: "a", Type: ctype.IntT, BitSize: 20}})
	for _, tt := range []struct {
		t      *ctype.Type
		lo, hi int64
		want   bool
	}{
		{mixed, 32, 64, false},
		{mixed, 32, 65, true},
		{mixed, 31, 64, true},
		{mixed, 64, 128, true},
		{mixed, 0, 128, true},
		{ctype.ArrayOf(mixed, 3), 128 + 32, 128 + 64, false},
		{ctype.ArrayOf(mixed, 3), 128, 160, true},
		{ctype.ArrayOf(mixed, 3), 32, 160, true},
		{flags, 24, 32, false},
		{flags, 16, 32, true},
		{ctype.IntT, 24, 32, true},
	} {
		if got := holdsValue(tt.t, tt.lo, tt.hi, 0); got != tt.want {
			t.Errorf("%s: bits %d to %d hold a value: %v", tt.t.Name, tt.lo, tt.hi, got)
		}
	}
	list := []debuginfo.Piece{{Kind: debuginfo.InRegister, BitSize: 32}, {Kind: debuginfo.IsMissing, BitSize: 32}, {Kind: debuginfo.IsMissing, BitSize: 64}}
	fillPadding(list, mixed)
	if list[1].Kind != debuginfo.IsBytes || len(list[1].Bytes) != 4 || list[2].Kind != debuginfo.IsMissing {
		t.Errorf("filled: %+v", list)
	}
}
