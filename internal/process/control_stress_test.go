package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// TestControlStress halts, resumes, steps, stops the world, injects calls, and
// removes and inserts breakpoints, while threads run into breakpoints that let them
// go on. Every hit counts once, and the program notices nothing.
func TestControlStress(t *testing.T) {
	const threads, count = 6, 200
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			hits := map[uint64]int{}
			left := 0
			verdict := BreakVerdict(BreakGo + BreakVerdict(seed%2))
			var tr *trampoline
			tr, d := newTrampoline(t, seed < 1, Control{
				OnBreak:   func(tid int, addr uint64) BreakVerdict { hits[addr]++; return verdict },
				OnStepped: func(tid int) bool { left = (left + 1) % 3; return left != 0 },
			}, threads, count)
			d.insert(tr.site)
			d.resumeAll()
			rounds := d.shake(t, rand.New(rand.NewPCG(seed, 0)))
			if st := d.r.wait(); st != (ExitStatus{}) {
				t.Errorf("%v", st)
			}
			if out := d.r.out.all(); out != "bad 0\n" {
				t.Errorf("%q", out)
			}
			if n := hits[tr.site]; n != threads*count {
				t.Errorf("%d hits", n)
			}
			t.Logf("%d rounds", rounds)
		})
	}
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
		case 3: // a signal that is told
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

// letGo resumes all that stand, some of them by a step.
func (d *debugged) letGo(rng *rand.Rand) error {
	var list []Resumption
	for _, th := range d.ThreadList() {
		list = append(list, Resumption{TID: th.TID, Step: rng.IntN(3) == 0})
	}
	return d.ResumeThreads(list)
}
