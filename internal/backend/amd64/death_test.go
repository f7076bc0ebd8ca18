package amd64

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"testing"

	x86 "github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/ring"
)

// leftover is what a thread leaves in a ring.
type leftover uint8

const (
	leavesNothing leftover = iota
	leavesHole             // room without a size
	leavesFiller
	leavesRecord
	numLeftovers
)

// TestDeath ends a thread at each instruction of its code, one after another. What it leaves in the ring is nothing, a
// filler of the record's size, or the complete record; room without a size only from the form with lock, between the
// exchange and the store of the size.
func TestDeath(t *testing.T) {
	r := rand.New(rand.NewSource(int64(envInt("JALON_AMD64_SEED", 1))))
	state := irgen.RandomState(r, irgen.Options{})
	e := startExecutor(t, state.Base, state.Mem[:])
	var seen [4][numLeftovers]int
	for batch := range 24 {
		e.reset()
		trials := deathTrials(t, e, r, state, batch%4 == 0)
		if err := e.run(); err != nil {
			t.Fatal(err)
		}
		for i, tr := range trials {
			out := e.output(i)
			if out.Died == 0 {
				continue
			}
			left, err := tr.leftover(out)
			locked := tr.cfg.Layout.Registered == 0 || out.Ring >= execRings/2
			if err == nil && left == leavesHole && !locked {
				err = fmt.Errorf("room without a size in ring %d, of restartable sequences", out.Ring)
			}
			if err != nil {
				t.Fatalf("died at +%#x: %v\n%s", tr.in.Abort-tr.cfg.Addr, err, tr.describe())
			}
			k := map[bool]int{true: 1}[locked]
			if tr.cfg.Layout.Overwrite {
				k += 2
			}
			seen[k][left]++
		}
	}
	t.Logf("nothing, hole, filler, record: %d; with lock: %d; where rings are overwritten: %d, %d", seen[0], seen[1], seen[2], seen[3])
	for k, n := range seen {
		if n[leavesNothing] == 0 || n[leavesFiller] == 0 || n[leavesRecord] == 0 || k&1 == 1 && n[leavesHole] == 0 {
			t.Errorf("with lock %d, overwritten %d: something was never left: %d", k&1, k>>1, n)
		}
	}
}

// deathTrials returns a batch of programs, each with a trial for each of its instructions. sequences: the first overwrites
// rings by sequences, which is the longest.
func deathTrials(t *testing.T, e *executor, r *rand.Rand, state *irgen.State, sequences bool) []*trial {
	t.Helper()
	e.setMemory(state.Mem[:])
	var trials []*trial
	for {
		p := parse(t, "b0:\nv0 = reg rdi\nreserve 40\nput.8 @24, v0\nput.8 @32, v0\ncommit\nexit\n")
		tr := &trial{p: p, cfg: randomConfig(r, e.nextAddr())}
		l := &tr.cfg.Layout
		if l.Overwrite = r.Intn(2) == 0; sequences && len(trials) == 0 {
			if l.Overwrite = true; l.Registered == 0 {
				restartableLayout(l)
			}
		}
		code, err := compile(p, tr.cfg, randomTuning(r))
		if err != nil {
			t.Fatal(err)
		}
		tr.code = code
		pcs := code.instructions()
		if len(trials)+len(pcs) > maxCases {
			return trials
		}
		first, ok := e.addCode(code)
		if !ok {
			t.Fatal("the code does not fit into one batch")
		}
		s := *state
		s.Registers(r)
		s.RecordRoom, s.Regs[ir.RegPC] = true, tr.cfg.PC
		listed := uint64(0)
		if tr.cfg.Layout.Registered != 0 {
			s.Regs[x86.DwarfFSBase], listed = tcbAddr, uint64(r.Intn(4)+2)/3
		}
		for _, pc := range pcs {
			x := *tr
			x.state = &s
			x.in = caseIn{Code: tr.cfg.Addr, NFault: uint64(len(code.Faults)), Faults: uint64(first), Listed: listed, Abort: pc, Dies: 1}
			x.in.fill(&s)
			x.in.MXCSR = uint64(s.MXCSR)
			x.in.RingPos = 8 * uint64(r.Intn(1<<20))
			x.in.Consumed = x.in.RingPos
			if x.cfg.Layout.Overwrite {
				x.overwriting(r)
			} else {
				x.nearest(r)
			}
			x.in.Ready = listed * uint64(r.Intn(2))
			*e.input(e.n) = x.in
			e.n++
			trials = append(trials, &x)
		}
	}
}

// instructions lists the addresses of all instructions.
func (c *Code) instructions() (pcs []uint64) {
	c = c.listed()
	for _, sec := range []section{secHot, secCold} {
		for _, i := range c.asm.insns[sec] {
			if i.kind != kNote && i.kind != kData {
				pcs = append(pcs, c.cfg.Addr+uint64(c.linked.off(i.at)))
			}
		}
	}
	return pcs
}

// leftover classifies what is in the ring.
func (tr *trial) leftover(out *caseOut) (leftover, error) {
	const size = 24
	if out.BadMem != 0 {
		return 0, fmt.Errorf("memory changed: %d", out.BadMem)
	}
	if out.RecLen == 0 {
		return leavesNothing, nil
	}
	b := out.Rec[:out.RecLen]
	word := func() uint64 { return binary.LittleEndian.Uint64(b) }
	empty := uint64(0)
	if tr.cfg.Layout.Overwrite {
		empty = 0xa5a5a5a5a5a5a5a5 // the executor's older contents
	}
	pending := uint64(ring.EventWord(tr.cfg.Layout.SiteID, size, ring.EventHead)) | ring.WordPending>>32
	if len(b) > size && word()>>ring.WordKind&31 == ring.KindFiller {
		b = b[word()>>32:]
	}
	for tr.cfg.Layout.Overwrite && len(b) >= subSize {
		b = b[subSize:] // passed
	}
	if len(b) > size && word() == ring.PacketMagic {
		b = b[ring.PacketHead:]
	}
	if len(b) > size && word() != empty {
		if word()>>32 != size || word()>>ring.WordKind&31 != ring.KindContext {
			return 0, fmt.Errorf("the context's word is %#x", word())
		}
		if b = b[ring.ContextSize:]; word() == empty {
			return leavesFiller, nil
		}
	}
	switch {
	case len(b) > size && word() == empty:
		return leavesHole, nil
	case tr.cfg.Layout.Overwrite && out.Ring >= execRings/2 && b[3] == 0xa5:
		return leavesHole, nil // a head whose store was the next step
	case len(b) == size && word() == empty && tr.usesNear(out.Ring):
		return leavesHole, nil
	case len(b) != size:
		return 0, fmt.Errorf("%d bytes reserved", len(b))
	case word()>>32 == pending:
		return leavesFiller, nil
	case word()>>32 == pending&^(ring.WordPending>>32) && word()>>ring.WordKind&31 == ring.KindEvent:
		return leavesRecord, nil
	default:
		return 0, fmt.Errorf("the event's word is %#x", word())
	}
}
