package session

import (
	"errors"
	"math/rand"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

func TestLife(t *testing.T) {
	bad := errors.New("no such function")
	type step struct {
		ev   ev
		want []effect
	}
	tests := []struct {
		name  string
		state state
		steps []step
	}{
		{"run and exit", state{launched: true}, []step{
			{ev{kind: evArmed}, []effect{effResume}},
			{ev{kind: evModules}, []effect{effRearm}},
			{ev{kind: evExit}, []effect{effDrain}},
			{ev{kind: evDrained}, []effect{effFinish}},
		}},
		{"place in a later library", state{launched: true}, []step{
			{ev{kind: evArmed, pending: 1}, []effect{effResume}},
			{ev{kind: evModules}, []effect{effRearm}},
			{ev{kind: evRearmed}, nil},
			{ev{kind: evModules}, []effect{effRearm}}, // a module may have been unloaded
			{ev{kind: evRearmed}, nil},
			{ev{kind: evStop}, []effect{effDetach}},
			{ev{kind: evStop}, nil},
			{ev{kind: evDetached}, []effect{effDrain}},
			{ev{kind: evDrained}, []effect{effFinish}},
		}},
		{"no such place in a launched program", state{launched: true}, []step{
			{ev{kind: evArmed, pending: 1, err: bad}, []effect{effKill, effDetach}},
			{ev{kind: evExit}, []effect{effDrain}},
			{ev{kind: evDetached}, nil},
			{ev{kind: evDrained}, []effect{effFinish}},
		}},
		{"no such place in a running program", state{}, []step{
			{ev{kind: evArmed, err: bad}, []effect{effDetach}},
			{ev{kind: evDetached}, []effect{effDrain}},
		}},
		{"questions", state{}, []step{
			{ev{kind: evRequest}, []effect{effRefuse}},
			{ev{kind: evArmed}, []effect{effResume}},
			{ev{kind: evRequest}, []effect{effServe}},
			{ev{kind: evStop}, []effect{effDetach}},
			{ev{kind: evRequest}, []effect{effRefuse}},
		}},
		{"exec", state{}, []step{
			{ev{kind: evArmed}, []effect{effResume}},
			{ev{kind: evExec}, []effect{effForget, effRelease, effDrain}},
			{ev{kind: evExit}, nil},
			{ev{kind: evDrained}, []effect{effFinish}},
		}},
		{"exec of a launched program", state{launched: true}, []step{
			{ev{kind: evArmed}, []effect{effResume}},
			{ev{kind: evExec}, []effect{effForget}},
			{ev{kind: evExec}, nil},
			{ev{kind: evModules}, nil},
			{ev{kind: evExit}, []effect{effDrain}},
			{ev{kind: evDrained}, []effect{effFinish}},
		}},
	}
	for _, tt := range tests {
		s := tt.state
		for i, st := range tt.steps {
			var got []effect
			s, got = handle(s, st.ev)
			if !equal(got, st.want) {
				t.Errorf("%s: step %d: effects %v, want %v", tt.name, i, got, st.want)
			}
		}
	}
}

func equal(a, b []effect) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestRandomLives applies the rules to random events. For every sequence, a session resumes at most once,
// detaches, kills, drains and finishes at most once, never accesses a process after detaching from it, and
// ends when the events that it waits for have arrived.
func TestRandomLives(t *testing.T) {
	seed := testkit.Seed(t, 1)
	r := rand.New(rand.NewSource(seed))
	for life := 0; life < 2000; life++ {
		s := state{launched: r.Intn(2) == 0}
		count := map[effect]int{}
		step := func(e ev) {
			was := s.phase
			var effs []effect
			s, effs = handle(s, e)
			if s.phase < was {
				t.Fatalf("life %d: from %v back to %v", life, was, s.phase)
			}
			for _, x := range effs {
				count[x]++
				if (x == effRearm || x == effResume || x == effServe) && (count[effDetach] > 0 || count[effDrain] > 0) {
					t.Fatalf("life %d: effect %d on a process that was let go", life, x)
				}
			}
		}
		for i := 0; i < 40; i++ {
			e := ev{kind: evKind(r.Intn(int(evRequest) + 1)), pending: r.Intn(3)}
			if r.Intn(3) == 0 {
				e.err = errors.New("random")
			}
			step(e)
		}
		for _, k := range []evKind{evStop, evDetached, evDrained} {
			step(ev{kind: k})
		}
		if s.phase != done {
			t.Fatalf("life %d: ends in phase %v", life, s.phase)
		}
		for _, x := range []effect{effResume, effDetach, effKill, effDrain, effFinish} {
			if count[x] > 1 {
				t.Fatalf("life %d: effect %d happened %d times", life, x, count[x])
			}
		}
		if count[effFinish] != 1 || count[effDrain] != 1 {
			t.Fatalf("life %d: finished %d, drained %d times", life, count[effFinish], count[effDrain])
		}
	}
}
