package stub

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// stopReply is a stop as GDB reads it.
func (m *Machine) stopReply(s Stop) rsp.Packet {
	if s.Kind == StopExited || s.Kind == StopKilled {
		m.endTold(s.Thread.PID)
	}
	switch s.Kind {
	case StopExited:
		return rsp.Exited{Status: rsp.Status(s.Code), PID: m.pidOf(s)}
	case StopKilled:
		return rsp.Killed{Signal: rsp.Status(gdbSignal(s.Signal)), PID: m.pidOf(s)}
	case StopThreadExit:
		return rsp.ThreadExited{Status: rsp.Status(s.Code), Thread: m.name(s.Thread)}
	case StopNoResumed:
		if m.offers["no-resumed"] {
			return rsp.NoResumed{}
		}
		return fail(errors.New("no thread is left that was resumed"))
	}
	if m.disabled["T"] {
		return rsp.StoppedPlain{Signal: rsp.Octet(m.signalOf(s))}
	}
	name := m.name(s.Thread)
	reply := rsp.Stopped{
		Signal: rsp.Octet(m.signalOf(s)), Reasons: m.reasons(s), Registers: m.expedited(s.Thread), Thread: &name,
	}
	if m.disabled["Tthread"] {
		reply.Thread = nil
	}
	if m.threads[s.Thread] != nil {
		if f := m.target.Facts(s.Thread); f.Core >= 0 {
			core := uint64(f.Core)
			reply.Core = &core
		}
	}
	return reply
}

// endTold: nothing of a process is shown any more.
func (m *Machine) endTold(pid int) {
	m.target.EndTold(pid)
	m.sync()
}

func (m *Machine) pidOf(s Stop) *uint64 {
	if !m.multi || s.Thread.PID == 0 {
		return nil
	}
	pid := uint64(s.Thread.PID)
	return &pid
}

// signalOf is GDB's number of the signal of a stop.
func (m *Machine) signalOf(s Stop) int {
	switch s.Kind {
	case StopSignal:
		return gdbSignal(s.Signal)
	case StopHalted, StopThreadExit:
		return gdbSignal0
	}
	return gdbSignalTrap
}

// reasonOf is the feature that GDB must announce to receive a reason; "": none.
var reasonOf = map[StopKind]struct {
	feature string
	make    func(m *Machine, s Stop) rsp.Reason
}{
	StopBreakpoint: {"swbreak", plain(rsp.SoftwareBreak)},
	StopHardware:   {"hwbreak", plain(rsp.HardwareBreak)},
	StopWatch: {"", func(_ *Machine, s Stop) rsp.Reason {
		return rsp.Reason{Kind: watchReasons[s.Watch], Number: s.Addr}
	}},
	StopForked:    {"fork-events", child(rsp.Forked)},
	StopVForked:   {"vfork-events", child(rsp.VForked)},
	StopVForkDone: {"vfork-events", plain(rsp.VForkDone)},
	StopExec: {"exec-events", func(_ *Machine, s Stop) rsp.Reason {
		return rsp.Reason{Kind: rsp.Execed, Text: rsp.Text(s.Path)}
	}},
	StopCloned:        {"", plain(rsp.ThreadCreated)},
	StopSyscallEntry:  {"", syscallReason(rsp.SyscallEntry)},
	StopSyscallReturn: {"", syscallReason(rsp.SyscallReturn)},
	StopLibraries:     {"", plain(rsp.LibraryChange)},
}

var watchReasons = map[rsp.BreakpointType]rsp.ReasonKind{
	rsp.WatchpointWrite: rsp.WatchWrite, rsp.WatchpointRead: rsp.WatchRead, rsp.WatchpointAccess: rsp.WatchAccess,
}

func plain(kind rsp.ReasonKind) func(*Machine, Stop) rsp.Reason {
	return func(*Machine, Stop) rsp.Reason { return rsp.Reason{Kind: kind} }
}

func child(kind rsp.ReasonKind) func(*Machine, Stop) rsp.Reason {
	return func(m *Machine, s Stop) rsp.Reason { return rsp.Reason{Kind: kind, Thread: m.name(s.Child)} }
}

func syscallReason(kind rsp.ReasonKind) func(*Machine, Stop) rsp.Reason {
	return func(_ *Machine, s Stop) rsp.Reason { return rsp.Reason{Kind: kind, Number: uint64(s.Syscall)} }
}

func (m *Machine) reasons(s Stop) []rsp.Reason {
	r, ok := reasonOf[s.Kind]
	if !ok || r.feature != "" && !m.offers[r.feature] {
		return nil
	}
	return []rsp.Reason{r.make(m, s)}
}

// expeditedNames are the registers sent with every stop: GDB reads them first.
var expeditedNames = func() (names []string) {
	p := host.Processor
	for _, r := range []arch.Reg{p.FP, p.SP, p.PC} {
		names = append(names, p.Register(r).Name)
	}
	return names
}()

// expedited are their values as far as they are known.
func (m *Machine) expedited(id ThreadID) []rsp.RegisterValue {
	if t := m.threads[id]; t == nil || !t.stopped || t.unread {
		return nil
	}
	values, err := m.target.Registers(id)
	if err != nil {
		return nil // it was killed meanwhile
	}
	var list []rsp.RegisterValue
	for _, name := range expeditedNames {
		for _, r := range m.target.Description().Registers {
			if r.Name != name {
				continue
			}
			if v := part(values, r); v.Missing == nil && len(v.Data) > 0 {
				list = append(list, rsp.RegisterValue{Number: uint64(r.Number), Data: v.Data})
			}
		}
	}
	return list
}

// part is one register of all; Missing is nil if all of it is known.
func part(all rsp.Registers, r rsp.Register) rsp.Registers {
	end := r.Offset + r.Bits/8
	if end > len(all.Data) {
		return rsp.Registers{}
	}
	v := rsp.Registers{Data: all.Data[r.Offset:end]}
	if len(all.Missing) < end {
		return v
	}
	for _, missing := range all.Missing[r.Offset:end] {
		if missing {
			v.Missing = all.Missing[r.Offset:end]
		}
	}
	return v
}
