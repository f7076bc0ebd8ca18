package patch

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestExits: what is a return, a tail call, a jump within the function, and what is in doubt.
func TestExits(t *testing.T) {
	const other = base + 0x1000 // where another function begins
	// jmpTo is a jump of an opcode at base+off to target.
	jmpTo := func(off uint64, target uint64, opcode ...byte) string {
		b := binary.LittleEndian.AppendUint32(opcode, uint32(target-(base+off+uint64(len(opcode))+4)))
		return fmt.Sprintf("% x", b)
	}
	frame := func(from, to uint64) func(uint64) (bool, bool) {
		return func(addr uint64) (bool, bool) { return addr < base+from || addr >= base+to, true }
	}
	for _, tt := range []struct {
		name, code string
		change     func(*Code, *Frames)
		want       string // offset and kind of each exit
		why        string
	}{
		{"return", "b8 01 00 00 00 c3", nil, "5 return", ""},
		{"all forms", "74 03 c2 08 00 74 02 f3 c3 f2 c3", nil, "2 return, 7 return, 9 return", ""},
		{"tail call", "5d " + jmpTo(1, other, 0xe9), nil, "1 tail", ""},
		{"conditional tail call", jmpTo(0, other, 0x0f, 0x84) + " c3", nil, "0 tail if, 6 return", ""},
		{"jump to its own start", "31 c0 eb fc", nil, "", ""},
		{"into the middle of another", jmpTo(0, other+1, 0xe9), nil, "", "where no function begins"},
		{"with its frame", "55 " + jmpTo(1, other, 0xe9), func(_ *Code, f *Frames) { f.Top = frame(1, 6) }, "", "before the return address is on top"},
		{"to its cold part", "55 " + jmpTo(1, other, 0xe9), func(c *Code, f *Frames) {
			f.Top, c.Extra = frame(1, 6), []Region{{other, []byte{0x5d, 0xc3}}}
		}, "", ""},
		{"never returns", "e8 00 10 00 00", nil, "", ""},
		{"trap", "0f 0b", nil, "", ""},
		{"runs on", "31 c0", nil, "", "into the code behind"},
		{"padding at the end", "c3 66 90", nil, "0 return", ""},
		{"far return", "cb", nil, "", "far transfer"},
		{"loop out of it", "e2 70 c3", nil, "", "leads out of it"},
		{"not decoded", "06 c3", nil, "", "cannot decode"},
		{"through the GOT", "5d ff 25 f9 ef 1f 00", func(c *Code, _ *Frames) { c.ReadMem = jumpTable(other) }, "1 tail", ""},
		{"goto through a pointer", "5d ff 25 f9 ef 1f 00", func(c *Code, _ *Frames) { c.ReadMem = jumpTable(base + 1) }, "", "leads into the function"},
		{"switch", "ff 24 c5 00 00 60 00 c3", func(c *Code, _ *Frames) { c.ReadMem = jumpTable(base+7, base+7) }, "7 return", ""},
		{"table of other functions", "ff 24 c5 00 00 60 00", func(c *Code, _ *Frames) { c.ReadMem = jumpTable(other, other) }, "", "element of a table"},
		{"virtual function", "48 8b 07 ff 60 18", func(c *Code, _ *Frames) { c.ReadMem = jumpTable() }, "3 tail", ""},
		{"pointer in a register", "48 8b 47 18 ff e0", func(c *Code, _ *Frames) { c.ReadMem = jumpTable() }, "4 tail", ""},
		{"pointer of the caller", "ff e7", func(c *Code, _ *Frames) { c.ReadMem = jumpTable() }, "0 tail", ""},
		{"pointer, with its frame", "50 ff e7", func(c *Code, f *Frames) { c.ReadMem, f.Top = jumpTable(), frame(1, 3) }, "", "not a jump table"},
		{"element of a table", "48 8b 04 f7 ff e0", func(c *Code, _ *Frames) { c.ReadMem = jumpTable() }, "", "element of a table"},
		{"element of a table, frame released", "50 48 8b 04 f7 48 83 c4 08 ff e0", func(c *Code, f *Frames) { c.ReadMem, f.Top = jumpTable(), frame(1, 9) }, "9 tail", ""},
		{"element of a table, registers restored", "50 48 8b 04 f7 59 48 89 c8 ff e0", func(c *Code, f *Frames) { c.ReadMem, f.Top = jumpTable(), frame(1, 6) }, "9 tail", ""},
		{"computed goto", "48 8d 05 02 00 00 00 ff e0 c3", func(c *Code, _ *Frames) { c.ReadMem = jumpTable() }, "", "may be data"},
		{"data behind a reference", "48 8b 05 01 00 00 00 c3 c3 c3 c3 c3 c3 c3 c3 c3", nil, "", "may be data"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code := unhex(t, tt.code)
			c := &Code{Lo: base, Hi: base + uint64(len(code)), Bytes: code}
			f := Frames{Top: func(uint64) (bool, bool) { return false, false }, Entry: func(addr uint64) bool { return addr == other }}
			if tt.change != nil {
				tt.change(c, &f)
			}
			exits, err := c.Exits(f)
			var got []string
			for _, x := range exits {
				s := fmt.Sprintf("%d return", x.Inst.Addr-base)
				if x.Tail {
					s = fmt.Sprintf("%d tail", x.Inst.Addr-base)
				}
				if x.Conditional() {
					s += " if"
				}
				got = append(got, s)
			}
			if text := strings.Join(got, ", "); text != tt.want {
				t.Errorf("exits %q, want %q", text, tt.want)
			}
			if (err != nil) != (tt.why != "") || err != nil && !strings.Contains(err.Error(), tt.why) {
				t.Errorf("error %v, want %q", err, tt.why)
			}
		})
	}
}

// TestCovering: a jump for a return of one byte takes padding behind it or instructions before it.
func TestCovering(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		off, free  uint64
		start      uint64
		want       Tactic
	}{
		{"padding", "5b c3 cc cc cc cc", 1, 0, 1, JumpMany},
		{"padding and running goroutines", "5b c3 cc cc cc cc", 1, 0, 1, JumpMany},
		{"restored registers", "48 83 c4 08 c3 55", 4, 0, 0, JumpMany},
		{"one before is enough", "5b 5d 41 5c c3 55", 4, 0, 0, JumpMany},
		{"a loop ends before it", "5b eb fd 5d c3 55", 4, 0, 4, Trapping},
		{"taken by another", "48 83 c4 08 c3 55", 4, base + 4, 4, Trapping},
		{"called from there", "e8 00 10 00 00 c3 55", 5, 0, 5, Trapping},
		{"long before it", "48 c7 c0 00 00 00 00 c3 55", 7, 0, 7, Trapping},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code := unhex(t, tt.code)
			c := &Code{Lo: base, Hi: base + uint64(len(code)), Bytes: code}
			if strings.Contains(tt.name, "goroutines") {
				c.Resumed = "goroutines"
			}
			p, err := Covering(c, base+tt.off, tt.free, Options{Boundary: true})
			if err != nil {
				t.Fatal(err)
			}
			if p.Tactic != tt.want || p.Addr != base+tt.start {
				t.Errorf("%v at %d, want %v at %d: %v", p.Tactic, p.Addr-base, tt.want, tt.start, p.Refused)
			}
			if !slices.ContainsFunc(p.Insts, func(in Inst) bool { return in.Addr == base+tt.off }) {
				t.Error("the plan does not cover the return")
			}
		})
	}
}
