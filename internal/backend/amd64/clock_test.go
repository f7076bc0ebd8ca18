package amd64

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
)

// TestClocks: every rdtsc is reported, and guarded if threads may not execute it.
func TestClocks(t *testing.T) {
	for _, c := range []struct {
		text   string
		clocks int
	}{
		{"b0:\n  reserve 32\n  v0 = reg rdi\n  put.8 @24, v0\n  commit\n  exit\n", 3},
		{"b0:\n  v0 = reg rdi\n  brif v0 -> b1 else b2\nb1:\n  reserve 24\n  commit\n  exit\nb2:\n  reserve 24\n  commit\n  exit\n", 6},
		{"b0:\n  count 1\n  exit\n", 0},
	} {
		p, err := ir.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		for _, cold := range []uint64{0, codeAddr + coldPart} {
			for _, no := range []bool{false, true} {
				cfg := Config{Addr: codeAddr, ColdAddr: cold, Layout: execLayout(nearAddr), NoTSC: no}
				cfg.Layout.RseqCPU, cfg.Layout.FSGSBASE = -32, true
				code, err := Compile(p, cfg)
				if err != nil {
					t.Fatal(err)
				}
				if len(code.Clocks) != c.clocks {
					t.Errorf("%d clocks, want %d\n%s", len(code.Clocks), c.clocks, p)
				}
				for _, pc := range code.Clocks {
					b := code.Bytes
					at := pc - codeAddr
					if cold != 0 && pc >= cold {
						b, at = code.Cold, pc-cold
					}
					if at+2 > uint64(len(b)) || b[at] != 0x0f || b[at+1] != 0x31 {
						t.Errorf("no rdtsc at %#x\n%s", pc, p)
					}
				}
				if code.guarded != (no && c.clocks > 0) {
					t.Errorf("guarded: %v with NoTSC %v\n%s", code.guarded, no, p)
				}
			}
		}
	}
}
