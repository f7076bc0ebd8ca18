package process

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/threads"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestControlStress halts, resumes, steps, stops the world, injects calls, and
// removes and inserts breakpoints, while threads run into breakpoints that let them
// go on. Every hit counts once, and the program notices nothing.
func TestControlStress(t *testing.T) {
	const workers, count = 6, 100
	for _, c := range []struct {
		name  string
		seed  uint64
		limit time.Duration // of exclusive steps; 0: the usual ones
	}{{"0", 0, 0}, {"1", 1, 0}, {"0, interrupted", 0, time.Microsecond}, {"1, interrupted", 1, time.Microsecond}} {
		t.Run(c.name, func(t *testing.T) {
			seed := c.seed
			if c.limit != 0 { // exclusive steps are interrupted before, in and behind an instruction
				was, ready := exclusiveLimit, readyLimit
				exclusiveLimit, readyLimit = c.limit, c.limit
				defer func() { exclusiveLimit, readyLimit = was, ready }()
			}
			hits := map[uint64]int{}
			left := 0
			verdict := BreakVerdict(BreakGo + BreakVerdict(seed%2))
			var tr *trampoline
			tr, d := newTrampoline(t, seed < 1, Control{
				OnBreak:   func(tid int, addr uint64) BreakVerdict { hits[addr]++; return verdict },
				OnStepped: func(tid int) bool { left = (left + 1) % 3; return left != 0 },
			}, workers, count)
			d.insert(tr.site)
			d.resumeAll()
			rounds := d.shake(t, rand.New(rand.NewPCG(uint64(testkit.Seed(t, int64(seed))), 0)))
			if st := d.r.wait(); st != (ExitStatus{}) {
				t.Errorf("%v", st)
			}
			if out := d.r.out.all(); out != "bad 0\n" {
				t.Errorf("%q", out)
			}
			if n := hits[tr.site]; n != workers*count {
				t.Errorf("%d hits", n)
			}
			t.Logf("%d rounds", rounds)
		})
	}
}

// TestControlStepNotMade: a thread that is stopped before it has executed the popf that it was
// to step over has no trap flag.
func TestControlStepNotMade(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "insns")
	at := symbol(t, prog, "the_pushf")
	d.insert(at)
	d.resumeAll()
	s := d.expect(StopBreakpoint)
	d.remove(at)
	var b [1]byte
	for range 10 {
		if must(d.ReadMemory(d.pc(s.TID), b[:])); b[0] == 0x9d {
			break
		}
		d.step(s.TID)
	}
	popf := d.pc(s.TID)
	must(0, d.do(func() error {
		t := d.threads.Get(s.TID)
		d.debugger.execute(d.ctl.machine.Prepare(t, Resumption{TID: s.TID, Step: true}))
		t.dbg.Leaves = true // a halt that was asked for already
		t.Hold &^= threads.HoldDebug
		d.world.resume(t)
		return nil
	}))
	d.expect(StopHalted)
	regs := must(d.GetGeneral(s.TID))
	if b[0] != 0x9d || regs.PC() != popf || trapFlag(&regs) {
		t.Errorf("at %#x, %#x behind; flags %+v", regs.PC(), regs.PC()-popf, regs)
	}
	d.resumeAll()
	d.expectEnd(0, "0 0 0\n")
}

// shake does what TestControlStress says until the program ends.
func (d *debugged) shake(t *testing.T, rng *rand.Rand) (rounds int) {
	t.Helper()
	for ; ; rounds++ {
		var err error
		switch rng.IntN(6) {
		case 0:
			if _, err = d.HaltAll(); err == nil {
				err = d.letGo(rng)
			}
		case 1:
			_, err = d.Stopped(func(s *Stopped) error {
				_, err := s.Syscall(unix.SYS_GETPID)
				return err
			})
		case 2:
			if list := d.ThreadList(); len(list) > 0 {
				err = d.Halt([]int{list[rng.IntN(len(list))].TID})
			}
		case 3: // a signal that is reported
			if list := d.ThreadList(); len(list) > 0 {
				_ = unix.Tgkill(d.Pid(), list[rng.IntN(len(list))].TID, unix.SIGWINCH)
			}
		case 4: // group-stops come and go
			_ = unix.Kill(d.Pid(), unix.SIGSTOP)
		default:
			_ = unix.Kill(d.Pid(), unix.SIGCONT)
		}
		if err != nil && !errors.Is(err, ErrGone) {
			t.Fatal(err)
		}
		for s, ok := d.q.take(); ok; s, ok = d.q.take() {
			if s.Kind == StopNoneRuns {
				continue // the stops of the others are in the queue
			}
			r := Resumption{TID: s.TID, Step: rng.IntN(3) == 0}
			if s.Kind == StopSignal && (s.Signal == unix.SIGWINCH || s.Signal == unix.SIGSTOP || s.Signal == unix.SIGCONT) {
				r.Signal = s.Signal
			} else if s.Kind != StopStep && s.Kind != StopHalted {
				si, _ := d.Siginfo(s.TID)
				r, err := d.GetGeneral(s.TID)
				t.Fatalf("%+v, %v, Siginfo %x, registers %+v\n%s", s, err, si, r, d.dump())
			}
			if err := d.ResumeThreads([]Resumption{r}); err != nil && !errors.Is(err, ErrGone) {
				t.Fatal(err)
			}
		}
		select {
		case <-d.Done():
			return rounds
		default:
		}
	}
}

// letGo resumes all stopped threads, some of them by a step.
func (d *debugged) letGo(rng *rand.Rand) error {
	var list []Resumption
	for _, th := range d.ThreadList() {
		list = append(list, Resumption{TID: th.TID, Step: rng.IntN(3) == 0})
	}
	return d.ResumeThreads(list)
}
