package event

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// sleeper is a machine that sleeps now and then.
type sleeper struct {
	fakeTime
	slept int64
}

func (s *sleeper) clock(t testing.TB) *Clock {
	c := s.fakeTime.clock(t)
	c.sleep = func() sleepTime { return sleepTime{s.slept - 40, s.slept + 40} }
	c.asleep = c.sleep()
	return c
}

// rest lets the machine sleep; ticks is how far the counter goes on meanwhile.
func (s *sleeper) rest(ns int64, ticks uint64) {
	s.slept += ns
	s.tsc += ticks
}

// TestClockSleep: stamps before and behind a sleep have their times, whether the counter goes on meanwhile or stands still.
func TestClockSleep(t *testing.T) {
	first := uint64(testkit.Seed(t, 0))
	for seed := first; seed < first+50; seed++ {
		rnd := rand.New(rand.NewPCG(seed, 0))
		s := &sleeper{fakeTime: fakeTime{tsc: 1 << 40, ns: 1e15, rate: 0.4}}
		c := s.clock(t)
		type stamp struct {
			tsc uint64
			ns  int64
		}
		var all []stamp
		hit := func() {
			s.pass(rnd.Uint64N(1e6))
			all = append(all, stamp{s.tsc, int64(s.ns)})
			if rnd.IntN(8) == 0 {
				c.Mono(s.tsc) // some are converted before the next sample
			}
		}
		for range 40 {
			for range rnd.IntN(20) {
				hit()
			}
			if rnd.IntN(3) == 0 {
				ns := int64(1e9) + rnd.Int64N(1e13)
				ticks := uint64(float64(ns) / s.rate)
				if rnd.IntN(3) == 0 {
					ticks = 0
				}
				s.rest(ns, ticks)
				for range rnd.IntN(20) {
					s.pass(rnd.Uint64N(1e6))
					all = append(all, stamp{s.tsc, int64(s.ns)})
				}
			}
			s.pass(3e6)
			if err := c.Refresh(); err != nil {
				t.Fatal(err)
			}
			var cached segment
			for _, a := range all {
				for _, got := range []int64{c.Mono(a.tsc), c.mono(&cached, a.tsc)} {
					if d := got - a.ns; d < -1000 || d > 1000 {
						t.Fatalf("seed %d: %d has the time %d, want %d", seed, a.tsc, got, a.ns)
					}
				}
			}
		}
	}
}

// TestClockSleepReset: a counter that begins again makes later stamps unusable, which is an error.
func TestClockSleepReset(t *testing.T) {
	s := &sleeper{fakeTime: fakeTime{tsc: 1 << 40, ns: 1e15, rate: 0.4}}
	c := s.clock(t)
	s.pass(1e7)
	s.rest(1e10, 0)
	s.tsc = 1000
	if err := c.Refresh(); !errors.Is(err, errCounterReset) {
		t.Errorf("%v", err)
	}
}

// TestReadSleep: the machine does not sleep between two readings here.
func TestReadSleep(t *testing.T) {
	a, b := readSleep(), readSleep()
	if a.least > a.most || a.least > b.most || b.least > a.most {
		t.Errorf("%+v, then %+v", a, b)
	}
}
