package dwarf

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/loc"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// opNames shortens the wanted expressions below.
var opNames = map[debuginfo.OpCode]string{
	debuginfo.OpConst: "const", debuginfo.OpAddr: "addr", debuginfo.OpReg: "reg", debuginfo.OpTLS: "tls",
	debuginfo.OpDeref: "deref", debuginfo.OpDup: "dup", debuginfo.OpDrop: "drop", debuginfo.OpPick: "pick",
	debuginfo.OpSwap: "swap", debuginfo.OpRot: "rot", debuginfo.OpAdd: "add", debuginfo.OpAddConst: "add+",
	debuginfo.OpSub: "sub", debuginfo.OpMul: "mul", debuginfo.OpDiv: "div", debuginfo.OpMod: "mod",
	debuginfo.OpAnd: "and", debuginfo.OpShra: "shra", debuginfo.OpLt: "lt", debuginfo.OpBra: "bra",
	debuginfo.OpSkip: "skip", debuginfo.OpConvert: "convert", debuginfo.OpNe: "ne",
	debuginfo.OpUDiv: "udiv", debuginfo.OpSMod: "smod", debuginfo.OpShr: "shr", debuginfo.OpULt: "ult", debuginfo.OpNone: "none",
	debuginfo.OpVector: "vector", debuginfo.OpFAdd: "fadd", debuginfo.OpFLt: "flt", debuginfo.OpFToF: "ftof", debuginfo.OpFToS: "ftos",
	debuginfo.OpSToF: "stof", debuginfo.OpUToF: "utof", debuginfo.OpXor: "xor", debuginfo.OpAbs: "abs",
}

func pieceText(ps []debuginfo.Piece) string {
	var out []string
	for _, p := range ps {
		s := ""
		switch p.Kind {
		case debuginfo.InMemory:
			s = "mem"
		case debuginfo.InRegister:
			s = fmt.Sprint("reg", p.Reg)
		case debuginfo.IsValue:
			s = "val"
		case debuginfo.IsBytes:
			s = fmt.Sprintf("bytes%x", p.Bytes)
		case debuginfo.IsMissing:
			s = strings.TrimSpace("missing " + p.Why)
		}
		if p.BitSize > 0 {
			s += fmt.Sprintf("/%d", p.BitSize)
		}
		if p.BitOffset > 0 {
			s += fmt.Sprintf("@%d", p.BitOffset)
		}
		for _, o := range p.Expr {
			s += " " + opNames[o.Code]
			if o.Arg != 0 || o.Code == debuginfo.OpReg || o.Code == debuginfo.OpConst {
				s += fmt.Sprint(o.Arg)
			}
		}
		out = append(out, s)
	}
	return strings.Join(out, "; ")
}

// typedUnit is a unit whose entries at these offsets are base types: 12 an int,
// 16 an unsigned int, 20 a long, 24 a double, 28 an __int128, 32 an unsigned long, 36 a float, 40 a long double.
func typedUnit() *unit {
	abbrevs := []byte{1, tagBaseType, 0, atByteSize, raw.FormData1, atEncoding, raw.FormData1, 0, 0, 0}
	info := make([]byte, 64)
	put := func(off int, size, enc byte) { copy(info[off:], []byte{1, size, enc}) }
	put(11, 0, 0)
	put(12, 4, ateSigned)
	put(16, 4, ateUnsigned)
	put(20, 8, ateSigned)
	put(24, 8, ateFloat)
	put(28, 16, ateSigned)
	put(32, 8, ateUnsigned)
	put(36, 4, ateFloat)
	put(40, 16, ateFloat)
	d := newData(assemble("x", nil, Options{}).info, "x", func(s section) ([]byte, error) {
		if s == secAbbrev {
			return abbrevs, nil
		}
		return nil, nil
	})
	return newUnit(&unit{d: d, b: info, end: uint64(len(info)), root: 11, f: raw.Format{Version: 5, AddrSize: 8}})
}

// TestLocationExpressions covers the operations that compilers rarely emit.
func TestLocationExpressions(t *testing.T) {
	for _, c := range []struct {
		name  string
		expr  []byte
		entry bool
		want  string // pieces, or "!" and part of the reason
	}{
		{"frame base", []byte{0x91, 0x6c}, false, "mem reg6 add+-20"},
		{"call frame cfa", []byte{0x9c, 0x23, 8}, false, "mem reg7 add+16 add+8"},
		{"address", []byte{0x03, 1, 2, 0, 0, 0, 0, 0, 0}, false, "mem addr513"},
		{"tls", []byte{0x0e, 8, 0, 0, 0, 0, 0, 0, 0, 0xe0}, false, "mem const8 tls"},
		{"register", []byte{0x53}, false, "reg3"},
		{"regx xmm1", []byte{0x90, 18}, false, "reg18"},
		{"two registers", []byte{0x55, 0x93, 8, 0x54, 0x93, 4}, false, "reg5/64; reg4/32"},
		{"missing half", []byte{0x55, 0x93, 8, 0x93, 8}, false, "reg5/64; missing/64"},
		{"bit piece", []byte{0x50, 0x9d, 5, 3}, false, "reg0/5@3"},
		{"mixed pieces", []byte{0x32, 0x9f, 0x93, 4, 0x91, 0, 0x93, 4}, false, "val/32 const2; mem/32 reg6"},
		{"implicit value", []byte{0x9e, 2, 0xab, 0xcd}, false, "bytesabcd"},
		{"value", []byte{0x75, 1, 0x08, 0xff, 0x1a, 0x9f}, false, "val reg5 add+1 const255 and"},
		{"constants", []byte{0x09, 0xff, 0x0b, 0xfe, 0xff, 0x0d, 1, 0, 0, 0, 0x22, 0x22, 0x9f}, false, "val const-1 const-2 const1 add add"},
		{
			"stack",
			[]byte{0x31, 0x32, 0x33, 0x17, 0x14, 0x15, 2, 0x16, 0x13, 0x12, 0x9f},
			false,
			"val const1 const2 const3 rot pick1 pick2 swap drop dup",
		},
		{"bra", []byte{0x31, 0x75, 0, 0x28, 1, 0, 0x20 - 0x02, 0x9f}, false, "!underflow"},
		{"bra forward", []byte{0x35, 0x75, 0, 0x28, 2, 0, 0x23, 9, 0x9f}, false, "val const5 reg5 bra4 add+9"},
		{"bra backward", []byte{0x31, 0x28, 0xfc, 0xff, 0x9f}, false, "!loops"},
		{"skip", []byte{0x35, 0x2f, 2, 0, 0x23, 9, 0x9f}, false, "val const5 skip2"},
		{"entry value", []byte{0xa3, 1, 0x55, 0x9f}, false, "!entry"},
		{"entry value at the entry", []byte{0xa3, 1, 0x55, 0x9f}, true, "val reg5"},
		{"entry value of memory", []byte{0xa3, 3, 0x75, 0, 0x06, 0x9f}, true, "!entry"},
		{"implicit pointer", []byte{0xa0, 1, 0, 0, 0, 0}, false, "!no address"},
		{
			"implicit pointer beside a register",
			[]byte{0x55, 0x93, 8, 0xa0, 1, 0, 0, 0, 0, 0x93, 8, 0x91, 0, 0x93, 4},
			false,
			"reg5/64; missing it is a pointer to an object that has no address here (DW_OP_implicit_pointer)/64; mem/32 reg6",
		},
		{
			"entry value beside a register",
			[]byte{0xa3, 1, 0x55, 0x31, 0x22, 0x9f, 0x93, 8, 0x54, 0x93, 8},
			false,
			"missing optimised out: only its value at the function's entry is known (DW_OP_entry_value)/64; reg4/64",
		},
		{"only entry values", []byte{0xa3, 1, 0x55, 0x9f, 0x93, 8, 0x93, 8}, false, "!entry"},
		{"floating beside a register", []byte{0xa5, 17, 24, 0x31, 0x22, 0x9f, 0x93, 8, 0x54, 0x93, 8}, false, "missing its location mixes types/64; reg4/64"},
		{"malformed beside a register", []byte{0x54, 0x93, 8, 0x22, 0x9f, 0x93, 8}, false, "!underflow"},
		{"parameter ref", []byte{0xfa, 1, 0, 0, 0, 0x9f}, false, "!caller"},
		{"deref sizes", []byte{0x75, 0, 0x94, 4, 0x06, 0x9f}, false, "val reg5 deref4 deref8"},
		{"deref size 3", []byte{0x75, 0, 0x94, 3, 0x9f}, false, "!3 bytes"},
		{"unknown", []byte{0xee}, false, "!unknown operation"},
		{"truncated", []byte{0x0e, 1}, false, "!truncated"},
		{"underflow", []byte{0x22, 0x9f}, false, "!underflow"},
		{"after the value", []byte{0x31, 0x9f, 0x31}, false, "!after the value"},
		{"regval and convert", []byte{0xa5, 5, 12, 0xa8, 20, 0x9f}, false, "val reg5 convert-4"},
		{"typed add wraps", []byte{0xa5, 5, 16, 0xa5, 4, 16, 0x22, 0x9f}, false, "val reg5 convert4 reg4 convert4 add convert4"},
		{"typed constant", []byte{0xa4, 12, 4, 0xff, 0xff, 0xff, 0xff, 0x9f}, false, "val const4294967295 convert-4"},
		{"signed remainder", []byte{0xa5, 5, 12, 0xa5, 4, 12, 0x1d, 0x9f}, false, "val reg5 convert-4 reg4 convert-4 smod convert-4"},
		{"unsigned division", []byte{0xa5, 5, 16, 0xa5, 4, 16, 0x1b, 0x9f}, false, "val reg5 convert4 reg4 convert4 udiv convert4"},
		{"shift of a signed word", []byte{0xa5, 5, 12, 0x32, 0x25, 0x9f}, false, "val reg5 convert-4 const2 swap convert4 swap shr convert-4"},
		{"shift with the sign of an unsigned word", []byte{0xa5, 5, 16, 0x32, 0x26, 0x9f}, false, "val reg5 convert4 const2 swap convert-4 swap shra convert4"},
		{"mixed types", []byte{0xa5, 5, 16, 0xa5, 4, 12, 0x22, 0x9f}, false, "!mixes types"},
		{"floating", []byte{0xa5, 17, 24, 0x9f}, false, "val vector17"},
		{"floating sum", []byte{0xa5, 17, 24, 0xa5, 18, 36, 0xa8, 24, 0x22, 0x9f}, false, "val vector17 vector18 convert4 ftof8 fadd8"},
		{"floating comparison", []byte{0xa5, 17, 24, 0xa4, 24, 8, 0, 0, 0, 0, 0, 0, 0, 0x40, 0x2d, 0x9f}, false, "val vector17 const4611686018427387904 flt8"},
		{"signs of floating", []byte{0xa5, 17, 24, 0x1f, 0xa8, 36, 0x19, 0x9f}, false, "val vector17 const-9223372036854775808 xor ftof4 const-2147483649 and"},
		{"floating to int", []byte{0xa5, 17, 36, 0xa8, 12, 0x9f}, false, "val vector17 convert4 ftos4 convert-4"},
		{"int to floating", []byte{0xa5, 5, 16, 0xa8, 24, 0x9f}, false, "val reg5 convert4 stof8"},
		{"generic to floating", []byte{0x75, 0, 0xa8, 36, 0x9f}, false, "val reg5 stof4"},
		{"unsigned long to floating", []byte{0xa5, 5, 32, 0xa8, 24, 0x9f}, false, "val reg5 utof8"},
		{"floating to unsigned long", []byte{0xa5, 17, 24, 0xa8, 32, 0x9f}, false, "!unsigned one"},
		{"floating in memory", []byte{0x75, 0, 0xa6, 4, 36, 0xa8, 24, 0x9f}, false, "val reg5 deref4 convert4 ftof8"},
		{"bits of floating", []byte{0xa5, 17, 24, 0xa9, 20, 0x31, 0x22, 0x9f}, false, "val vector17 const1 add"},
		{"floating as an address", []byte{0xa5, 17, 24, 0x06, 0x9f}, false, "!for an address"},
		{"floating and bits", []byte{0xa5, 17, 24, 0xa5, 17, 24, 0x1a, 0x9f}, false, "!takes the bits"},
		{"long double", []byte{0xa5, 17, 40, 0x9f}, false, "!of another size"},
		{"generic and long", []byte{0xa5, 5, 20, 0x31, 0x22, 0x32, 0x1b, 0x9f}, false, "val reg5 const1 add const2 div"},
		{"generic and unsigned long", []byte{0xa5, 5, 32, 0x31, 0x22, 0x9f}, false, "val reg5 const1 add"},
		{"generic and unsigned long divided", []byte{0xa5, 5, 32, 0x32, 0x1b, 0x9f}, false, "!mixes types"},
		{"remainder of generic and long", []byte{0xa5, 5, 20, 0x32, 0x1d, 0x9f}, false, "!mixes types"},
		{"absolute of an unsigned long", []byte{0xa5, 5, 32, 0x19, 0x9f}, false, "val reg5"},
		{"typed over a branch", []byte{0xa5, 5, 12, 0x75, 0, 0x28, 2, 0, 0x23, 9, 0xa5, 4, 12, 0x22, 0x9f}, false, "val reg5 convert-4 reg5 bra6 add+9 convert-4 reg4 convert-4 add convert-4"},
		{"unequal types behind a branch", []byte{0xa5, 5, 12, 0x75, 0, 0x28, 2, 0, 0xa8, 16, 0x9f}, false, "!unequal effect"},
		{"int128", []byte{0xa5, 5, 28, 0x9f}, false, "!wider than 64"},
		{"convert to generic", []byte{0xa5, 5, 12, 0xa8, 0, 0x31, 0x22, 0x9f}, false, "val reg5 convert-4 const1 add"},
		{"bad type", []byte{0xa5, 5, 60, 0x9f}, false, "!malformed"},
	} {
		env := &loc.Env{
			Unit: typedUnit(), AddrSize: 8, AtEntry: c.entry,
			CFA:       []debuginfo.Op{{Code: debuginfo.OpReg, Arg: 7}, {Code: debuginfo.OpAddConst, Arg: 16}},
			FrameBase: func() ([]debuginfo.Op, string) { return []debuginfo.Op{{Code: debuginfo.OpReg, Arg: 6}}, "" },
		}
		pieces, why := env.Translate(c.expr)
		got := pieceText(pieces)
		if w, bad := strings.CutPrefix(c.want, "!"); bad {
			if !strings.Contains(why, w) {
				t.Errorf("%s: %q, reason %q; want the reason %q", c.name, got, why, w)
			}
		} else if got != c.want || why != "" {
			t.Errorf("%s: %q (%s), want %q", c.name, got, why, c.want)
		}
	}
}

// TestLocationLists covers every kind of list entry.
func TestLocationLists(t *testing.T) {
	list := func(version uint16, dwo bool, b []byte) []loc.Entry {
		addrs := []byte{0x00, 0x10, 0, 0, 0, 0, 0, 0, 0x00, 0x20, 0, 0, 0, 0, 0, 0}
		d := newData(assemble("x", nil, Options{}).info, "x", func(s section) ([]byte, error) {
			if s == secAddr {
				return addrs, nil
			}
			return b, nil
		})
		d.dwo = dwo
		u := newUnit(&unit{d: d, f: raw.Format{Version: version, AddrSize: 8}})
		u.headOnce.Do(func() { u.hd.low = 0x100 })
		return u.locList(val{raw.Value{Form: raw.FormSecOffset}, u})
	}
	q := func(v ...uint64) (b []byte) {
		for _, x := range v {
			for i := range 8 {
				b = append(b, byte(x>>(8*i)))
			}
		}
		return b
	}
	cat := func(bs ...[]byte) (out []byte) {
		for _, b := range bs {
			out = append(out, b...)
		}
		return out
	}
	e := []byte{0x50}
	for _, c := range []struct {
		name    string
		version uint16
		dwo     bool
		b       []byte
		want    []loc.Entry
	}{
		{"offset pair", 5, false, []byte{4, 1, 5, 1, 0x50, 0}, []loc.Entry{{Lo: 0x101, Hi: 0x105, Expr: e}}},
		{"views and base", 5, false, cat([]byte{9, 1, 2, 6}, q(0x5000), []byte{4, 0, 8, 1, 0x50, 0}), []loc.Entry{{Lo: 0x5000, Hi: 0x5008, Expr: e}}},
		{"base addressx", 5, false, []byte{1, 1, 4, 0, 8, 1, 0x50, 0}, []loc.Entry{{Lo: 0x2000, Hi: 0x2008, Expr: e}}},
		{"startx endx", 5, false, []byte{2, 0, 1, 1, 0x50, 0}, []loc.Entry{{Lo: 0x1000, Hi: 0x2000, Expr: e}}},
		{"startx length", 5, false, []byte{3, 1, 4, 1, 0x50, 0}, []loc.Entry{{Lo: 0x2000, Hi: 0x2004, Expr: e}}},
		{"default", 5, false, []byte{5, 1, 0x50, 0}, []loc.Entry{{Expr: e, Default: true}}},
		{"start end", 5, false, cat([]byte{7}, q(1, 9), []byte{1, 0x50, 0}), []loc.Entry{{Lo: 1, Hi: 9, Expr: e}}},
		{"start length", 5, false, cat([]byte{8}, q(16), []byte{9, 1, 0x50, 0}), []loc.Entry{{Lo: 16, Hi: 25, Expr: e}}},
		{"empty and bad ranges", 5, false, []byte{4, 5, 5, 1, 0x50, 4, 9, 3, 1, 0x50, 0}, []loc.Entry{{Lo: 0x105, Hi: 0x105, Expr: e}}},
		{"version 4, empty", 4, false, cat(q(8, 8), []byte{1, 0, 0x50}, q(0, 0)), []loc.Entry{{Lo: 0x108, Hi: 0x108, Expr: e}}},
		{"GNU split, empty", 4, true, []byte{3, 1, 0, 0, 0, 0, 1, 0, 0x50, 0}, []loc.Entry{{Lo: 0x2000, Hi: 0x2000, Expr: e}}},
		{"unknown kind", 5, false, []byte{0x77, 1, 2}, nil},
		{
			"version 4", 4, false, cat(q(0, 4), []byte{1, 0, 0x50}, q(^uint64(0), 0x9000, 2, 3), []byte{1, 0, 0x50}, q(0, 0)),
			[]loc.Entry{{Lo: 0x100, Hi: 0x104, Expr: e}, {Lo: 0x9002, Hi: 0x9003, Expr: e}},
		},
		{"GNU split", 4, true, []byte{3, 1, 4, 0, 0, 0, 1, 0, 0x50, 0}, []loc.Entry{{Lo: 0x2000, Hi: 0x2004, Expr: e}}},
		{"truncated", 4, false, q(1, 2), nil},
	} {
		if got := list(c.version, c.dwo, c.b); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	l := []loc.Entry{{Lo: 1, Hi: 5, Expr: e}, {Default: true, Expr: []byte{0x51}}}
	if x, ok := loc.Pick(l, 7, false); !ok || x[0] != 0x51 {
		t.Error("the default location is not taken")
	}
	if x, ok := loc.Pick(l, 2, false); !ok || x[0] != 0x50 {
		t.Error("the default location is taken where another holds")
	}
	// What gcc writes of int f(int x) { x++; ... }: the first is what f was called with.
	l = []loc.Entry{{Lo: 4, Hi: 4, Expr: e}, {Lo: 4, Hi: 4, Expr: []byte{0x52}}, {Lo: 4, Hi: 9, Expr: []byte{0x51}}}
	if x, ok := loc.Pick(l, 4, true); !ok || x[0] != 0x50 {
		t.Error("the value at the function's entry is not taken")
	}
	for pc, entry := range map[uint64]bool{4: false, 5: false, 8: true} {
		if x, ok := loc.Pick(l, pc, entry); !ok || x[0] != 0x51 {
			t.Errorf("pc %d: a location without extent is taken where no function starts", pc)
		}
	}
}

// TestConstants covers DW_AT_const_value.
func TestConstants(t *testing.T) {
	for _, c := range []struct {
		v    val
		t    *ctype.Type
		want string
	}{
		{val{Value: raw.Value{Form: raw.FormSdata, N: ^uint64(2)}}, ctype.IntT, "bytesfdffffff"},
		{val{Value: raw.Value{Form: raw.FormData1, N: 200}}, ctype.IntT, "bytesc8000000"},
		{val{Value: raw.Value{Form: raw.FormUdata, N: 1}}, ctype.CharT, "bytes01"},
		{val{Value: raw.Value{Form: raw.FormSdata, N: ^uint64(0)}}, &ctype.Type{Kind: ctype.Int, Size: 16, Signed: true}, "bytesffffffffffffffffffffffffffffffff"},
		{val{Value: raw.Value{Form: raw.FormBlock1, B: []byte{1, 2, 3}}}, ctype.DoubleT, "bytes010203"},
		{val{raw.Value{Form: raw.FormString, B: []byte("hi")}, newUnit(&unit{d: newData(nil, "", nil)})}, ctype.ArrayOf(ctype.CharT, 3), "bytes686900"},
	} {
		if got := pieceText(constant(c.v, c.t).Pieces); got != c.want {
			t.Errorf("%+v: %s, want %s", c.v, got, c.want)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pat, s string
		want   bool
	}{
		{"*", "", true},
		{"a*", "abc", true},
		{"a*c", "abcd", false},
		{"*b*", "abc", true},
		{"a?c", "abc", true},
		{"[a-c]x", "bx", true},
		{"[!a-c]x", "bx", false},
		{"[", "[", true},
		{"ns::*", "ns::f<int>", true},
		{"f", "ff", false},
	} {
		if globMatch(c.pat, c.s) != c.want {
			t.Errorf("%q on %q: want %v", c.pat, c.s, c.want)
		}
	}
}
