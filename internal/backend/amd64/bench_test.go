package amd64

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// recordProgram records two ints, without condition.
func recordProgram() *ir.Program {
	b := ir.NewBuilder("record")
	none := ir.Instr{Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock}
	emit := func(op ir.Op, w uint8, imm int64, a ir.Value) {
		i := none
		i.Op, i.W, i.Imm, i.A = op, w, imm, a
		b.Emit(i)
	}
	emit(ir.Reserve, 0, 32, ir.None)
	emit(ir.Put, 4, 24, b.Reg(5))
	emit(ir.Put, 4, 28, b.Reg(4))
	emit(ir.Commit, 0, 0, ir.None)
	b.Exit()
	return b.Finish()
}

// registersProgram records registers by GDB's numbers, from..to-1 of each pair.
func registersProgram(b *testing.B, inUse bool, pairs ...int) *ir.Program {
	b.Helper()
	var list []int
	for ; len(pairs) > 0; pairs = pairs[2:] {
		for n := pairs[0]; n < pairs[1]; n++ {
			list = append(list, n)
		}
	}
	s := &agentexpr.Site{Actions: []agentexpr.Action{{Kind: agentexpr.CollectRegs, Regs: list}}}
	p, _, err := agentexpr.Lower(s, &agentexpr.Options{GSBase: true, AVX: true, InUse: inUse})
	if err == nil {
		err = ir.Optimize(p)
	}
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// recordSize is that of the largest record, or 32.
func recordSize(p *ir.Program) int64 {
	size := int64(32)
	for _, blk := range p.Blocks {
		for i := range blk.Instrs {
			if in := &blk.Instrs[i]; in.Op == ir.Reserve {
				size = max(size, in.Imm)
			}
		}
	}
	return size
}

// BenchmarkSite measures a call of a function with a patched site, in nanoseconds: without a patch, with
// hand-written trampolines, and with generated ones under several assumptions about dead registers at the
// site.
func BenchmarkSite(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "bench")
	if out, err := exec.Command("gcc", "-O2", "-fPIE", "-pie", "-o", bin, "testdata/bench.c").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(bin)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	out := bufio.NewReader(pipe)
	var arena, table, counters, rings uint64
	var rseq int32
	if _, err := fmt.Fscan(out, &arena, &table, &counters, &rings, &rseq); err != nil {
		b.Fatal(err)
	}
	layout := ring.Layout{
		Control: rings - 4096, Counters: counters, CounterStride: 4096, CounterStep: 8, Rings: rings,
		RingStride: 4 << 20, RingSize: 1 << 20, CPUMask: 3, RseqCPU: rseq, RDPID: true, FSGSBASE: true, AVX: true, XGETBV1: true,
	}
	const raxDead, manyDead = 1 << RAX, 1<<RAX | 1<<RCX | 1<<RDX | 1<<R8 | 1<<R9 | 1<<R10 | 1<<R11
	cold := arena + 1<<20
	locked := layout
	noRseq := layout
	noRseq.RseqCPU = 0
	layout.Registered = table
	layout.LockedCounters, layout.LockedRings = counters+4*layout.CounterStride, rings+4*layout.RingStride
	overwrite, lockedOverwrite := layout, locked
	overwrite.Overwrite, lockedOverwrite.Overwrite = true, true
	on, off, full := layout, layout, layout
	on.Switch, off.Switch = layout.Control+100, arena // where the code begins, which is not 0
	full.RingSize = 64 << 10
	for _, c := range []struct {
		name  string
		p     *ir.Program
		cfg   Config
		value int // of both arguments
	}{
		{"bare", nil, Config{}, 1},
		{"hand-false", nil, Config{}, 1},
		{"hand-rseq-false", nil, Config{}, 1},
		{"false/locked", paperProgram(), Config{Layout: locked, DeadGPR: raxDead, DeadFlags: true}, 1},
		{"false/rax+flags-dead", paperProgram(), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true}, 1},
		{"false/rax+flags-dead-split", paperProgram(), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true, ColdAddr: cold}, 1},
		{"false/nothing-dead-split", paperProgram(), Config{Layout: layout, ColdAddr: cold}, 1},
		{"false/many-dead", paperProgram(), Config{Layout: layout, DeadGPR: manyDead, DeadFlags: true}, 1},
		{"false/many-dead-rdpid", paperProgram(), Config{Layout: noRseq, DeadGPR: manyDead, DeadFlags: true}, 1},
		{"false/flags-live", paperProgram(), Config{Layout: layout, DeadGPR: manyDead}, 1},
		{"false/nothing-dead", paperProgram(), Config{Layout: layout}, 1},
		{"hand-record", nil, Config{}, 1},
		{"hand-rseq-record", nil, Config{}, 1},
		{"record/locked", recordProgram(), Config{Layout: locked, DeadGPR: raxDead, DeadFlags: true}, 1},
		{"record/rax+flags-dead", recordProgram(), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true}, 1},
		{"record/coarse-clock", recordProgram(), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true, Clock: ring.ClockCoarse}, 1},
		{"record/no-clock", recordProgram(), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true, Clock: ring.ClockNone}, 1},
		{"record/nothing-dead", recordProgram(), Config{Layout: layout}, 1},
		{"record/overwrite", recordProgram(), Config{Layout: overwrite, DeadGPR: raxDead, DeadFlags: true}, 1},
		{"record/overwrite-coarse-clock", recordProgram(), Config{Layout: overwrite, DeadGPR: raxDead, DeadFlags: true, Clock: ring.ClockCoarse}, 1},
		{"record/overwrite-locked", recordProgram(), Config{Layout: lockedOverwrite, DeadGPR: raxDead, DeadFlags: true}, 1},
		{"registers/general", registersProgram(b, false, 0, 24), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true}, 1},
		{"registers/general+xmm", registersProgram(b, false, 0, 24, 40, 57), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true}, 1},
		{"registers/all-but-x87", registersProgram(b, false, 0, 24, 40, 76), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true}, 1},
		{"registers/all", registersProgram(b, false, 0, 76), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true}, 1},
		{"registers/all-xgetbv", registersProgram(b, true, 0, 76), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true}, 1},
		{"registers/st0", registersProgram(b, false, 24, 25), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true}, 1},
		{"false/switch", paperProgram(), Config{Layout: on, DeadGPR: raxDead, DeadFlags: true, ColdAddr: cold}, 1},
		{"false/nothing-dead-switch", paperProgram(), Config{Layout: on, ColdAddr: cold}, 1},
		{"record/switch-no-clock", recordProgram(), Config{Layout: on, DeadGPR: raxDead, DeadFlags: true, Clock: ring.ClockNone}, 1},
		{"off", paperProgram(), Config{Layout: off, DeadGPR: raxDead, DeadFlags: true, ColdAddr: cold}, 1},
		{"off/nothing-dead", paperProgram(), Config{Layout: off, ColdAddr: cold}, 1},
		{"full", recordProgram(), Config{Layout: full, DeadGPR: raxDead, DeadFlags: true, ColdAddr: cold}, 1},
		{"full/no-clock", recordProgram(), Config{Layout: full, DeadGPR: raxDead, DeadFlags: true, ColdAddr: cold, Clock: ring.ClockNone}, 1},
		{"true/rax+flags-dead", paperProgram(), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true}, -1},
		{"true/rax+flags-dead-split", paperProgram(), Config{Layout: layout, DeadGPR: raxDead, DeadFlags: true, ColdAddr: cold}, -1},
	} {
		b.Run(c.name, func(b *testing.B) {
			var code, cold []byte
			calls := 24000
			if c.p != nil {
				calls = min(calls, int(layout.RingSize*3/4/uint64(recordSize(c.p))))
				c.cfg.Addr = arena
				x, err := Compile(c.p, c.cfg)
				if err != nil {
					b.Fatal(err)
				}
				code, cold = x.Bytes, x.Cold
			}
			best := 1e9
			for i := 0; i < b.N; i++ {
				fmt.Fprintf(in, "%s %d %d %d %d %d\n%s%s", c.name, len(code), len(cold), c.value, c.value, calls, code, cold)
				var ns float64
				var bytes uint64
				if _, err := fmt.Fscan(out, &ns, &bytes); err != nil {
					b.Fatal(err)
				}
				best = min(best, ns)
			}
			b.ReportMetric(best, "ns/call")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	p, cfg := paperProgram(), Config{Addr: 0x555555550000, Layout: testLayout(0x555555600000)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(p, cfg); err != nil {
			b.Fatal(err)
		}
	}
}
