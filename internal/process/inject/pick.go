package inject

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Pick chooses the thread that an injected call disturbs least, of the process or, for a child that is
// detached, the only one.
func (in *Injector[T]) Pick(sp *Workspace, only T) (T, error) {
	var none T
	if only != none {
		return only, nil
	}
	if in.inj != nil && in.inj.sp == sp {
		return in.inj.t, nil
	}
	if t := in.threads.Get(in.borrowed); t != none && in.suitability(t) >= wellSuited {
		if st, err := sys.ReadStatus(t.Core().TID); err == nil && st.Seccomp != SeccompStrict {
			return t, nil
		}
	}
	strict := map[T]bool{}
	for {
		var best T
		rank := 0
		for _, t := range in.threads.All() {
			if r := in.suitability(t); !strict[t] && (r > rank || r == rank && best != none && t.Core().TID < best.Core().TID) {
				best, rank = t, r
			}
		}
		switch {
		case best != none:
			st, err := sys.ReadStatus(best.Core().TID)
			if err != nil || st.Seccomp != SeccompStrict {
				in.borrowed = best.Core().TID
				return best, nil
			}
			strict[best] = true // its only calls are its own
		case in.allDying():
			return none, sys.ErrThreadGone
		case len(strict) > 0:
			return none, in.strict()
		default:
			return none, in.noneFree()
		}
	}
}

// ErrNoneFree: no thread is stopped that can run injected calls.
var ErrNoneFree = errors.New("no thread can be stopped for it")

// noneFree returns why no thread can run injected calls.
func (in *Injector[T]) noneFree() error {
	e := &fail.Error{Op: fmt.Sprintf("run a system call in process %d", in.threads.PID), Err: ErrNoneFree, Remedy: "try again"}
	for _, t := range in.threads.All() {
		if in.threads.Member(t) && t.Core().State == threads.Stopped && t.Core().Hold&threads.HoldDebug != 0 {
			e.Err = errors.New("its threads are stopped in the middle of their own system calls")
			e.Remedy = "let one of them go on to its return"
		}
	}
	return e
}

// allDying: after SIGKILL stopped threads are no longer to be spoken to.
func (in *Injector[T]) allDying() bool {
	for _, t := range in.threads.All() {
		var regs sys.Regs
		if in.threads.Member(t) && (t.Core().State == threads.Parked || t.Core().State == threads.Stopped && sys.GetRegs(t.Core().TID, &regs) == nil) {
			return false
		}
	}
	return true
}

// wellSuited is the suitability from which on no better thread is looked for.
const wellSuited = 4

// suitability: 0 is never; higher is better.
func (in *Injector[T]) suitability(t T) int {
	if !in.threads.Member(t) || t.Core().State != threads.Stopped || t.Core().Hold&threads.HoldVfork != 0 || t.Core().VforkCopy {
		return 0
	}
	switch t.Core().Stop {
	case threads.StopTrap:
		var regs sys.Regs
		if sys.GetRegs(t.Core().TID, &regs) != nil {
			return 0
		}
		if regs.Call() < 0 {
			return 5 // in the program, not in a call
		}
		return wellSuited
	case threads.StopGroup:
		return 3
	case threads.StopSignal:
		if t.Core().Sig == 0 {
			return 5
		}
		return 2 // its signal is delivered first
	case threads.StopEvent:
		return 1
	case threads.StopCall:
		if in.host.AtCallExit(t) { // it is at a call's exit
			return 1
		}
	}
	return 0
}
