package amd64

import (
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// paperProgram is the condition of the paper, 2*counter1+3*counter2 < 0, and a
// record of both counters.
func paperProgram() *ir.Program {
	b := ir.NewBuilder("paper")
	rec, no := b.NewBlock("record"), b.NewBlock("false")
	c1, c2 := b.Reg(5), b.Reg(4)
	sum := b.Bin(ir.Add, 4, b.Bin(ir.Mul, 4, c1, b.Const(2)), b.Bin(ir.Mul, 4, c2, b.Const(3)))
	b.Branch(b.Bin(ir.SLt, 4, sum, b.Const(0)), rec, no)
	b.Start(rec)
	b.Emit(ir.Instr{Op: ir.Reserve, Imm: 32, Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock})
	b.Emit(ir.Instr{Op: ir.Put, W: 4, Imm: 24, Dst: ir.None, A: c1, B: ir.None, Fault: ir.NoBlock})
	b.Emit(ir.Instr{Op: ir.Put, W: 4, Imm: 28, Dst: ir.None, A: c2, B: ir.None, Fault: ir.NoBlock})
	b.Emit(ir.Instr{Op: ir.Commit, Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock})
	b.Exit()
	b.Start(no)
	b.Emit(ir.Instr{Op: ir.Count, Imm: ring.CounterFalse, Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock})
	b.Exit()
	return b.Finish()
}

func testLayout(base uint64) ring.Layout {
	return ring.Layout{
		Control: base, Counters: base + 0x1000, CounterStride: 0x1000, CounterStep: 8, Rings: base + 0x100000,
		RingStride: 0x80000, RingSize: 0x10000, SiteID: 6, CPUMask: 3, RDPID: true, FSGSBASE: true,
	}
}

func TestPaperListing(t *testing.T) {
	p := paperProgram()
	if err := ir.Check(p); err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []Config{
		{Addr: 0x555555550000, Layout: testLayout(0x555555600000), DeadGPR: 1<<RAX | 1<<RCX | 1<<RDX, DeadFlags: true},
		{Addr: 0x555555550000, Layout: testLayout(0x555555600000)},
		{Addr: 0x555555550000, Layout: testLayout(0x7f5555600000), DeadGPR: 1<<R11 | 1<<RAX | 1<<R9 | 1<<R10, DeadFlags: false},
	} {
		c, err := Compile(p, cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d bytes\n%s", len(c.Bytes), strings.Join(c.Listing(), "\n"))
	}
}

// TestBranchOnPC: rip at a site of a program at fixed addresses is a number that fits
// an instruction, and a branch may test it like any other value.
func TestBranchOnPC(t *testing.T) {
	p := parse(t, "b0:\nv0 = reg rip\nbrif v0 -> b1 else b2\nb1:\ncount 0\nexit\nb2:\ncount 1\nexit\n")
	c, err := Compile(p, Config{Addr: 0x10000000, PC: 0x401136, Layout: testLayout(0x10100000)})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(c.Listing(), "\n"); !strings.Contains(text, "0x401136") {
		t.Errorf("the address of the site is missing in\n%s", text)
	}
}
