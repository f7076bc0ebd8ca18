package amd64

import (
	"fmt"
	"math/rand"
	"os"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
)

func TestDumpH6(t *testing.T) {
	f, err := os.Create(os.Getenv("DUMP") + ".amd64")
	if err != nil {
		t.Skip("no dump")
	}
	defer f.Close()
	for seed := int64(0); seed < 4000; seed++ {
		r := rand.New(rand.NewSource(seed))
		o := irgen.Options{SegBase: true}
		o.Floats = r.Intn(3) == 0
		o.NoFlags = r.Intn(4) != 0
		o.Blocks, o.Instrs = 1+r.Intn(10), 1+r.Intn(12)
		if r.Intn(40) == 0 {
			o.Blocks, o.Instrs = 6, 60
		}
		p := irgen.Random(r, o)
		if r.Intn(2) == 0 {
			if err := ir.Optimize(p); err != nil {
				t.Fatal(err)
			}
		}
		cfg := randomConfig(r, 0x10000000)
		if r.Intn(3) == 0 {
			cfg.ColdAddr = 0x10100000
		}
		if r.Intn(8) == 0 {
			farOffsets(r, p)
		}
		tune := randomTuning(r)
		code, err := func() (c *Code, err error) {
			defer func() {
				if x := recover(); x != nil {
					err = fmt.Errorf("panic %v\n%s", x, p)
				}
			}()
			return compile(p, cfg, tune)
		}()
		if err != nil {
			fmt.Fprintln(f, seed, err)
			continue
		}
		fmt.Fprintf(f, "%d %x %x %v %v\n", seed, code.Bytes, code.Cold, code.Faults, code.Clocks)
	}
}
