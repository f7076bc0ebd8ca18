package amd64

import (
	"math/rand"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/test/testkit"
)

const (
	trapFlag  = 0x100 // of rflags: the processor traps behind each instruction
	raceSteps = 64    // cases for each program: the instruction behind which the rings move
)

// TestReserveRace stops the thread behind each instruction up to its reservation, lets other writers and the reader
// move the rings on by more than their size, and continues the thread: its hit must be recorded, since a ring that
// is empty is not full. It fails if a reservation that was loaded before counts as one that is still valid.
func TestReserveRace(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	opt := irgen.Options{}
	state := irgen.RandomState(r, opt)
	e := startExecutor(t, state.Base, state.Mem[:])
	const batches = 5
	raced := 0
	for range batches {
		e.reset()
		trials := raceTrials(t, e, r, state)
		runBatch(t, e, trials)
		for i := range trials {
			out := e.output(i)
			raced += int(out.Raced)
			if out.Raced != 0 && i%raceSteps == raceSteps-1 {
				t.Errorf("more than %d instructions before the reservation\n%s", raceSteps, trials[i].describe())
			}
		}
	}
	if least := batches * maxCases / raceSteps * 4; raced < least { // the time, the ring, reserved, consumed
		t.Errorf("the rings moved in only %d runs, not in %d", raced, least)
	}
	t.Logf("the rings moved in %d of %d runs", raced, batches*maxCases)
}

// raceTrials returns a batch of programs, each in raceSteps cases.
func raceTrials(t *testing.T, e *executor, r *rand.Rand, state *irgen.State) []*trial {
	t.Helper()
	e.setMemory(state.Mem[:])
	var trials []*trial
	for range maxCases / raceSteps {
		p := parse(t, "b0:\nv0 = reg rdi\nreserve 32\nput.8 @24, v0\ncommit\nexit\n")
		tr := &trial{p: p, cfg: randomConfig(r, e.nextAddr())}
		code, err := compile(p, tr.cfg, randomTuning(r))
		if err != nil {
			t.Fatal(err)
		}
		tr.code = code
		first, ok := e.addCode(code)
		if !ok {
			t.Fatal("the code does not fit into one batch")
		}
		s := *state
		s.Registers(r)
		s.RecordRoom, s.Regs[ir.RegPC] = true, tr.cfg.PC
		for step := range uint64(raceSteps) {
			x := *tr
			x.state = &s
			x.in = caseIn{Code: tr.cfg.Addr, NFault: uint64(len(code.Faults)), Faults: uint64(first), Race: step + 1}
			x.in.fill(&s)
			x.in.MXCSR = uint64(s.MXCSR)
			x.in.RingPos = 8 * uint64(r.Intn(1<<20))
			x.in.Consumed = x.in.RingPos
			stepped := x.in
			stepped.Flags |= trapFlag
			*e.input(e.n) = stepped
			e.n++
			trials = append(trials, &x)
		}
	}
	return trials
}
