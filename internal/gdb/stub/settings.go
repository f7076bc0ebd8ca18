package stub

import "github.com/jalon-trace/jalon/internal/gdb/rsp"

// settings are what GDB has asked to be reported.
type settings struct {
	*core
	backlog    *backlog
	reporter   *reporter
	forProgram map[int]bool // QProgramSignals: what a program without GDB may get; nil: all
}

// packets are those that it handles.
func (x *settings) packets() []row {
	return []row{
		on("QNonStop", "threads stop one by one, or all", x.setNonStop),
		on("QPassSignals", "signals that do not stop", x.passSignals),
		on("QProgramSignals", "signals that a program without GDB may get", x.programSignals),
		on("QThreadEvents", "new threads and the ends of threads are reported", x.setThreadEvents),
		on("QCatchSyscalls", "system calls are reported", x.catchSyscalls),
	}
}

// setNonStop changes the mode. Stops that were not reported yet are kept for the other mode.
func (x *settings) setNonStop(p rsp.SetNonStop) rsp.Packet {
	switch {
	case p.On == x.nonStop:
		return rsp.OK{}
	case p.On && x.caps.Kernel:
		return failf("the kernel has no threads that stop one by one")
	}
	x.reporter.pause()
	x.nonStop = p.On
	if !p.On {
		x.backlog.reset()
		x.reporter.haltAll()
	}
	x.applyOptions()
	return rsp.OK{}
}

func (x *settings) passSignals(p rsp.PassSignals) rsp.Packet {
	x.options.PassSignals = signalSet(p.Signals)
	x.applyOptions()
	return rsp.OK{}
}

func (x *settings) programSignals(p rsp.ProgramSignals) rsp.Packet {
	x.forProgram = signalSet(p.Signals)
	return rsp.OK{}
}

// signalSet has Linux's numbers of GDB's signals; those that it has not are left out.
// Where GDB has two for one of Linux (SIGIO and SIGPOLL) the one that GDB sends counts.
func signalSet(list []uint64) map[int]bool {
	set := map[int]bool{}
	for _, gdb := range list {
		if gdb > 1<<16 {
			continue
		}
		if linux, ok := linuxSignal(int(gdb)); ok && linux != 0 && gdbSignal(linux) == int(gdb) {
			set[linux] = true
		}
	}
	return set
}

func (x *settings) setThreadEvents(p rsp.SetThreadEvents) rsp.Packet {
	x.options.ThreadEvents = p.On
	x.applyOptions()
	return rsp.OK{}
}

func (x *settings) catchSyscalls(p rsp.CatchSyscalls) rsp.Packet {
	x.options.CatchSyscalls = p.On
	x.options.Syscalls = nil
	for _, n := range p.Numbers {
		if p.On && n < 1<<31 {
			if x.options.Syscalls == nil {
				x.options.Syscalls = map[int]bool{}
			}
			x.options.Syscalls[int(n)] = true
		}
	}
	x.applyOptions()
	return rsp.OK{}
}
