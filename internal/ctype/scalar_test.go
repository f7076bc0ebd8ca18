package ctype

import "testing"

func TestExtend(t *testing.T) {
	for _, c := range []struct {
		n      uint64
		size   int64
		signed bool
		want   uint64
	}{
		{0x1ff, 1, false, 0xff},
		{0x1ff, 1, true, ^uint64(0)},
		{0x18000, 2, true, ^uint64(0x7fff)},
		{0x18000, 2, false, 0x8000},
		{0x1_8000_0000, 4, true, ^uint64(0x7fff_ffff)},
		{0x1_8000_0000, 4, false, 0x8000_0000},
		{1 << 63, 8, true, 1 << 63},
		{1 << 63, 0, false, 1 << 63},
	} {
		if got := Extend(c.n, c.size, c.signed); got != c.want {
			t.Errorf("Extend(%#x, %d, %v) = %#x, want %#x", c.n, c.size, c.signed, got, c.want)
		}
	}
}

// TestCMember: members of anonymous members are found at their place in the whole; a struct that contains itself ends the search.
func TestCMember(t *testing.T) {
	in := &Type{Kind: Union, Size: 4}
	in.SetFields([]Field{{Name: "x", Type: IntT}, {Name: "y", Type: IntT, BitOffset: 3, BitSize: 5}})
	out := &Type{Kind: Struct, Size: 12}
	out.SetFields([]Field{{Name: "a", Type: IntT}, {Type: in, BitOffset: 64}, {Name: "named", Type: in, BitOffset: 32}})
	for _, c := range []struct {
		name string
		off  int64
		ok   bool
	}{{"a", 0, true}, {"x", 64, true}, {"y", 67, true}, {"named", 32, true}, {"z", 0, false}, {"", 0, false}} {
		f, off, ok := out.CMember(c.name)
		if ok != c.ok || off != c.off || ok && f.Name != c.name {
			t.Errorf("%s: %+v %d %v", c.name, f, off, ok)
		}
	}
	loop := &Type{Kind: Struct, Size: 4}
	loop.SetFields([]Field{{Type: loop}})
	if _, _, ok := loop.CMember("z"); ok {
		t.Error("found in a loop")
	}
}
