package stub

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// replier makes the replies that say why a thread is stopped.
type replier struct {
	*core
	roster *roster
}

// stopReply is a stop as GDB reads it.
func (x *replier) stopReply(s Stop) rsp.Packet {
	if s.Kind == StopExited || s.Kind == StopKilled {
		x.endTold(s.Thread.PID)
	}
	switch s.Kind {
	case StopExited:
		return rsp.Exited{Status: rsp.Status(s.Code), PID: x.pidOf(s)}
	case StopKilled:
		return rsp.Killed{Signal: rsp.Status(gdbSignal(s.Signal)), PID: x.pidOf(s)}
	case StopThreadExit:
		return rsp.ThreadExited{Status: rsp.Status(s.Code), Thread: x.name(s.Thread)}
	case StopNoResumed:
		if x.offers["no-resumed"] {
			return rsp.NoResumed{}
		}
		return fail(errors.New("no thread is left that was resumed"))
	}
	if x.disabled["T"] {
		return rsp.StoppedPlain{Signal: rsp.Octet(x.signalOf(s))}
	}
	name := x.name(s.Thread)
	reply := rsp.Stopped{
		Signal: rsp.Octet(x.signalOf(s)), Reasons: x.reasons(s), Registers: x.expedited(s.Thread), Thread: &name,
	}
	if x.disabled["Tthread"] {
		reply.Thread = nil
	}
	if x.roster.threads[s.Thread] != nil {
		if f := x.target.Facts(s.Thread); f.Core >= 0 {
			core := uint64(f.Core)
			reply.Core = &core
		}
	}
	return reply
}

// endTold: nothing of a process is shown any more.
func (x *replier) endTold(pid int) {
	x.target.EndTold(pid)
	x.roster.sync()
}

func (x *replier) pidOf(s Stop) *uint64 {
	if !x.multi || s.Thread.PID == 0 {
		return nil
	}
	pid := uint64(s.Thread.PID)
	return &pid
}

// signalOf is GDB's number of the signal of a stop.
func (x *replier) signalOf(s Stop) int {
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
	make    func(x *replier, s Stop) rsp.Reason
}{
	StopBreakpoint: {"swbreak", plain(rsp.SoftwareBreak)},
	StopHardware:   {"hwbreak", plain(rsp.HardwareBreak)},
	StopWatch: {"", func(_ *replier, s Stop) rsp.Reason {
		return rsp.Reason{Kind: watchReasons[s.Watch], Number: s.Addr}
	}},
	StopForked:    {"fork-events", child(rsp.Forked)},
	StopVForked:   {"vfork-events", child(rsp.VForked)},
	StopVForkDone: {"vfork-events", plain(rsp.VForkDone)},
	StopExec: {"exec-events", func(_ *replier, s Stop) rsp.Reason {
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

func plain(kind rsp.ReasonKind) func(*replier, Stop) rsp.Reason {
	return func(*replier, Stop) rsp.Reason { return rsp.Reason{Kind: kind} }
}

func child(kind rsp.ReasonKind) func(*replier, Stop) rsp.Reason {
	return func(x *replier, s Stop) rsp.Reason { return rsp.Reason{Kind: kind, Thread: x.name(s.Child)} }
}

func syscallReason(kind rsp.ReasonKind) func(*replier, Stop) rsp.Reason {
	return func(_ *replier, s Stop) rsp.Reason { return rsp.Reason{Kind: kind, Number: uint64(s.Syscall)} }
}

func (x *replier) reasons(s Stop) []rsp.Reason {
	r, ok := reasonOf[s.Kind]
	if !ok || r.feature != "" && !x.offers[r.feature] {
		return nil
	}
	return []rsp.Reason{r.make(x, s)}
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
func (x *replier) expedited(id ThreadID) []rsp.RegisterValue {
	if t := x.roster.threads[id]; t == nil || !t.stopped || t.unread {
		return nil
	}
	values, err := x.target.Registers(id)
	if err != nil {
		return nil // it was killed meanwhile
	}
	var list []rsp.RegisterValue
	for _, name := range expeditedNames {
		for _, r := range x.target.Description().Registers {
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
