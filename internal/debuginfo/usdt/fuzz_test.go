package usdt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// text writes an argument in one spelling.
func (a *Arg) text() string {
	size := fmt.Sprint(a.Size)
	if a.Signed {
		size = "-" + size
	}
	if a.Float {
		size += "f"
	}
	return size + "@" + a.op.text()
}

func (o *operand) text() string {
	switch o.kind {
	case opReg:
		return "%" + o.reg.text()
	case opImm:
		return "$" + o.disp.text()
	}
	s := o.disp.text()
	if o.seg != "" {
		s = "%" + o.seg + ":" + s
	}
	if o.base.num == regNone && o.index.num == regNone {
		return s
	}
	s += "("
	if o.base.num != regNone {
		s += "%" + o.base.text()
	}
	if o.index.num != regNone {
		s += ",%" + o.index.text()
	}
	if o.scale != 1 {
		if o.index.num == regNone {
			s += ","
		}
		s += fmt.Sprintf(",%d", o.scale)
	}
	return s + ")"
}

func (r register) text() string {
	for n, x := range native.registers {
		if x == r {
			return n
		}
	}
	return "?"
}

func (n number) text() string {
	if n.sym == "" {
		return fmt.Sprint(n.val)
	}
	s := `"` + n.sym + `"`
	if n.rel != "" {
		s = n.sym + "@" + n.rel
	}
	return fmt.Sprintf("%s+%d", s, n.val)
}

// FuzzArgs: whatever is understood means the same when it is written in full;
// the number of arguments never depends on what they say.
func FuzzArgs(f *testing.F) {
	for _, s := range []string{
		"-4@%edi 8@-80(%rbx) 4@$5", "8f@%xmm0 4@(%rax,%rbx,8)", "8@symbol+16(%rip) 2@%fs:x@tpoff+4", "1@%ah -8@$(3-5)*7", "8@\"a b\"(%rip)",
		"-4@-4+8-20(%rbp)", "8@(,%rcx,4) 4@%gs:0x10", "8@~(1+-2)", "%rax", "16@(%rsp) 16f@32(%rsp)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, a := range ParseArgs(s) {
			if a.Type == nil {
				t.Fatalf("%q has no type", a.Text)
			}
			loc := (&placer{pc: 0x1000, syms: symbols, exec: true}).location(&a)
			if (loc.Pieces == nil) == (loc.Unavailable == "") {
				t.Fatalf("%q: location %+v", a.Text, loc)
			}
			if a.Err != nil || a.op.disp.sym == "" && a.op.disp.rel != "" {
				continue
			}
			again := ParseArgs(a.text())
			if strings.ContainsAny(a.op.disp.sym, " \t\n()") { // quoted names may hold what separates arguments
				continue
			}
			if len(again) != 1 || again[0].Err != nil || again[0].op != a.op || again[0].Size != a.Size || again[0].Signed != a.Signed {
				t.Fatalf("%q is written %q, which is %+v", a.Text, a.text(), again)
			}
		}
	})
}

// FuzzRead damages the notes of a program.
func FuzzRead(f *testing.F) {
	path := build(f, "gcc", "-O2", "demo.c")
	image, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	e, err := elf.New(path, image)
	if err != nil {
		f.Fatal(err)
	}
	sec, _ := e.Section(noteSection)
	f.Add(uint32(0), uint64(0xffffffff))
	f.Add(uint32(4), uint64(1<<40))
	f.Add(uint32(20), uint64(0))
	f.Fuzz(func(t *testing.T, off uint32, v uint64) {
		d := bytes.Clone(image)
		at := sec.Offset + uint64(off)%(sec.Size-8)
		binary.LittleEndian.PutUint64(d[at:], v)
		g, err := elf.New(path, d)
		if err != nil {
			return
		}
		probes, _ := Read(g)
		for i := range probes {
			p := &probes[i]
			if p.Offset >= uint64(len(d)) || p.SemOffset >= uint64(len(d)) {
				t.Fatalf("%+v is not in the file", p)
			}
			for _, a := range NewScope(p, g, true, nil).Args() {
				if a.Loc.Pieces == nil && a.Loc.Unavailable == "" || len(a.Loc.Pieces) > 0 && a.Loc.Pieces[0].Kind == debuginfo.InContext {
					t.Fatalf("%+v", a)
				}
			}
		}
	})
}
