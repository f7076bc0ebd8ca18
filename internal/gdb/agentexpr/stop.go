package agentexpr

import (
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Stop ends a trace run at the site itself, at the hit that reaches a pass count or for which the buffer of
// trace frames has no room, for all sites that share the variable Flag. If the reader of the records ended the
// run, it would be too late for trace state variables: later hits would change them.
//
//  1. A hit that finds Flag set does nothing and is not counted.
//  2. One whose condition holds takes its number from the variable Count. Numbers are
//     given once: of hits at the same time one alone reaches Pass.
//  3. That one sets Flag, before its actions; those with higher numbers do nothing.
//  4. Every hit that goes on takes what its frame costs from the variable Room. One for
//     which there was not enough counts as lost, sets Flag unless it is set, and does
//     nothing else: its actions set no variable, as in gdbserver, where they are not
//     looked at when the frame cannot be begun. Room stays below zero.
//
// The reader gives back to Room what the ring has lost, and everything where the buffer
// is circular.
//
// A hit in another thread whose condition is being evaluated at that very moment may
// still set the variables that the condition sets. (A lock would prevent that, and hang
// the program when a thread leaves the hit by a signal handler's longjmp.)
type Stop struct {
	Flag  int64  // index of a variable (ir.GetVar), 0 as long as the run goes on
	Mark  int64  // what it is set to by this site; not 0
	Count int64  // index of a variable that counts this tracepoint's hits
	Pass  uint64 // the hit that ends the run, from 1; 0: none of this tracepoint does
	// Room is the index of a variable with the bytes that are left; a frame costs as many
	// as its record has, and Beside. Full is what Flag is set to when they do not do.
	Room, Beside, Full int64
}

// unlessStopped emits step 1.
func (rc *recorder) unlessStopped(s *Stop) {
	over, on := rc.b.NewBlock("the trace is over"), rc.b.NewBlock("")
	rc.b.Branch(rc.b.Def(ir.I64, ir.Instr{Op: ir.GetVar, Imm: s.Flag}), over, on)
	rc.b.Start(over)
	rc.b.Exit()
	rc.b.Start(on)
}

// onceBegun ends the hit while a variable is 0.
func (rc *recorder) onceBegun(index int64) {
	early, on := rc.b.NewBlock("not begun"), rc.b.NewBlock("")
	rc.b.Branch(rc.b.Def(ir.I64, ir.Instr{Op: ir.GetVar, Imm: index}), on, early)
	rc.b.Start(early)
	rc.b.Exit()
	rc.b.Start(on)
}

// pass emits steps 2 and 3.
func (rc *recorder) pass(s *Stop) {
	if s.Pass == 0 {
		return
	}
	over, early := rc.b.NewBlock("behind the pass count"), rc.b.NewBlock("")
	last, on := rc.b.NewBlock("the pass count is reached"), rc.b.NewBlock("")
	n := rc.b.Def(ir.I64, ir.Instr{Op: ir.FetchAddVar, Imm: s.Count, A: rc.b.Const(1)})
	end := rc.b.Const(int64(s.Pass - 1))
	rc.b.Branch(rc.b.Bin(ir.ULt, 8, end, n), over, early)
	rc.b.Start(over)
	rc.b.Exit()
	rc.b.Start(early)
	rc.b.Branch(rc.b.Bin(ir.Eq, 8, n, end), last, on)
	rc.b.Start(last)
	rc.b.Emit(ir.Instr{Op: ir.SetVar, Imm: s.Flag, A: rc.b.Const(s.Mark)})
	rc.b.Jump(on)
	rc.b.Start(on)
}

// charge emits step 4 for a record of that size.
func (rc *recorder) charge(s *Stop, size int64) {
	full, on := rc.b.NewBlock("the buffer is full"), rc.b.NewBlock("")
	first, over := rc.b.NewBlock("the first that finds it full"), rc.b.NewBlock("")
	cost := size + s.Beside
	left := rc.b.Def(ir.I64, ir.Instr{Op: ir.FetchAddVar, Imm: s.Room, A: rc.b.Const(-cost)})
	rc.b.Branch(rc.b.Bin(ir.SLt, 8, left, rc.b.Const(cost)), full, on)
	rc.b.Start(full)
	rc.count(ring.CounterLost)
	rc.b.Branch(rc.b.Def(ir.I64, ir.Instr{Op: ir.GetVar, Imm: s.Flag}), over, first)
	rc.b.Start(first)
	rc.b.Emit(ir.Instr{Op: ir.SetVar, Imm: s.Flag, A: rc.b.Const(s.Full)})
	rc.b.Exit()
	rc.b.Start(over)
	rc.b.Exit()
	rc.b.Start(on)
}

// SetsVariables reports whether the condition or an action sets a trace state variable.
func (s *Site) SetsVariables() bool {
	if s.Cond.setsVariables() {
		return true
	}
	return SetVariables(s.Actions)
}

// SetVariables reports whether an action sets a trace state variable.
func SetVariables(actions []Action) bool {
	for i := range actions {
		if actions[i].Expr.setsVariables() {
			return true
		}
	}
	return false
}

func (e *Expr) setsVariables() bool {
	if e == nil {
		return false
	}
	for i := range e.Insns {
		if e.Insns[i].Op == OpSetv {
			return true
		}
	}
	return false
}
