package runcontrol

import (
	"fmt"
	"math/rand"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// entry is a thread of the model: what the table and the machine know of it, and the thread as
// the processor and the kernel have it.
type entry struct {
	threads.Thread
	dbg Thread

	pc     uint64
	flag   bool // TF
	forced bool // TIF_FORCED_TF: the kernel has set the flag, and hides it
	single bool // TIF_SINGLESTEP
	how    sys.How
	stack  []word // what pushf has stored, and signal frames
	inCall bool   // between entry and exit of a system call

	interrupted bool // a PTRACE_EVENT_STOP is to come
	fault       int  // the signal of an instruction waits: trapInt3, trapStep
	queue       []queued
	stop        int // what the present stop is of: a trap, or 0
	sig         queued

	asked    map[uint64]int // times that the caller was asked about a breakpoint since its instruction was executed
	executed int            // instructions of the program since the caller has resumed it
	handler  bool           // a handler was entered since: its entry is a step
	handling int            // stops of it that are being handled, one in the other
	late     bool           // an exclusive step was interrupted since
	sent     int
	received int
	stops    int // since the last instruction
}

// queued is a signal that waits.
type queued struct {
	sig   unix.Signal
	again bool // sent by the driver
}

type word struct {
	pc   uint64
	flag bool
}

const (
	trapInt3 = 1 + iota
	trapStep
	trapNotify
)

func (e *entry) Control() *Thread { return &e.dbg }

// The program: a loop of instructions of four bytes. One is displaced.
const (
	base    = 0x1000
	length  = 10
	site    = base + 4*6 // jumps to code
	code    = 0x9000     // pushf, an instruction, popf, the copy, the jump back
	copyAt  = code + 4*3
	codeEnd = code + 4*5
	onUser  = 0xa000 // a signal's handler: an instruction, sigreturn
)

var program = map[uint64]InsnKind{
	base + 4*1: InsnPushf, base + 4*3: InsnPopf, base + 4*4: InsnCall, base + 4*8: InsnPushf, base + 4*9: InsnPopf,
	code: InsnPushf, code + 4*2: InsnPopf,
}

// original is the program's own instruction at a pc; ok is false in what is not of the program.
func original(pc uint64) (at uint64, ok bool) {
	switch {
	case pc == copyAt:
		return site, true
	case pc == site || pc >= code && pc < codeEnd:
		return 0, false
	}
	return pc, true
}

func next(pc uint64) uint64 {
	switch pc {
	case site:
		return code
	case codeEnd - 4:
		return site + 4
	case base + 4*(length-1):
		return base
	}
	return pc + 4
}

// model is a model of the processor, the kernel, the driver and the caller of a machine.
type model struct {
	t     *testing.T
	r     *rand.Rand
	tb    *threads.Table[*entry]
	m     *Machine[*entry]
	int3  map[uint64]bool // in memory
	stops bool            // Where names the boundaries
	calm  bool            // no exclusive step is interrupted
	log   []string
	found map[string]int // what has happened, to see that all of it does
}

func newModel(t *testing.T, seed int64) *model {
	w := &model{t: t, r: rand.New(rand.NewSource(seed)), int3: map[uint64]bool{}, found: map[string]int{}}
	w.tb = threads.NewTable(func() *entry { return &entry{asked: map[uint64]int{}} })
	w.tb.PID = 100
	w.m = New[*entry](w.tb, w)
	w.m.Asks, w.m.Self, w.stops = true, 1, w.r.Intn(2) == 0
	if w.r.Intn(2) == 0 {
		w.m.Options.PassSignals = map[unix.Signal]bool{unix.SIGUSR1: true}
	}
	for i := range 1 + w.r.Intn(3) {
		e := w.tb.Add(threads.Thread{TID: 100 + i, TGID: 100, State: threads.Running})
		e.pc, e.how = base, sys.Free
	}
	return w
}

func (w *model) note(format string, a ...any) { w.log = append(w.log, fmt.Sprintf(format, a...)) }

func (w *model) fail(format string, a ...any) {
	w.t.Helper()
	for _, l := range w.log[max(0, len(w.log)-160):] {
		w.t.Log(l)
	}
	w.t.Fatalf(format, a...)
}

// View.

func (w *model) Regs(e *entry) (Regs, bool) {
	return Regs{PC: e.pc, SP: uint64(1000 - len(e.stack)), TrapFlag: e.flag && !e.forced}, true
}

func (w *model) Where(pc uint64) Code {
	switch {
	case pc < code || pc >= codeEnd:
		return Code{}
	case pc == copyAt:
		return Code{In: true, Boundary: true, Orig: site}
	case !w.stops:
		return Code{In: true}
	case pc < copyAt:
		return Code{In: true, Stops: []uint64{copyAt}}
	}
	return Code{In: true, Stops: []uint64{site + 4}}
}

func (w *model) Insn(addr uint64) Insn { return Insn{program[addr], 4} }
func (w *model) Waits(e *entry) bool   { return e.fault != 0 }
func (w *model) Int3(addr uint64) bool { return w.int3[addr] }

// The kernel.

// resume is ptrace_resume, with enable_single_step and user_disable_single_step.
func (w *model) resume(e *entry, how sys.How, sig unix.Signal) {
	if e.sig.sig == 0 && e.stop != trapInt3 && e.stop != trapStep {
		sig = 0 // not in a signal-delivery-stop
	}
	w.note("  %d resumed %d sig %d at %#x", e.TID, how, sig, e.pc)
	if how == sys.ByStep {
		e.flag = e.flag || e.single
		e.single = true
		was := e.flag
		e.flag = true
		if w.insn(e) == InsnPopf {
			e.forced = false // the instruction may set it: it is not ours to take away
		} else if !was {
			e.forced = true
		}
	} else {
		w.noSteps(e)
	}
	e.how, e.stop, e.sig = how, 0, queued{}
	e.State = threads.Running
	if sig != 0 {
		w.deliver(e)
	}
}

// insn is what the kernel finds at the pc: an int3 hides what is below.
func (w *model) insn(e *entry) InsnKind {
	if w.int3[e.pc] {
		return InsnOther
	}
	return program[e.pc]
}

func (w *model) noSteps(e *entry) {
	e.single = false
	if e.forced {
		e.flag, e.forced = false, false
	}
}

// deliver builds a handler's frame.
func (w *model) deliver(e *entry) {
	e.received++
	e.handler = true
	stepping := e.single
	if stepping {
		w.noSteps(e)
	}
	if e.flag {
		w.fail("%d: the frame has the trap flag", e.TID)
	}
	e.stack = append(e.stack, word{e.pc, e.flag})
	e.pc, e.flag = onUser, false
	if stepping {
		e.stop = trapNotify
	}
}

// stopped gives the stop that a running thread has come to, if any.
func (w *model) stopped(e *entry) (r threads.Report, ok bool) {
	r.TID = e.TID
	switch {
	case e.stop == trapNotify:
		r.Kind, r.Signal = threads.SignalStop, unix.SIGTRAP
	case e.stop != 0 || e.sig.sig != 0:
		w.fail("%d is stopped already", e.TID)
	case e.inCall: // its exit comes first
		e.inCall = false
		if e.how == sys.ToCall {
			r.Kind = threads.CallStop
			return r, true
		}
		if e.single {
			e.fault = trapStep
		}
		return w.stopped(e)
	case e.interrupted:
		e.interrupted = false
		r.Kind = threads.TrapStop
	case e.fault != 0:
		e.stop, e.fault = e.fault, 0
		r.Kind, r.Signal = threads.SignalStop, unix.SIGTRAP
	case len(e.queue) > 0:
		e.sig, e.queue = e.queue[0], e.queue[1:]
		r.Kind, r.Signal = threads.SignalStop, e.sig.sig
	default:
		return r, false
	}
	if e.stops++; e.stops > 300 {
		w.fail("%d stops and goes on for ever: %+v", e.TID, e)
	}
	return r, true
}

// execute lets a thread that runs execute an instruction. call: it is at a system call that the
// tracer wants to see.
func (w *model) execute(e *entry) (call bool) {
	if w.int3[e.pc] {
		e.pc++
		e.fault = trapInt3
		return false
	}
	stepping, kind := e.flag, program[e.pc]
	e.stops = 0
	w.retire(e)
	switch {
	case e.pc == onUser+4: // sigreturn
		last := e.stack[len(e.stack)-1]
		e.stack = e.stack[:len(e.stack)-1]
		e.pc, e.flag = last.pc, last.flag
		if e.flag {
			w.fail("%d: sigreturn sets the trap flag", e.TID)
		}
	case kind == InsnPushf:
		e.stack = append(e.stack, word{0, e.flag})
		e.pc = next(e.pc)
	case kind == InsnPopf:
		e.flag = e.stack[len(e.stack)-1].flag
		e.stack = e.stack[:len(e.stack)-1]
		e.pc = next(e.pc)
	default:
		e.pc = next(e.pc)
	}
	if kind == InsnCall && e.how == sys.ToCall {
		e.inCall = true
		return true
	}
	if stepping {
		e.fault = trapStep
	}
	return false
}

// retire counts an instruction of the program.
func (w *model) retire(e *entry) {
	at, ok := original(e.pc)
	if !ok {
		return
	}
	e.executed++
	if w.m.Breaks[at] && e.asked[at] != 1 {
		w.fail("%d executes %#x: the caller was asked %d times", e.TID, at, e.asked[at])
	}
	delete(e.asked, at)
}
