package ir_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/ir"
)

// large is a program as it comes from a collect list of n fields that may all
// fault: a status byte each, two blocks each.
func large(n int) *ir.Program {
	b := ir.NewBuilder("large")
	out := b.NewBlock("false")
	bad := b.NewBlock("condition fault", ir.I64)
	p := b.Reg(5)
	x := b.Load(4, true, p, 8, bad)
	record := b.NewBlock("record")
	b.Branch(b.Bin(ir.SLt, 4, x, b.Const(0)), record, out)
	b.Start(record)
	off := int64(ir.RecordHeader + n)
	off += -off & 7
	b.Emit(ir.Instr{Op: ir.Reserve, Imm: off + 8*int64(n)})
	for k := range n {
		fault, next := b.NewBlock("fault", ir.I64), b.NewBlock("")
		at := b.Bin(ir.Add, 8, p, b.Const(int64(k/2)*8))
		v := b.Load(8, false, at, 0, fault)
		slot := off + int64(k)*8
		b.Emit(ir.Instr{Op: ir.Put, W: 8, A: v, Imm: slot})
		b.Jump(next)
		b.Start(fault)
		b.Emit(ir.Instr{Op: ir.Put, W: 8, A: b.Param(fault, 0), Imm: slot})
		b.Emit(ir.Instr{Op: ir.Put, W: 1, A: b.Const(1), Imm: ir.RecordHeader + int64(k)})
		b.Jump(next)
		b.Start(next)
	}
	b.Emit(ir.Instr{Op: ir.Commit})
	b.Exit()
	b.Start(bad)
	b.Emit(ir.Instr{Op: ir.Count, Imm: 1})
	b.Exit()
	b.Start(out)
	b.Emit(ir.Instr{Op: ir.Count, Imm: 0})
	b.Exit()
	return b.Finish()
}

// TestLarge: a long list is no reason to wait.
func TestLarge(t *testing.T) {
	ir.CheckEach = false
	defer func() { ir.CheckEach = true }()
	p := large(1000)
	before := size(p)
	start := processorTime(t)
	if err := ir.Optimize(p); err != nil {
		t.Fatal(err)
	}
	took := processorTime(t) - start
	if err := ir.Check(p); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d instructions to %d in %v", before, size(p), took)
	if took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// processorTime is what this process has used of the processors: on a busy machine the
// clock shows the others' work.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
