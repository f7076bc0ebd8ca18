package patch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const base = 0x401000

// jumpTable reads memory at 0x600000 that has the entries, and nothing else.
func jumpTable(entries ...uint64) func(uint64, int) ([]byte, error) {
	var b []byte
	for _, e := range entries {
		b = binary.LittleEndian.AppendUint64(b, e)
	}
	return func(addr uint64, n int) ([]byte, error) {
		if addr < 0x600000 || addr+uint64(n) > 0x600000+uint64(len(b)) {
			return nil, errors.New("not mapped")
		}
		return b[addr-0x600000:][:n], nil
	}
}

// TestMake: what decides between the tactics. The site is at base+off.
func TestMake(t *testing.T) {
	tests := []struct {
		name, code string
		off        uint64
		change     func(*Code, *Options)
		want       Tactic
		n          int    // bytes displaced
		why        string // part of the reasons against what is better
	}{
		{"one long", "b8 01 00 00 00 c3", 0, nil, Jump, 5, ""},
		{"longer", "48 b8 01 02 03 04 05 06 07 08 c3", 0, nil, Jump, 10, ""},
		{"two", "55 48 89 e5 5d c3", 0, nil, JumpMany, 5, "1 bytes"},
		{"up to a call", "55 e8 00 00 00 00 5d c3", 0, nil, JumpMany, 6, ""},
		{"call inside", "ff d0 48 89 c3 c3", 0, nil, Trapping, 2, "returns inside"},
		{"jcc inside is fine", "74 10 48 89 c3 90 90 90 90 90 90 90 90 90 90 90 90 90 c3", 0, nil, JumpMany, 5, ""},
		{"branch into", "55 48 89 e5 31 c0 ff c0 eb fc", 0, nil, JumpMany, 6, ""},
		{"branch into the second", "31 c0 ff c0 83 f8 05 75 f9 c3", 0, nil, Trapping, 2, "a branch may come to 0x401002"},
		{"branch to the site itself", "ff c0 83 f8 05 75 f9 c3", 0, nil, JumpMany, 5, ""},
		{"landing pad", "55 48 89 e5 5d c3", 0, func(c *Code, o *Options) { c.LandingPads = []uint64{base + 1} }, Trapping, 1, "0x401001"},
		{"entry", "55 48 89 e5 5d c3", 0, func(c *Code, o *Options) { c.Entries = []uint64{base + 4} }, Trapping, 0, "0x401004"},
		{"cold part comes back", "55 48 89 e5 5d c3", 0, func(c *Code, o *Options) {
			c.Extra = []Region{{0x400800, []byte{0xe9, 0xfc, 0x07, 0, 0}}}
		}, Trapping, 1, "a branch may come to 0x401001"},
		{"other function of the text", "55 48 89 e5 5d c3", 0, func(c *Code, o *Options) {
			c.Text = codeOnly(Region{base - 8, append([]byte{0xe9, 4, 0, 0, 0, 0xcc, 0xcc, 0xcc}, c.Bytes...)})
		}, Trapping, 1, "another function"},
		{"rel8 of the text", "55 48 89 e5 5d c3", 0, func(c *Code, o *Options) {
			c.Text = codeOnly(Region{base - 8, append([]byte{0x74, 7, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc}, c.Bytes...)})
		}, Trapping, 1, "another function"},
		{"lea of a label", "55 48 89 e5 48 8d 05 f6 ff ff ff 5d c3", 0, nil, Trapping, 1, "0x401001"},
		{"address in an immediate", "55 48 89 e5 b8 04 10 40 00 5d c3", 0, nil, Trapping, 1, "0x401004"},
		{"ends too early", "31 c0 c3", 0, nil, Trapping, 2, "the function ends"},
		{"end with padding", "31 c0 c3 0f 1f 44 00 00 55 48 89 e5", 0, nil, JumpMany, 8, ""},
		{"padding, then code", "31 c0 c3 90 55 48 89 e5", 0, nil, Trapping, 2, "the block ends"},
		{"padding after the function", "31 c0 c3 90 90", 0, func(c *Code, o *Options) { c.Hi = base + 3 }, JumpMany, 5, ""},
		{"jumped-to padding", "74 02 c3 90 90 90 c3", 2, nil, Trapping, 1, ""},
		{"computed goto", "55 48 89 e5 ff e0", 0, func(c *Code, o *Options) { c.ReadMem = jumpTable() }, Trapping, 1, "indirect jump"},
		{"computed goto, one long", "b8 00 00 00 00 ff e0", 0, nil, Jump, 5, ""},
		{"absolute table", "55 48 89 e5 ff 24 c5 00 00 60 00 c3", 0, func(c *Code, o *Options) { c.ReadMem = jumpTable(base + 11) }, JumpMany, 11, ""},
		{"absolute table into the site", "55 48 89 e5 ff 24 c5 00 00 60 00 c3", 0, func(c *Code, o *Options) { c.ReadMem = jumpTable(base+11, 0, 7, base+1) }, Trapping, 1, "0x401001"},
		{"table without entries", "55 48 89 e5 ff 24 c5 00 00 60 00 c3", 0, func(c *Code, o *Options) { c.ReadMem = jumpTable(0, 0, 0) }, Trapping, 1, "not a jump table"},
		{"tail call through the GOT", "55 48 89 e5 5d ff 25 f5 ef 1f 00", 0, func(c *Code, o *Options) { c.ReadMem = jumpTable(0x7f0000001000) }, JumpMany, 5, ""},
		{"goto through a pointer", "55 48 89 e5 5d ff 25 f5 ef 1f 00", 0, func(c *Code, o *Options) { c.ReadMem = jumpTable(base + 1) }, Trapping, 1, "0x401001"},
		{"branch over lock", "74 01 f0 0f b1 15 00 00 00 00 c3", 2, nil, Trapping, 8, "0x401003"},
		{"data in the function", "eb 02 06 06 55 48 89 e5 c3", 4, func(c *Code, o *Options) { o.Boundary = true }, Trapping, 1, "cannot decode"},
		{"data in the function, one long", "eb 02 06 06 b8 01 00 00 00 c3", 4, func(c *Code, o *Options) { o.Boundary = true }, Jump, 5, ""},
		{"avoided", "b8 01 00 00 00 c3", 0, func(c *Code, o *Options) { o.Avoid = 1 << Jump }, Trapping, 5, "not wanted"},
		{"pun", "ff d0 48 89 00 00 00 00 c3", 0, func(c *Code, o *Options) { o.Pun = true }, Pun, 2, "returns inside"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code := unhex(t, tt.code)
			c := &Code{Lo: base, Hi: base + uint64(len(code)), Bytes: code}
			var o Options
			if tt.change != nil {
				tt.change(c, &o)
			}
			p, err := Make(c, base+tt.off, o)
			if err != nil {
				t.Fatal(err)
			}
			if p.Tactic != tt.want || tt.n != 0 && p.Len != tt.n {
				t.Errorf("%s over %d bytes (%s)", p.Tactic, p.Len, p.reasons())
			}
			if !strings.Contains(p.reasons(), tt.why) {
				t.Errorf("refused: %s", p.reasons())
			}
			checkEdits(t, p, code[tt.off:])
		})
	}
}

// checkEdits: an edit covers whole displaced instructions, has the old bytes, and jumps to the trampoline.
func checkEdits(t *testing.T, p *Plan, old []byte) {
	t.Helper()
	at := p.Addr + 0x10000
	if r := p.Ranges(); len(r) > 0 {
		at = r[0].Lo
	}
	edits, err := p.Edits(at)
	if err != nil || len(edits) != 1 {
		t.Fatal(edits, err)
	}
	e := edits[0]
	if e.Addr != p.Addr || len(e.Old) != len(e.New) || string(e.Old) != string(old[:len(e.Old)]) {
		t.Errorf("edit %+v", e)
	}
	patched := append([]byte(nil), old...)
	copy(patched, e.New)
	in, err := Decode(patched, p.Addr)
	switch {
	case err != nil:
		t.Error(err)
	case p.Tactic == Trapping:
		if len(e.New) != 1 || in.Class != Int3 {
			t.Errorf("% x", e.New)
		}
	case in.Class != Jmp || in.Target != at || len(e.New) != p.Len:
		t.Errorf("% x leads to %#x, not %#x", e.New, in.Target, at)
	}
}

// TestImpossible: places that no tactic can serve.
func TestImpossible(t *testing.T) {
	for _, tt := range []struct {
		code string
		off  uint64
		why  string
	}{
		{"55 48 89 e5 c3", 2, "no instruction begins there"},
		{"55 48 89 e5 c3", 9, "outside the function"},
		{"c7 f8 00 00 00 00 c3", 0, "transaction"},
		{"48 cf", 0, "far transfer"},
		{"67 8b 05 00 00 00 00 c3", 0, "32-bit rip-relative"},
		{"06 06 55 c3", 2, "not known whether"},
		{"06 06 55 c3", 0, "cannot decode"},
		{"74 01 b8 90 90 90 90 c3", 2, "not known whether"},
	} {
		code := unhex(t, tt.code)
		p, err := Make(&Code{Lo: base, Hi: base + uint64(len(code)), Bytes: code}, base+tt.off, Options{})
		var ie *ImpossibleError
		if !errors.As(err, &ie) || !strings.Contains(ie.Why, tt.why) {
			t.Errorf("%s: %v, plan %+v", tt.code, err, p)
		}
	}
}

// TestEmitInserts: sites inside a plan are served by insert, and the pairs say
// where everything is.
func TestEmitInserts(t *testing.T) {
	code := unhex(t, "55 48 89 e5 31 c0 5d c3")
	p, err := Make(&Code{Lo: base, Hi: base + 8, Bytes: code}, base, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Inner, []uint64{base + 1, base + 4}) {
		t.Errorf("inner %#x", p.Inner)
	}
	got, pcs, err := p.Emit(0x500000, func(addr, at uint64) ([]byte, error) {
		if addr == base+1 {
			return []byte{0x90, 0x90}, nil
		}
		return nil, nil
	})
	want := unhex(t, "55 90 90 48 89 e5 31 c0 e9 f9 0f f0 ff")
	if err != nil || string(got) != string(want) {
		t.Errorf("% x %v", got, err)
	}
	if want := []PCPair{{base, 0x500000, 0x500000, 0x500001}, {base + 1, 0x500001, 0x500003, 0x500006}, {base + 4, 0x500006, 0x500006, 0x500008}}; !slices.Equal(pcs, want) {
		t.Errorf("pcs %#x", pcs)
	}
	fail := errors.New("no room")
	if _, _, err := p.Emit(0x500000, func(addr, at uint64) ([]byte, error) { return nil, fail }); !errors.Is(err, fail) {
		t.Error(err)
	}
	if _, err := p.Edits(0x7f0000000000); err == nil {
		t.Error("an edit over more than 2 GB")
	}
}

// TestDeadAt: one line for each way a path can go.
func TestDeadAt(t *testing.T) {
	tests := []struct {
		name, code string
		opt        Options
		gpr        RegSet
		flags      bool
	}{
		{"overwritten", "b8 01 00 00 00 c3", Options{}, RAX, false},
		{"read first", "89 c3 b8 01 00 00 00 c3", Options{}, RBX, false},
		{"partly", "b0 01 b8 01 00 00 00 c3", Options{}, 0, false},
		{"flags by cmp", "39 c3 c3", Options{}, 0, true},
		{"flags by inc: not all", "ff c3 c3", Options{}, 0, false},
		{"zero idiom", "31 c9 c3", Options{}, RCX, true},
		{"ret", "c3", Options{}, 0, false},
		{"ret, ABI", "c3", Options{ABI: true}, 0, true},
		{"call, ABI", "31 c9 e8 00 00 00 00", Options{ABI: true}, RCX, true},
		{"one side reads", "74 03 31 c0 c3 89 c3 c3", Options{}, 0, false},
		{"both sides write", "74 03 31 c0 c3 b8 00 00 00 00 c3", Options{}, RAX, false},
		{"loop that reads later", "31 c0 ff c0 39 d8 75 fa 31 c9 89 d9 c3", Options{}, RAX | RCX, true},
		{"endless", "eb fe", Options{}, AllGPR &^ RSP, true},
		{"jump out", "31 c0 eb 70", Options{}, RAX, true},
		{"indirect", "31 c0 ff e1", Options{}, RAX, true},
		{"stack pointer", "48 89 ec c3", Options{}, 0, false},
		{"syscall", "31 c0 0f 05", Options{}, RAX, true},
		{"undecodable", "31 c0 06", Options{}, RAX, true},
		{"push is a read", "53 31 db c3", Options{}, 0, true},
	}
	for _, tt := range tests {
		code := unhex(t, tt.code)
		c := &Code{Lo: base, Hi: base + uint64(len(code)), Bytes: code}
		if gpr, flags := DeadAt(c, base, tt.opt); gpr != tt.gpr || flags != tt.flags {
			t.Errorf("%s: %016b %v, want %016b %v", tt.name, gpr, flags, tt.gpr, tt.flags)
		}
	}
	c := &Code{Lo: base, Hi: base + 6, Bytes: unhex(t, "8b 03 31 c9 5b c3"), AsyncEH: true}
	if gpr, flags := DeadAt(c, base, Options{}); gpr != 0 || flags {
		t.Errorf("asynchronous exceptions: %016b %v", gpr, flags)
	}
	cold := &Code{Lo: base, Hi: base + 5, Bytes: unhex(t, "e9 fb 0f 00 00"), Extra: []Region{{base + 0x1000, unhex(t, "31 c0 c3")}}}
	if gpr, _ := DeadAt(cold, base, Options{}); gpr != RAX {
		t.Errorf("through the cold part: %016b", gpr)
	}
}

// codeOnly is a module of nothing but code.
func codeOnly(code ...Region) func() (*Text, error) {
	t := &Text{Code: code}
	return func() (*Text, error) { return t, nil }
}

// TestData: what control flow does not lead to in a function written by hand is no place if anything refers to it, even
// if it can be decoded: it may be data.
func TestData(t *testing.T) {
	// mov 4(%rip),%rax; add %rdi,%rax; ret; then 8 bytes that read as "mov %rax,%rbx", "xor %eax,%eax" ...
	const own = "48 8b 05 04 00 00 00 48 01 f8 c3 48 89 c3 31 c0 31 c9 c3"
	// The same bytes, which only another function refers to: lea -n(%rip),%rax; ret.
	const foreign = "90 90 90 90 90 90 90 48 01 f8 c3 48 89 c3 31 c0 31 c9 c3"
	for _, tt := range []struct {
		name, code string
		off        uint64
		vouched    bool
		refers     bool
		ok         bool
	}{
		{"code", own, 7, false, false, true},
		{"data that the function reads", own, 11, false, false, false},
		{"inside these data", own, 14, false, false, false},
		{"a line of the source", own, 11, true, false, true},
		{"data that another function reads", foreign, 14, false, true, false},
		{"dead code", foreign, 14, false, false, true},
	} {
		code := unhex(t, tt.code)
		other := Region{base + 0x100, unhex(t, "48 8d 05 04 ff ff ff c3")} // lea base+11
		if !tt.refers {
			other.Bytes = unhex(t, "c3")
		}
		c := &Code{Lo: base, Hi: base + uint64(len(code)), Bytes: code, Apart: true, Text: codeOnly(Region{base, code}, other)}
		c.Entries = []uint64{base + 11} // a label
		if tt.vouched {
			c.Vouched = func() []uint64 { return []uint64{base + tt.off} }
		}
		_, err := Make(c, base+tt.off, Options{Boundary: true})
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestBudget: a walk that is too long leaves everything alive.
func TestBudget(t *testing.T) {
	code := append([]byte(strings.Repeat("\x90", 100)), 0x31, 0xc0, 0xc3)
	if gpr, flags := DeadAt(&Code{Lo: base, Hi: base + uint64(len(code)), Bytes: code}, base, Options{}); gpr != 0 || flags {
		t.Errorf("%016b %v", gpr, flags)
	}
}

// TestBranchInto compares with a decoder at every offset.
func TestBranchInto(t *testing.T) {
	code := unhex(t, "55 74 02 48 89 e5 e9 00 00 00 00 0f 85 f0 ff ff ff c3")
	for lo := range uint64(24) {
		for hi := lo; hi < 24; hi++ {
			want := false
			for off := range code {
				in, err := Decode(code[off:], base+uint64(off))
				want = want || err == nil && in.Target > base+lo && in.Target < base+hi
			}
			if got := BranchInto(code, base, base+lo, base+hi); want && !got {
				t.Errorf("(%d,%d): missed", lo, hi)
			}
		}
	}
	if BranchInto(code, base, base+100, base+200) {
		t.Error("found what is not there")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"48 89 d8", "c5 f8 77", "62 f1 75 48 fe 05 00 00 00 00", "8f e8 78 a2 c1 20", "0f 0f c1 9e", "67 e3 05", "f0 48 0f c7 0f"} {
		f.Add(unhex(f, s), uint64(base))
	}
	f.Fuzz(func(t *testing.T, code []byte, addr uint64) {
		in, err := Decode(code, addr)
		if err != nil {
			return
		}
		if in.Len < 1 || in.Len > maxLen || in.Len > len(code) || in.RIPOff+4 > in.Len && in.RIPOff != 0 {
			t.Fatalf("% x: %+v", code, in)
		}
		again, err := Decode(code[:in.Len], addr)
		if err != nil || fmt.Sprint(again) != fmt.Sprint(in) {
			t.Fatalf("% x: depends on what follows", code)
		}
		if in.Unknown && in.Writes != 0 {
			t.Fatalf("% x: unknown, but writes", code)
		}
	})
}

func FuzzMake(f *testing.F) {
	f.Add(unhex(f, "55 48 89 e5 ff 24 c5 00 00 60 00 c3"), uint16(0), uint8(3), []byte{1, 2, 3})
	f.Add(unhex(f, "48 8d 05 f9 ff ff ff 48 63 14 88 48 01 c2 ff e2 c3"), uint16(3), uint8(1), []byte{})
	f.Fuzz(func(t *testing.T, code []byte, off uint16, opts uint8, data []byte) {
		lo := uint64(base)
		if opts&16 != 0 {
			lo = ^uint64(0) - uint64(len(code)) - 1
		}
		c := &Code{Lo: lo, Hi: lo + uint64(len(code)), Bytes: code, AsyncEH: opts&4 != 0, Extra: []Region{{0x300000, data}}}
		if opts&8 != 0 {
			c.ReadMem = func(addr uint64, n int) ([]byte, error) {
				if len(data) == 0 {
					return nil, errors.New("nothing")
				}
				return data[:min(n, len(data))], nil
			}
			c.Text = codeOnly(Region{lo, code})
		}
		o := Options{Boundary: opts&1 != 0, Pun: opts&2 != 0}
		DeadAt(c, lo+uint64(off), o)
		p, err := Make(c, lo+uint64(off), o)
		if err != nil {
			return
		}
		if p.Tactic <= JumpMany && p.Len < jumpLen || p.Addr != lo+uint64(off) {
			t.Fatalf("%+v", p)
		}
		at := p.Addr + 0x100000
		if r := p.Ranges(); len(r) > 0 {
			at = r[0].Hi - 1
		}
		if _, err := p.Edits(at); err != nil {
			t.Fatal(err)
		}
		out, pcs, err := p.Emit(at, nil)
		var far *FarError
		if err != nil && !errors.As(err, &far) {
			t.Fatal(err)
		}
		if err == nil && (len(out) == 0 || len(pcs) == 0) {
			t.Fatalf("%+v", p)
		}
	})
}

// TestResumed: where control may return to any instruction, no jump covers several.
func TestResumed(t *testing.T) {
	code := []byte{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3} // nops, ret
	for _, why := range []string{"", "goroutines return anywhere"} {
		c := &Code{Lo: 0x1000, Hi: 0x1000 + uint64(len(code)), Bytes: code, Resumed: why}
		p, err := Make(c, 0x1000, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if many := p.Tactic == JumpMany; many != (why == "") {
			t.Errorf("%q: %v, refused %v", why, p.Tactic, p.Refused)
		}
	}
}

// middle is an address from which jumps in both directions end in the address space.
const middle = 0x555555401000

// TestAfterPun: the trampoline of a punned jump executes the instructions that the jump lies over, and jumps back
// behind the jump; which, and where it jumps, by what follows.
func TestAfterPun(t *testing.T) {
	const base = middle
	for _, tt := range []struct {
		name, code  string
		after, kept int
		back        uint64 // from the start; 0: it leaves before
	}{
		{"two are enough", "01 f7 83 c0 01 89 05 00 01 00 00 c3", 2, 9, 11},
		{"to the end of the window", "01 f7 90 90 90 89 c0 c3", 4, 5, 7},
		{"a branch", "01 f7 75 02 89 c0 31 c0 c3", 2, 4, 6},
		{"a jump", "01 f7 eb 02 89 c0 31 c0 c3", 1, 4, 0},
		{"a return", "01 f7 c3 00 00 00 00 00 00", 1, 4, 0},
		{"a call", "01 f7 e8 00 00 00 00 c3", 0, 4, 2},
		{"a call later", "01 f7 89 c0 e8 00 00 00 00 c3", 1, 4, 4},
		{"a system call", "01 f7 0f 05 89 c0 c3", 0, 4, 2},
		{"a trap", "01 f7 0f 0b 89 00 00 c3", 0, 4, 2},
		{"no instruction", "01 f7 06 06 06 00 c3", 0, 4, 2},
		{"a call is displaced", "ff d0 89 c0 31 00 c3", 0, 4, 0},
	} {
		code := unhex(t, tt.code)
		c := &Code{Lo: base, Hi: base + uint64(len(code)), Bytes: code}
		p, err := Make(c, base, Options{Pun: true, Boundary: true, Avoid: 1<<Jump | 1<<JumpMany})
		if err != nil || p.Tactic != Pun {
			t.Errorf("%s: %+v, %v", tt.name, p, err)
			continue
		}
		_, pcs, err := p.Emit(base+0x100000, nil)
		if err != nil || len(pcs) != 1+tt.after {
			t.Errorf("%s: %d pairs, %v", tt.name, len(pcs), err)
			continue
		}
		for i, pair := range pcs {
			if pair.Orig != p.Inst(i).Addr || pair.Entry != pair.Copy || i > 0 && pair.Copy != pcs[i-1].End {
				t.Errorf("%s: pair %d: %+v", tt.name, i, pair)
			}
		}
		back, ok := p.Back(pcs)
		if ok != (tt.back > 0) || ok && back != base+tt.back {
			t.Errorf("%s: back to %#x, %v", tt.name, back, ok)
		}
		if len(p.Kept) != tt.kept || p.End() != base+2+uint64(tt.kept) || !bytes.Equal(p.Kept, code[2:2+tt.kept]) {
			t.Errorf("%s: keeps % x, to %#x", tt.name, p.Kept, p.End())
		}
	}
}

// TestAfterPunFar: where a copy could not reach its operand, the trampoline jumps back before it.
func TestAfterPunFar(t *testing.T) {
	const base = middle
	code := unhex(t, "01 f7 89 c0 8b 05 00 01 00 00 c3") // add; mov; mov 0x100(%rip)
	c := &Code{Lo: base, Hi: base + uint64(len(code)), Bytes: code}
	p, err := Make(c, base, Options{Pun: true, Avoid: 1<<Jump | 1<<JumpMany})
	if err != nil || len(p.After) != 2 {
		t.Fatal(p, err)
	}
	for at, want := range map[uint64]uint64{base + 0x100000: base + 10, base + 1<<40: base + 4} {
		_, pcs, err := p.Emit(at, nil)
		if err != nil {
			t.Fatal(err)
		}
		if back, ok := p.Back(pcs); !ok || back != want {
			t.Errorf("from %#x back to %#x, want %#x", at, back, want)
		}
	}
}
