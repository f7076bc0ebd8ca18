package runcontrol

import (
	"flag"
	"os"
	"slices"
	"sort"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
	"github.com/jalon-trace/jalon/test/testkit"
)

var seedFlag = flag.Int64("runcontrol.seed", 0, "seed of the first life of TestRandom; 0: by JALON_SEED")

// The driver.

// handle handles a report as package process does.
func (w *model) handle(r threads.Report) {
	e := w.tb.Get(r.TID)
	w.note("report %d kind %d sig %d trap %d at %#x flag %v forced %v", r.TID, r.Kind, r.Signal, e.stop, e.pc, e.flag, e.forced)
	e.handling++
	defer func() { e.handling-- }()
	_, do := w.tb.Report(r)
	w.effects(w.m.Stopped(e))
	w.table(do)
	w.table(w.tb.Handled(e))
}

func (w *model) table(do []threads.Effect[*entry]) {
	for _, x := range do {
		switch e := x.T; x.Op {
		case threads.HandleSignal:
			w.signal(e, x.Signal)
		case threads.HandleCall:
			w.effects(w.m.Call(e, e.inCall, 1))
		case threads.HideInterrupt:
			if e.dbg.Leaves && e.handling == 1 {
				w.effects(w.m.Halted(e))
			}
		case threads.Resume:
			w.goOn(e)
		}
	}
}

func (w *model) signal(e *entry, sig unix.Signal) {
	ours := true
	switch e.stop {
	case trapInt3:
		var do []Effect[*entry]
		do, ours = w.m.Int3(e, e.pc)
		w.effects(do)
	case trapStep, trapNotify:
		if e.stop == trapNotify {
			e.Stop = threads.StopEvent
		}
		var do []Effect[*entry]
		do, ours = w.m.StepTrap(e)
		w.effects(do)
	default:
		e.Sig = sig
		k := Signal{Sig: sig}
		if k.Info.Signo = int32(sig); e.sig.again {
			k.Info.Code, k.Info.Addr = sys.SITkill, uint64(w.m.Self)
		}
		w.effects(w.m.Signal(e, k))
	}
	if !ours {
		w.fail("%d: a SIGTRAP (%d) of ours is taken for the program's: %+v", e.TID, e.stop, e.dbg)
	}
}

// goOn resumes a thread that nothing holds.
func (w *model) goOn(e *entry) {
	if !w.tb.MayResume(e) {
		return
	}
	how, do := w.m.Go(e)
	w.effects(do)
	w.resume(e, how, e.Sig)
	if e.flag && how != sys.ByStep {
		w.fail("%d runs with the trap flag", e.TID)
	}
	w.tb.Resumed(e)
}

func (w *model) effects(do []Effect[*entry]) {
	for _, x := range do {
		if x.Op != Then {
			w.note("  effect %d of %d: %#x %+v", x.Op, x.T.TID, x.Addr, x.Stop)
		}
		w.found[[...]string{"SetPC", "Repair", "FixStep", "ClearTrapFlag", "ClearWatch", "SetWatches", "Interrupt", "SetInfo", "SendAgain", "AskBreak", "AskStepped", "Emulate", "FlushFault", "Report", "QueueExclusive", "Then"}[x.Op]]++
		w.one(x)
	}
}

func (w *model) one(x Effect[*entry]) {
	switch e := x.T; x.Op {
	case SetPC:
		e.pc = x.Addr
	case Repair:
		if w.r.Intn(8) == 0 {
			w.settle(e) // a system call is injected: it ends in another stop
		}
	case FixStep:
		w.fixStep(e, x.Insn)
	case ClearTrapFlag:
		if !e.forced {
			e.flag = false
		}
	case Interrupt:
		e.interrupted = true
	case SendAgain:
		e.queue = append(e.queue, queued{x.Signal.Sig, true})
		e.dbg.Sent = append(e.dbg.Sent, x.Signal)
	case AskBreak:
		if e.asked[x.Addr]++; e.asked[x.Addr] > 1 {
			w.fail("%d: asked twice about %#x", e.TID, x.Addr)
		}
		v := []BreakVerdict{BreakStop, BreakGo, BreakGo, BreakStep}[w.r.Intn(4)]
		w.found["verdict "+string(rune('0'+v))]++
		w.effects(w.m.Verdict(e, x.Addr, v))
	case AskStepped:
		w.effects(w.m.Stepped(e, w.r.Intn(2) == 0))
	case Emulate:
		if program[x.Addr] == InsnOther && w.r.Intn(2) == 0 {
			w.retire(e)
			e.pc = next(x.Addr)
			w.effects(w.m.Executed(e))
			return
		}
		w.effects(w.m.StepOver(e, x.Addr))
	case Report:
		w.reported(e, x.Stop)
	case QueueExclusive:
		// see exclusive
	case Then:
		w.effects(x.Next(e))
	}
}

// reported is the caller's look at a stop.
func (w *model) reported(e *entry, s Stop) {
	w.found["stop "+string(rune('0'+s.Kind))]++
	if c := w.Where(e.pc); c.In && !c.Boundary && !e.late {
		w.fail("%d is shown in generated code at %#x: %+v", e.TID, e.pc, s)
	}
	if e.flag && !e.forced {
		w.fail("%d is shown with the trap flag: %+v", e.TID, s)
	}
	if s.Kind == StopStep && e.executed != 1 && !(e.handler && e.executed == 0) && e.dbg.Hi == 0 {
		w.fail("%d: a step of %d instructions", e.TID, e.executed)
	}
	if s.Kind == StopBreakpoint {
		delete(e.asked, s.Addr) // it comes there again
	}
}

func (w *model) fixStep(e *entry, kind InsnKind) {
	if e.flag && !e.forced {
		return
	}
	switch kind {
	case InsnPushf:
		e.stack[len(e.stack)-1].flag = false
	case InsnPopf:
		if e.dbg.Exclusive == nil {
			e.dbg.Exclusive = &Exclusive{}
			defer func() { e.dbg.Exclusive = nil }()
		}
		w.settle(e)
	}
}

// settle takes a stopped thread to a PTRACE_EVENT_STOP.
func (w *model) settle(e *entry) {
	for e.Stop != threads.StopTrap {
		e.interrupted = true
		w.resume(e, sys.Free, e.Sig)
		e.Sig = 0
		r, _ := w.stopped(e)
		w.tb.Frozen++
		w.handle(r)
		w.tb.Frozen--
	}
}

// run lets a thread run until it stops. It is interrupted at random, before an instruction or
// behind it.
func (w *model) run(e *entry, patient bool) (r threads.Report, late bool) {
	for range 500 {
		if !patient && !late && !w.calm && w.r.Intn(6) == 0 {
			late, e.interrupted, e.late = true, true, true
		}
		if r, ok := w.stopped(e); ok {
			return r, late
		}
		if patient {
			w.fail("%d: nothing waits", e.TID)
		}
		if w.execute(e) {
			return threads.Report{TID: e.TID, Kind: threads.CallStop}, late
		}
	}
	e.interrupted, e.late = true, true
	r, _ = w.stopped(e)
	return r, true
}

func (w *model) freeze() {
	w.tb.Frozen++
	for _, e := range w.sorted() {
		for e.State == threads.Running {
			e.interrupted = true
			r, _ := w.stopped(e)
			w.handle(r)
		}
	}
	for _, e := range w.sorted() {
		for e.Stop == threads.StopTrap && e.Sig == 0 && e.fault != 0 {
			w.resume(e, sys.Free, 0)
			r, _ := w.stopped(e)
			w.handle(r)
		}
	}
}

func (w *model) thaw() {
	if w.tb.Thaw() {
		for _, e := range w.sorted() {
			w.goOn(e)
		}
		w.exclusive()
	}
}

// exclusive makes the exclusive steps that are due.
func (w *model) exclusive() {
	if !w.tb.ExclusiveDue() {
		return
	}
	w.freeze()
	for {
		e, ok := w.tb.NextExclusive()
		if !ok {
			break
		}
		if e.dbg.Over != 0 {
			w.stepOver(e)
		}
		if w.m.Inside(e) {
			w.runOut(e)
		}
		e.Hold &^= threads.HoldExclusive
		w.effects(w.m.Arrived(e))
	}
	w.thaw()
}

func (w *model) stepOver(e *entry) {
	addr := e.dbg.Over
	if e.pc != addr || !w.m.Breaks[addr] {
		e.dbg.Over = 0
		return
	}
	delete(w.int3, addr)
	kind, ok := program[addr], false
	if kind == InsnCall {
		e.dbg.InCall = true
		if ok = w.alone(e, sys.ToCall, InCall, nil); !ok {
			e.dbg.InCall = false
		}
	} else {
		ok = w.alone(e, sys.ByStep, OffInsn, nil)
	}
	w.int3[addr] = true
	w.m.Overstepped(e, kind, ok)
}

func (w *model) runOut(e *entry) {
	kept := e.dbg.Kept
	for range 200 {
		c := w.Where(e.pc)
		if !c.In || c.Boundary {
			return
		}
		ok := false
		if len(c.Stops) == 0 {
			ok = w.alone(e, sys.ByStep, OffInsn, nil)
		} else {
			temps := map[uint64]bool{}
			for _, a := range c.Stops {
				temps[a], w.int3[a] = true, true
			}
			ok = w.alone(e, sys.Free, OutOfCode, temps)
			for a := range temps {
				if !w.m.Breaks[a] {
					delete(w.int3, a)
				}
			}
		}
		if !ok || e.dbg.Kept != kept || e.Sig != 0 {
			return
		}
	}
}

// alone makes an exclusive step.
func (w *model) alone(e *entry, how sys.How, until Until, temps map[uint64]bool) bool {
	w.m.Exclude(e, how, until, temps)
	defer w.m.Include(e)
	for {
		how, sig, patient, do := w.m.ExclusiveGo(e)
		w.effects(do)
		w.resume(e, how, sig)
		r, late := w.run(e, patient)
		w.handle(r)
		if p := w.m.ExclusiveStopped(e, late); p != GoOn {
			if p == Failed {
				e.late = true
			}
			w.found["exclusive "+string(rune('0'+p))]++
			return p == Made
		}
	}
}

func (w *model) sorted() (list []*entry) {
	for _, e := range w.tb.All() {
		list = append(list, e)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].TID < list[j].TID })
	return list
}

// The caller and the program.

func (w *model) release(e *entry, r Resumption) {
	if e.Hold&threads.HoldDebug == 0 {
		return
	}
	w.note("caller resumes %d: %+v", e.TID, r)
	if len(e.dbg.Pending) == 0 {
		e.executed, e.handler, e.late = 0, w.m.Inside(e), false // not led out in time: the step ends at the boundary
	}
	w.effects(w.m.Prepare(e, r))
	do, stays := w.m.Release(e)
	w.effects(do)
	if !stays {
		w.goOn(e)
	}
}

// resumption is what the caller may do with a stopped thread: its signal goes on.
func (w *model) resumption(e *entry) Resumption {
	r := Resumption{TID: e.TID, Step: w.r.Intn(2) == 0}
	if e.dbg.Kept != nil {
		r.Signal = e.dbg.Kept.Sig
	}
	if r.Step && w.r.Intn(4) == 0 {
		r.Lo, r.Hi = base, base+4*4
	}
	return r
}

func (w *model) step() {
	list := w.sorted()
	e := list[w.r.Intn(len(list))]
	switch n := w.r.Intn(16); {
	case n < 6: // the program executes, and its stops are handled later or at once
		if e.State == threads.Running && !e.inCall && !e.interrupted && e.fault == 0 && len(e.queue) == 0 && e.stop == 0 {
			if w.execute(e) {
				w.handle(threads.Report{TID: e.TID, Kind: threads.CallStop})
			}
		}
	case n < 9:
		if e.State == threads.Running {
			if r, ok := w.stopped(e); ok {
				w.handle(r)
			}
		}
	case n < 10:
		w.release(e, w.resumption(e))
	case n < 11 && len(e.queue) < 3:
		e.queue = append(e.queue, queued{sig: unix.SIGUSR1})
		e.sent++
	case n < 12: // Halt
		if e.Hold&threads.HoldDebug == 0 {
			e.dbg.Leaves = true
			w.note("caller halts %d", e.TID)
			if e.State == threads.Stopped {
				w.effects(w.m.Halted(e))
			} else if w.tb.Interrupt(e) {
				e.interrupted = true
			}
		}
	case n < 13:
		w.freeze()
		w.thaw()
	case n < 14:
		w.haltAll()
	case n < 15:
		w.breakpoint(base + 4*uint64(w.r.Intn(length)))
	default:
		w.exclusive()
	}
}

// breakpoint inserts a breakpoint or removes it.
func (w *model) breakpoint(at uint64) {
	if at == site || at == site+4 {
		return // it would be in the jump
	}
	w.freeze()
	defer w.thaw()
	if w.m.Breaks[at] {
		w.note("caller removes %#x", at)
		delete(w.int3, at)
		w.m.BreakGone(at)
		for _, e := range w.sorted() {
			delete(e.asked, at)
		}
		return
	}
	for _, e := range w.sorted() {
		if e.pc == at { // it has passed the place already where it is to be asked
			return
		}
	}
	w.note("caller inserts %#x", at)
	w.m.Breaks[at], w.int3[at] = true, true
	delete(w.m.Removed, at)
}

func (w *model) haltAll() {
	w.freeze()
	for _, e := range w.tb.PostponeExclusive() {
		w.m.PutOff(e)
	}
	for _, e := range w.sorted() {
		if e.Hold&threads.HoldDebug != 0 {
			continue
		}
		if w.m.Inside(e) {
			w.runOut(e)
		}
		e.Hold &^= threads.HoldExclusive
		w.effects(w.m.Arrived(e))
		w.m.HaltNow(e)
	}
	w.thaw()
}

// finish lets everything run until nothing is left to do.
func (w *model) finish() {
	for _, at := range []uint64{0, 1, 2, 3, 4, 5, 7, 8, 9} {
		if at = base + 4*at; w.m.Breaks[at] {
			w.breakpoint(at)
		}
	}
	w.m.Asks, w.calm = false, true
	for range 2000 {
		idle := true
		for _, e := range w.sorted() {
			switch {
			case e.State == threads.Running:
				if r, ok := w.stopped(e); ok {
					w.handle(r)
					idle = false
				} else if e.dbg.Leaves {
					w.fail("%d does not stop: %+v", e.TID, e.dbg)
				} else if w.execute(e) {
					w.handle(threads.Report{TID: e.TID, Kind: threads.CallStop})
				}
			case e.Hold&threads.HoldDebug != 0:
				r := w.resumption(e)
				r.Step = false
				w.release(e, r)
				idle = false
			}
		}
		if w.tb.ExclusiveDue() {
			w.exclusive()
			idle = false
		}
		if idle && w.r.Intn(4) == 0 {
			break
		}
	}
	for _, e := range w.sorted() {
		switch {
		case e.State == threads.Stopped && e.Hold == 0:
			w.fail("%d is stopped for no reason: %+v", e.TID, e.dbg)
		case e.State == threads.Running && e.received != e.sent:
			w.fail("%d has received %d of %d signals: %+v", e.TID, e.received, e.sent, e)
		}
	}
}

func life(t *testing.T, seed int64) *model {
	w := newModel(t, seed)
	for range 50 + w.r.Intn(300) {
		w.step()
	}
	w.finish()
	return w
}

// TestRandom drives the machine with random lives of threads, each twice, against a model of
// the processor's and the kernel's single steps: whatever is interrupted wherever, no SIGTRAP
// of ours is taken for the program's, the program never has our trap flag, each arrival at a
// breakpoint is asked about once, a step is one instruction of the program, threads are not
// shown in generated code, no signal is lost, no halt is forgotten, and nothing goes on for
// ever.
func TestRandom(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = testkit.Seed(t, 1)
	}
	lives, found := 2000, map[string]int{}
	if os.Getenv("JALON_FULL") != "" {
		lives = 60_000
	}
	for i := range lives {
		t.Run("", func(t *testing.T) {
			w := life(t, seed+int64(i))
			for k, n := range w.found {
				found[k] += n
			}
			if i%100 == 0 && !slices.Equal(w.log, life(t, seed+int64(i)).log) {
				t.Fatal("two runs differ")
			}
		})
		if t.Failed() {
			t.Fatalf("-runcontrol.seed=%d", seed+int64(i))
		}
	}
	for _, k := range []string{"ClearTrapFlag", "FixStep", "SendAgain", "AskStepped", "Emulate", "verdict 0", "verdict 2", "stop 0", "stop 1", "stop 2", "stop 5", "exclusive 1", "exclusive 2"} {
		if found[k] == 0 {
			t.Errorf("%s: never", k)
		}
	}
	t.Logf("%d lives: %v", lives, found)
}
