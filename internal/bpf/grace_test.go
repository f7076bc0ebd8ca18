package bpf

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// longRun is a program that runs for a tenth of a second or longer: it copies 64 kB again and again. Its buffer begins with how many times it has begun, and
// ended.
func longRun() asm.Instructions {
	const copies, size = 40_000, 64 << 10
	return asm.Instructions{
		asm.LoadMapValue(asm.R7, 0, 0).WithReference("long"),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R7, asm.R1, asm.DWord, 0),
		asm.Mov.Imm(asm.R6, 0),
		asm.Mov.Reg(asm.R1, asm.R7).WithSymbol("again"),
		asm.Add.Imm(asm.R1, 64),
		asm.Mov.Imm(asm.R2, size),
		asm.Mov.Reg(asm.R3, asm.R1),
		asm.FnProbeReadKernel.Call(),
		asm.Add.Imm(asm.R6, 1),
		asm.JLT.Imm(asm.R6, copies, "again"),
		asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(asm.R7, asm.R1, asm.DWord, 8),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}
}

// TestGrace: a grace is over only when the programs have ended that were running when it began.
func TestGrace(t *testing.T) {
	k := openKernel(t)
	if !k.Features().HasCap(unix.CAP_SYS_ADMIN) {
		t.Skip("identifiers of maps need CAP_SYS_ADMIN")
	}
	buf, err := k.NewBuffer("long", 64<<10+64)
	check(t, err)
	defer buf.Close()
	prog, err := k.Load(Program{Name: "long", Insns: longRun(), Kind: RawTracepoint, Buffers: []*Buffer{buf}})
	check(t, err)
	defer prog.Close()
	begun, ended := (*uint64)(unsafe.Pointer(&buf.Memory()[0])), (*uint64)(unsafe.Pointer(&buf.Memory()[8]))
	for n := range uint64(3) {
		done := make(chan error, 1)
		go func() {
			_, err := prog.forms[formOne].Run(&ebpf.RunOptions{Context: []uint64{0}})
			done <- err
		}()
		waitFor(t, "the program", func() bool { return atomic.LoadUint64(begun) > n })
		g, err := k.Grace(k.Features().Sleepable.OK)
		check(t, err)
		early := atomic.LoadUint64(ended) == n
		waitFor(t, "the end of the grace", func() bool {
			over, err := g.Over()
			check(t, err)
			return over
		})
		if now := atomic.LoadUint64(ended); now != n+1 {
			t.Fatalf("the grace is over, and %d of %d runs have ended", now, n+1)
		}
		if !early {
			t.Log("the run had ended when the grace began")
		}
		check(t, <-done)
	}
}
