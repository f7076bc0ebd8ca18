package types

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
)

func TestPromote(t *testing.T) {
	flex := OfUint(5)
	str := func(n int64) *Type { return StringOf(n) }
	for _, c := range []struct {
		a, b *Type
		want string
	}{
		{NoneT, Int8, "int8"},
		{NoneT, CountT, "int64"},
		{NoneT, Aggregate(Sum, false), "uint64"},
		{Int8, Int16, "int16"},
		{Uint8, Int8, "int16"},
		{Uint32, Int8, "int64"},
		{Uint64, Int64, "int64"},
		{Uint64, Int8, "int64"},
		{flex, Uint8, "uint8"},
		{Uint64, flex, "uint64"},
		{flex, Int64, "int64"},
		{OfUint(300), Uint8, "uint16"},
		{str(3), str(9), "string[9]"},
		{str(9), str(3), "string[9]"},
		{str(3), Int8, ""},
		{TupleOf([]*Type{Int8, str(2)}), TupleOf([]*Type{Int32, str(5)}), "(int32,string[5])"},
		{TupleOf([]*Type{Int8}), TupleOf([]*Type{Int8, Int8}), ""},
		{RecordOf([]Field{{Name: "a", Type: Int8}, {Name: "b", Type: Int8}}), RecordOf([]Field{{Name: "b", Type: Int16}, {Name: "a", Type: Int64}}), "record { .a = int64, .b = int16 }"},
		{Int8, FloatT, "double"},
		{CountT, Int8, "int64"},
		{HistT, HistT, "hist_t"},
		{Aggregate(Sum, false), Aggregate(Sum, true), "sum_t"},
		{PointerTo(Int8, Kernel), PointerTo(Int8, User), "int8 *"},
		{PointerTo(Int8, Kernel), PointerTo(str(3), User), ""},
		{StackOf(KStack, "perf", 3), StackOf(KStack, "perf", 4), ""},
	} {
		got := ""
		if p := Promote(c.a, c.b); p != nil {
			got = p.String()
		}
		if got != c.want {
			t.Errorf("%s and %s: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		a, b *Type
		want bool
	}{
		{Int8, Int16, true},
		{Int16, Int8, false},
		{Uint8, Int16, true},
		{Uint8, Int8, false},
		{Int8, Uint64, false},
		{OfUint(5), Uint8, true},
		{StringOf(3), StringOf(3), true},
		{StringOf(4), StringOf(3), false},
		{TupleOf([]*Type{Int8}), TupleOf([]*Type{Int16}), true},
		{TupleOf([]*Type{Int16}), TupleOf([]*Type{Int8}), false},
		{BoolT, Int8, false},
	} {
		if Fits(c.a, c.b) != c.want {
			t.Errorf("%s in %s: %v", c.a, c.b, !c.want)
		}
	}
}

func TestLayout(t *testing.T) {
	tu := TupleOf([]*Type{Int8, Int32, StringOf(3), Int16, ArrayOf(Int64, 2), Int8})
	offsets := []int64{0, 4, 8, 12, 16, 32}
	for i, f := range tu.Fields {
		if f.Offset != offsets[i] {
			t.Errorf("element %d at %d, want %d", i, f.Offset, offsets[i])
		}
	}
	if tu.Size != 40 {
		t.Errorf("size %d", tu.Size)
	}
}

func TestFromC(t *testing.T) {
	self := &ctype.Type{Kind: ctype.Struct, Name: "list", Size: 8}
	self.SetFields([]ctype.Field{{Name: "next", Type: ctype.PointerTo(self)}})
	for _, c := range []struct {
		c    *ctype.Type
		want string
	}{
		{ctype.IntT, "int32"},
		{ctype.UCharT, "uint8"},
		{ctype.BoolT, "bool"},
		{ctype.DoubleT, "double"},
		{ctype.VoidT, "void"},
		{ctype.ArrayOf(ctype.CharT, 16), "string[16]"},
		{ctype.ArrayOf(ctype.UCharT, 4), "uint8[4]"},
		{ctype.ArrayOf(ctype.IntT, 3), "int32[3]"},
		{ctype.PointerTo(self), "struct list *"},
		{ctype.PointerTo(&ctype.Type{Kind: ctype.Func, Elem: ctype.VoidT}), "void *"},
		{ctype.PointerTo(ctype.PointerTo(ctype.CharT)), "int8 * *"},
		{&ctype.Type{Kind: ctype.Complex, Size: 16}, "none"},
		{&ctype.Type{Kind: ctype.Typedef, Name: "u32", Elem: ctype.UIntT}, "uint32"},
	} {
		if got := FromC(c.c).String(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if !Same(FromC(ctype.PointerTo(self)), FromC(ctype.PointerTo(self))) {
		t.Error("a type is not the same as itself")
	}
}
