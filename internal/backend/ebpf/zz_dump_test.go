package ebpf

import (
	"fmt"
	"math/rand"
	"os"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
)

func TestDumpH6(t *testing.T) {
	f, err := os.Create(os.Getenv("DUMP") + ".ebpf")
	if err != nil {
		t.Skip("no dump")
	}
	defer f.Close()
	for seed := int64(0); seed < 4000; seed++ {
		r := rand.New(rand.NewSource(seed))
		l, size := layout()
		cfg := Config{
			Name: mapName, Layout: l, Slack: testSlack, MapSize: size,
			Context: Context(r.Intn(3)), Space: Space(r.Intn(2)), Features: Features{RdonlyCast: 77, V4: r.Intn(2) == 0, FSBase: 1000, TaskComm: 600},
			Return: int32(r.Intn(2)), Atomic: r.Intn(2) == 0,
		}
		if r.Intn(4) == 0 {
			cfg.Features.RdonlyCast = 0
		}
		if r.Intn(4) == 0 {
			cfg.SiteFromCookie, cfg.Sites = true, 4
		}
		opt := irgen.Options{Kernel: true, NoRegs: cfg.Context != Regs}
		if cfg.Space == Kernel {
			opt.High = 0xffff888000000000
		}
		opt.Blocks, opt.Instrs = 1+r.Intn(10), 1+r.Intn(12)
		if r.Intn(20) == 0 {
			opt.Blocks, opt.Instrs = 4, 50
		}
		if r.Intn(100) == 0 {
			opt.Blocks, opt.Instrs = 60, 30
		}
		p := irgen.Random(r, opt)
		if r.Intn(2) == 0 {
			if err := ir.Optimize(p); err != nil {
				t.Fatal(err)
			}
		}
		insns, err := Compile(p, cfg)
		if err != nil {
			fmt.Fprintln(f, seed, err)
			continue
		}
		fmt.Fprintf(f, "== %d\n%s\n", seed, Listing(insns))
	}
}
