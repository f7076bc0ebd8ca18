package process

import (
	"golang.org/x/sys/unix"

	cpu "github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// AtEntry has f called, on another goroutine, when the program is about to run its first own instruction: the dynamic linker has
// mapped the libraries. The program waits for f to return. It must be called before Release, which then does not wait for f.
//
// f is not called where that instruction is not reached: the program has no dynamic linker, another tracer has a breakpoint there, or
// until then the program was stopped by a signal, has executed another one (the constructor of a preloaded library can), or has ended.
func (h *Held) AtEntry(f func()) { h.entered = f }

// toEntry lets the program run to its entry, where it stops. sig is a signal that it is to get. runs: it has not ended.
//
//  1. A breakpoint is written over the entry, in a private copy of the page.
//  2. The program is resumed, with the signals that it gets, until the breakpoint's stop, or one of the cases above.
//  3. The instruction is restored. After an exec the breakpoint is gone with the memory.
//
// If jalon dies meanwhile, the program is killed, as while it is held: it has not begun.
func (h *Held) toEntry() (sig unix.Signal, runs bool) {
	at := h.entry()
	mem := memory.Open(h.pid)
	defer mem.Close()
	was := make([]byte, 1)
	if at == 0 || mem.ReadRaw(at, was) != nil || was[0] == memory.Int3 ||
		sys.SetOptions(h.pid, unix.PTRACE_O_EXITKILL|unix.PTRACE_O_TRACEEXEC) != nil || mem.WriteRaw(at, []byte{memory.Int3}) != nil ||
		sys.Cont(h.pid, 0) != nil {
		return 0, true
	}
	for {
		ws, err := h.wait()
		switch {
		case err != nil, h.ended(ws):
			return 0, err != nil
		case ws.TrapCause() == unix.PTRACE_EVENT_EXEC:
			return 0, true
		}
		if sig = ws.StopSignal(); sig == unix.SIGTRAP || stops[sig] {
			break
		}
		if sys.Cont(h.pid, sig) != nil { // it was killed
			return 0, true
		}
	}
	_ = mem.WriteRaw(at, was) // an error: it was killed
	var r sys.Regs
	if sig != unix.SIGTRAP || sys.GetRegs(h.pid, &r) != nil || r.PC() != at+1 {
		return sig, true
	}
	r.SetPC(at)
	if sys.SetRegs(h.pid, &r) == nil {
		h.entered()
	}
	return 0, true
}

// stops are the signals that stop a process.
var stops = map[unix.Signal]bool{unix.SIGSTOP: true, unix.SIGTSTP: true, unix.SIGTTIN: true, unix.SIGTTOU: true}

// entry is the address of the program's first own instruction, if the dynamic linker runs before; else 0.
func (h *Held) entry() uint64 {
	auxv, err := procdir.Auxv(h.pid)
	if base, _ := procdir.AuxValue(auxv, procdir.AuxBase); err != nil || base == 0 || !cpu.Processor.CanDecode {
		return 0
	}
	at, _ := procdir.AuxValue(auxv, procdir.AuxEntry)
	return at
}
