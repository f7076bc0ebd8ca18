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
func (l *lowerer) unlessStopped(s *Stop) {
	over, on := l.b.NewBlock("the trace is over"), l.b.NewBlock("")
	l.b.Branch(l.b.Def(ir.I64, ir.Instr{Op: ir.GetVar, Imm: s.Flag}), over, on)
	l.b.Start(over)
	l.b.Exit()
	l.b.Start(on)
}

// onceBegun ends the hit while a variable is 0.
func (l *lowerer) onceBegun(index int64) {
	early, on := l.b.NewBlock("not begun"), l.b.NewBlock("")
	l.b.Branch(l.b.Def(ir.I64, ir.Instr{Op: ir.GetVar, Imm: index}), on, early)
	l.b.Start(early)
	l.b.Exit()
	l.b.Start(on)
}

// pass emits steps 2 and 3.
func (l *lowerer) pass(s *Stop) {
	if s.Pass == 0 {
		return
	}
	over, early := l.b.NewBlock("behind the pass count"), l.b.NewBlock("")
	last, on := l.b.NewBlock("the pass count is reached"), l.b.NewBlock("")
	n := l.b.Def(ir.I64, ir.Instr{Op: ir.FetchAddVar, Imm: s.Count, A: l.b.Const(1)})
	end := l.b.Const(int64(s.Pass - 1))
	l.b.Branch(l.b.Bin(ir.ULt, 8, end, n), over, early)
	l.b.Start(over)
	l.b.Exit()
	l.b.Start(early)
	l.b.Branch(l.b.Bin(ir.Eq, 8, n, end), last, on)
	l.b.Start(last)
	l.b.Emit(ir.Instr{Op: ir.SetVar, Imm: s.Flag, A: l.b.Const(s.Mark)})
	l.b.Jump(on)
	l.b.Start(on)
}

// charge emits step 4 for a record of that size.
func (l *lowerer) charge(s *Stop, size int64) {
	full, on := l.b.NewBlock("the buffer is full"), l.b.NewBlock("")
	first, over := l.b.NewBlock("the first that finds it full"), l.b.NewBlock("")
	cost := size + s.Beside
	left := l.b.Def(ir.I64, ir.Instr{Op: ir.FetchAddVar, Imm: s.Room, A: l.b.Const(-cost)})
	l.b.Branch(l.b.Bin(ir.SLt, 8, left, l.b.Const(cost)), full, on)
	l.b.Start(full)
	l.count(ring.CounterLost)
	l.b.Branch(l.b.Def(ir.I64, ir.Instr{Op: ir.GetVar, Imm: s.Flag}), over, first)
	l.b.Start(first)
	l.b.Emit(ir.Instr{Op: ir.SetVar, Imm: s.Flag, A: l.b.Const(s.Full)})
	l.b.Exit()
	l.b.Start(over)
	l.b.Exit()
	l.b.Start(on)
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
