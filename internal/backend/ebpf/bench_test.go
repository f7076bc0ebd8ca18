package ebpf

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// The benchmarks run a program 65,536 times inside the kernel, as the body
// of bpf_loop, between two readings of the clock. The empty program is the cost of
// the loop.

const loopTurns = 1 << 16

// looped makes a program that runs body repeatedly. The body's context is a copy of the first 8 words of
// the program's; the time is stored in the next word.
func looped(body asm.Instructions) asm.Instructions {
	integer := &btf.Int{Name: "long", Size: 8, Encoding: btf.Signed}
	function := func(name string, link btf.FuncLinkage, params ...btf.FuncParam) *btf.Func {
		return &btf.Func{Name: name, Linkage: link, Type: &btf.FuncProto{Return: integer, Params: params}}
	}
	pointer := &btf.Pointer{Target: &btf.Void{}}
	main := asm.Instructions{
		btf.WithFuncMetadata(asm.Mov.Reg(asm.R6, asm.R1).WithSymbol("main"), function("main", btf.GlobalFunc, btf.FuncParam{Name: "ctx", Type: pointer})),
	}
	for k := int16(0); k < 8; k++ {
		main = append(main,
			asm.LoadMem(asm.R1, asm.R6, 8*k, asm.DWord),
			asm.StoreMem(asm.R10, 8*k-64, asm.R1, asm.DWord))
	}
	main = append(main,
		asm.FnKtimeGetNs.Call(),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.Mov.Imm(asm.R1, loopTurns),
		asm.Instruction{OpCode: asm.LoadImmOp(asm.DWord), Dst: asm.R2, Src: asm.PseudoFunc, Constant: -1}.WithReference("body"),
		asm.Mov.Reg(asm.R3, asm.R10),
		asm.Add.Imm(asm.R3, -64),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnLoop.Call(),
		asm.FnKtimeGetNs.Call(),
		asm.Sub.Reg(asm.R0, asm.R7),
		asm.StoreMem(asm.R6, 64, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return())
	empty := asm.Instructions{ // there is no reader: the ring is empty again
		asm.LoadMapValue(asm.R2, 0, uint32(benchRing)).WithReference(mapName),
		asm.LoadMem(asm.R3, asm.R2, ring.RingReserved, asm.DWord),
		asm.LSh.Imm(asm.R3, 64-ring.NearShift),
		asm.RSh.Imm(asm.R3, 64-ring.NearShift),
		asm.StoreMem(asm.R2, ring.RingConsumed, asm.R3, asm.DWord),
	}
	first := btf.WithFuncMetadata(asm.Mov.Reg(asm.R1, asm.R2).WithSymbol("body"), function("body", btf.StaticFunc,
		btf.FuncParam{Name: "turn", Type: integer}, btf.FuncParam{Name: "ctx", Type: pointer}))
	return append(append(append(main, first), empty...), body...)
}

// benchRing is where the ring of CPU 0 is.
var benchRing = func() uint64 { l, _ := layout(); return l.Rings }()

// turn measures one run of body in ns.
func turn(b *testing.B, m *machine, body asm.Instructions) {
	p := m.load(looped(body))
	defer p.Close()
	ns := 0.0
	b.ResetTimer()
	for range b.N {
		ns += m.timed(p)
	}
	b.ReportMetric(ns/float64(b.N), "ns/run")
}

// timed gives the ns of one turn of a program that looped made.
func (m *machine) timed(p *ebpf.Program) float64 {
	in, out := make([]byte, 72), make([]byte, 72)
	binary.LittleEndian.PutUint64(in, 5)
	binary.LittleEndian.PutUint64(in[8:], 7)
	binary.LittleEndian.PutUint64(in[16:], m.env[ir.EnvTask])
	_, err := p.Run(&ebpf.RunOptions{Context: in, ContextOut: out})
	must(m.t, err)
	return float64(binary.LittleEndian.Uint64(out[64:])) / loopTurns
}

func benchConfig(m *machine) Config {
	l, size := layout()
	return Config{Name: mapName, Layout: l, Slack: testSlack, MapSize: size, Features: m.full}
}

func BenchmarkProgram(b *testing.B) {
	const condition = "v0 = ctx.8 0\nv1 = ctx.8 8\nv2 = slt.8 v0, v1\n"
	const record = "reserve 40\nput.8 @24, v0\nput.8 @32, v1\ncommit\nexit"
	for _, c := range []struct{ name, text string }{
		{"empty", "b0:\nexit"},
		{"false", "b0:\n" + condition + "brif v2 -> b1() else b2()\nb1:\ncount 0\nexit\nb2:\n" + record},
		{"false-uncounted", "b0:\n" + condition + "brif v2 -> b1() else b2()\nb1:\nexit\nb2:\n" + record},
		{"record", "b0:\nv0 = ctx.8 0\nv1 = ctx.8 8\n" + record},
		{"load", "b0:\nv0 = ctx.8 16\nv1 = load.4 v0+PID fault b2\nv2 = const 0\nv3 = slt.4 v1, v2\nbrif v3 -> b1() else b3()\nb1:\ncount 1\nexit\nb2(v9):\nexit\nb3:\nexit"},
		{"load-zero", "b0:\nv0 = ctx.8 16\nv1 = load.8 v0+ZERO fault b2\nv2 = const 0\nv3 = slt.4 v1, v2\nbrif v3 -> b1() else b3()\nb1:\ncount 1\nexit\nb2(v9):\nexit\nb3:\nexit"},
		{"load-null", "b0:\nv0 = const 0\nv1 = load.8 v0+16 fault b2\nv2 = const 0\nv3 = slt.4 v1, v2\nbrif v3 -> b1() else b3()\nb1:\ncount 1\nexit\nb2(v9):\nexit\nb3:\nexit"},
		{"comm-equal", "b0:\nv0 = ctx.8 16\nv1 = streq v0+COMM, \"bash\" fault b2\nbrif v1 -> b1() else b3()\nb1:\ncount 1\nexit\nb2(v9):\nexit\nb3:\nexit"},
		{"record-overwrite", "b0:\nv0 = ctx.8 0\nv1 = ctx.8 8\n" + record},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := newMachine(b)
			p, err := ir.Parse(m.numbers(c.text))
			must(b, err)
			cfg := benchConfig(m)
			if strings.HasSuffix(c.name, "-overwrite") {
				cfg.Layout = overwriting(cfg.Layout)
				for cpu := range uint64(2) { // all sub-buffers are complete
					for i := range testOver / testOverSub {
						binary.LittleEndian.PutUint64(m.mem[cfg.Layout.Rings+cpu*cfg.Layout.RingStride+ring.SubTable+8*uint64(i):], testOverSub/8)
					}
				}
			}
			insns, err := Compile(p, cfg)
			must(b, err)
			turn(b, m, insns)
			if n := m.counter(ir.CounterLost); n > 0 {
				b.Errorf("%d hits found no room", n)
			}
		})
	}
}

// numbers puts the offsets of this kernel's structures into a program.
func (m *machine) numbers(text string) string {
	spec, err := btf.LoadKernelSpec()
	must(m.t, err)
	var task *btf.Struct
	must(m.t, spec.TypeByName("task_struct", &task))
	for _, f := range task.Members {
		switch f.Name {
		case "pid", "comm":
			text = strings.ReplaceAll(text, strings.ToUpper(f.Name), fmt.Sprint(f.Offset.Bytes()))
		case "ptracer_cred": // 0 in a thread that is not traced
			text = strings.ReplaceAll(text, "ZERO", fmt.Sprint(f.Offset.Bytes()))
		}
	}
	return text
}

// BenchmarkRingbuf is a record of two integers in the kernel's own ring buffer.
func BenchmarkRingbuf(b *testing.B) {
	m := newMachine(b)
	body := func(rb *ebpf.Map) asm.Instructions {
		return asm.Instructions{
			asm.Mov.Reg(asm.R6, asm.R1),
			asm.LoadMapPtr(asm.R1, rb.FD()),
			asm.Mov.Imm(asm.R2, 32),
			asm.Mov.Imm(asm.R3, 0),
			asm.FnRingbufReserve.Call(),
			asm.JEq.Imm(asm.R0, 0, "full"),
			asm.Mov.Reg(asm.R7, asm.R0),
			asm.FnKtimeGetNs.Call(),
			asm.StoreMem(asm.R7, 0, asm.R0, asm.DWord),
			asm.FnGetCurrentPidTgid.Call(),
			asm.StoreMem(asm.R7, 8, asm.R0, asm.DWord),
			asm.LoadMem(asm.R2, asm.R6, 0, asm.DWord),
			asm.StoreMem(asm.R7, 16, asm.R2, asm.DWord),
			asm.LoadMem(asm.R2, asm.R6, 8, asm.DWord),
			asm.StoreMem(asm.R7, 24, asm.R2, asm.DWord),
			asm.Mov.Reg(asm.R1, asm.R7),
			asm.Mov.Imm(asm.R2, 1), // BPF_RB_NO_WAKEUP
			asm.FnRingbufSubmit.Call(),
			asm.Mov.Imm(asm.R0, 0).WithSymbol("full"),
			asm.Return(),
		}
	}
	total := 0.0
	for range b.N {
		rb, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: 4 << 20})
		must(b, err)
		p := m.load(looped(body(rb)))
		total += m.timed(p)
		p.Close()
		rb.Close()
	}
	b.ReportMetric(total/float64(b.N), "ns/run")
}

// BenchmarkParts shows what a record is made of.
func BenchmarkParts(b *testing.B) {
	call := func(f asm.BuiltinFunc) asm.Instructions {
		return asm.Instructions{f.Call(), asm.Mov.Imm(asm.R0, 0), asm.Return()}
	}
	for _, c := range []struct {
		name string
		body asm.Instructions
	}{
		{"time", call(asm.FnKtimeGetNs)},
		{"boottime", call(asm.FnKtimeGetBootNs)},
		{"pid_tgid", call(asm.FnGetCurrentPidTgid)},
		{"cpu", call(asm.FnGetSmpProcessorId)},
		{"cmpxchg", asm.Instructions{
			asm.Mov.Reg(asm.R0, asm.R3), compareExchange(asm.R2, asm.R3, 0), asm.Mov.Imm(asm.R0, 0), asm.Return(),
		}},
	} {
		b.Run(c.name, func(b *testing.B) { turn(b, newMachine(b), c.body) })
	}
}
