package amd64

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// TestPaperExample: the paper's condition (its table 3, 16 operations) is so many
// bytes of code up to the branch, without and with the passes. docs/agentexpr.md has
// the figures.
func TestPaperExample(t *testing.T) {
	code, err := hex.DecodeString("220226000516200416202203260004162004162002162022002b1427")
	if err != nil {
		t.Fatal(err)
	}
	e, err := agentexpr.Validate(code, agentexpr.ForCondition)
	if err != nil {
		t.Fatal(err)
	}
	const shared = 0x7f0000000000
	cfg := Config{Addr: shared - 0x100000, DeadFlags: true, DeadGPR: 1, Layout: ring.Layout{
		Control: shared, Counters: shared + ring.PageSize, CounterStride: ring.PageSize, CounterStep: 8,
		Rings: shared + 0x10000, RingStride: 0x40000, RingSize: 0x10000, RseqCPU: -32, FSGSBASE: true,
	}}
	for _, c := range []struct {
		optimise            bool
		instructions, bytes int
	}{{false, 12, 47}, {true, 4, 14}} {
		p, _, err := agentexpr.Lower(&agentexpr.Site{Cond: e}, &agentexpr.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c.optimise {
			if err := ir.Optimize(p); err != nil {
				t.Fatal(err)
			}
		}
		code, err := Compile(p, cfg)
		if err != nil {
			t.Fatal(err)
		}
		n, bytes := untilHit(code.Listing())
		if n != c.instructions || bytes != c.bytes {
			t.Errorf("passes %v: %d instructions, %d bytes\n%s", c.optimise, n, bytes, strings.Join(code.Listing(), "\n"))
		}
	}
}

// untilHit counts the instructions before the part for hits.
func untilHit(listing []string) (instructions, bytes int) {
	for _, l := range listing {
		if l == "; hit" {
			break
		}
		if f := strings.Fields(l); f[0] != ";" {
			instructions, bytes = instructions+1, bytes+len(f[1])/2
		}
	}
	return instructions, bytes
}

// TestTrampolineSize: what a counted false condition executes, with a displaced instruction of 6 bytes and the jump back,
// lies in two cache lines, though the shared memory is far away; but for the test of the site's switch, of 20 bytes. (It takes
// 0.2 ns at one site and 1 ns at 10,000, where hand-written trampolines without it take 9.5 ns, Intel Xeon.)
func TestTrampolineSize(t *testing.T) {
	l := execLayout(farAddr)
	restartableLayout(&l)
	l.FSGSBASE, l.RDPID = true, true
	cfg := Config{Addr: codeAddr, ColdAddr: codeAddr + coldPart, Layout: l, Constants: append(execConstants(), Constant{l.Registered, codeAddr + codeSize - 8}), DeadGPR: 1 << RAX, DeadFlags: true}
	c, err := Compile(paperProgram(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	const theSwitch = 20
	if n := len(c.Bytes) + 6 + 5; n > 2*64+theSwitch {
		t.Errorf("%d bytes\n%s", n, strings.Join(c.Listing(), "\n"))
	}
}
