package ebpf

import (
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/arm64"
	"github.com/jalon-trace/jalon/internal/ir"
)

// TestRegistersOfProcessors: a register is read where the kernel's struct pt_regs of the
// processor has it, the argument registers and the pc among them.
func TestRegistersOfProcessors(t *testing.T) {
	l, size := layout()
	for _, c := range []struct {
		p    *arch.Processor
		reg  arch.Reg
		want string
	}{
		{&amd64.Processor, amd64.Processor.Args[0], "src: r1 off: 112 "},
		{&amd64.Processor, amd64.Processor.PC, "src: r1 off: 128 "},
		{&arm64.Processor, arm64.Processor.Args[2], "src: r1 off: 16 "},
		{&arm64.Processor, arm64.LR, "src: r1 off: 240 "},
		{&arm64.Processor, arm64.SP, "src: r1 off: 248 "},
		{&arm64.Processor, arm64.PC, "src: r1 off: 256 "},
	} {
		b := ir.NewBuilder("one register")
		b.Emit(ir.Instr{Op: ir.SetVar, A: b.Reg(int64(c.reg)), Dst: ir.None, B: ir.None, Fault: ir.NoBlock})
		b.Exit()
		p := b.Finish()
		insns, err := Compile(p, Config{Name: mapName, Layout: l, Slack: testSlack, MapSize: size, Context: Regs, Processor: c.p, Features: Features{FSBase: -1, TaskComm: -1}})
		if err != nil {
			t.Errorf("%s register %d: %v", c.p.Name, c.reg, err)
			continue
		}
		if text := Listing(insns); !strings.Contains(text, c.want) {
			t.Errorf("%s register %d is not read at %s:\n%s", c.p.Name, c.reg, c.want, text)
		}
	}
}
