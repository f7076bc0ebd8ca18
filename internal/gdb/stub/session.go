package stub

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

var _ = []struct{}{
	on((*Machine).querySupported), on((*Machine).startNoAck), on((*Machine).extendedMode),
	on((*Machine).queryAttached), on((*Machine).symbolLookup), on((*Machine).queryOffsets),
	on((*Machine).setAgent), on((*Machine).allow), on((*Machine).mustReplyEmpty),
}

// opened begins a connection. Breakpoints of the previous GDB have no owner.
func (m *Machine) opened() {
	if m.connected {
		m.closed()
	}
	m.conn = fresh()
	m.program = nil
	m.removeBreaks(0)
	m.applyOptions()
	m.exp.ResetFrame()
	m.sync()
}

// closed ends a connection. The processes remain as they are: stopped threads stay
// stopped, running ones go on until they stop; with a trace run that is to go on, or
// such commands, running threads continue as if without a debugger.
func (m *Machine) closed() {
	if !m.connected {
		return
	}
	for _, f := range m.files {
		_ = f.fs.Close(f.fd) // the connection has ended: there is no peer for the error
	}
	traced := m.exp.Running()
	goesOn := m.exp.Disconnected() || m.persistent(0)
	if traced && !m.exp.Running() {
		m.log("Disconnected tracing disabled; stopping trace run.")
	}
	waiting := eventsOf(m.queue)
	m.conn = conn{options: m.options}
	m.pending = append(waiting, m.pending...)
	if m.cfg.Once || m.leaveWhenEmpty() {
		m.emit(Out{Kind: OutExit})
		return
	}
	m.log("Remote side has terminated connection.  GDBserver will reopen the connection.")
	if goesOn {
		m.goOn()
	}
}

// leaveWhenEmpty says that there is nothing left to serve.
func (m *Machine) leaveWhenEmpty() bool {
	return !m.extended && !m.cfg.Multi && !m.caps.Kernel && len(m.target.Processes()) == 0
}

// goOn lets the target go on without GDB.
func (m *Machine) goOn() {
	m.forward = true
	m.removeBreaks(0)
	m.options = Options{PassSignals: m.options.PassSignals}
	m.target.SetOptions(m.options)
}

// passOn answers the stops of what runs while no GDB is there: a signal is delivered,
// everything else is let go.
func (m *Machine) passOn() {
	var rest []Stop
	var list []Resumption
	going := map[ThreadID]bool{}
	for _, s := range slices.Clone(m.pending) { // releaseChild changes the list
		t := m.threads[s.Thread]
		switch {
		case !ofThread(s) || going[s.Thread]:
		case t == nil || !t.resumed:
			rest = append(rest, s)
		default:
			m.releaseChild(s)
			r := Resumption{Thread: s.Thread}
			if s.Kind == StopSignal && (m.program == nil || m.program[s.Signal]) {
				r.Signal = s.Signal
			}
			list = append(list, r)
			going[s.Thread] = true
		}
	}
	m.pending = rest
	if err := m.setGoing(list); err != nil {
		m.log("go on without GDB: " + err.Error())
	}
	if m.leaveWhenEmpty() {
		m.emit(Out{Kind: OutExit})
	}
}

// releaseChild detaches the child of a fork that GDB does not know of.
func (m *Machine) releaseChild(s Stop) {
	if s.Kind != StopForked && s.Kind != StopVForked {
		return
	}
	if err := m.target.Detach(s.Child.PID); err != nil {
		m.log(fmt.Sprintf("detach the forked process %d: %v", s.Child.PID, err))
	}
	m.forgetProcess(s.Child.PID)
}

// supportedAlways are the features that do not depend on anything.
var supportedAlways = []string{
	"QStartNoAckMode", "multiprocess", "vContSupported", "swbreak", "hwbreak", "no-resumed", "qRelocInsn", "QAgent",
	"qXfer:features:read", "qXfer:threads:read", "qXfer:traceframe-info:read", "qXfer:statictrace:read", "qXfer:sdata:read",
	"InstallInTrace", "EnableDisableTracepoints", "StaticTracepoints", "TracepointSource", "tracenz", "QTBuffer:size",
}

// supportedProcesses are those of targets with processes.
var supportedProcesses = []string{
	"QPassSignals", "QProgramSignals", "QCatchSyscalls", "QNonStop", "QThreadEvents", "ConditionalBreakpoints",
	"BreakpointCommands", "QDisableRandomization", "QStartupWithShell", "QEnvironmentHexEncoded", "QEnvironmentReset",
	"QEnvironmentUnset", "QSetWorkingDir",
}

// supportedAnswers are sent only to a GDB that sends them itself.
var supportedAnswers = []string{"fork-events", "vfork-events", "exec-events"}

func (m *Machine) querySupported(p rsp.QuerySupported) rsp.Packet {
	m.offers = map[string]bool{}
	for _, f := range p.Features {
		m.offers[f.Name] = f.Mark == '+'
	}
	m.multi = m.offers["multiprocess"]
	m.desc = nil
	if !takesDescription(p.Features) {
		m.desc = m.target.Description().Base()
	}
	reply := rsp.Supported{Features: []rsp.Feature{{Name: "PacketSize", Mark: '=', Value: fmt.Sprintf("%x", m.cfg.PacketSize)}}}
	said := map[string]bool{}
	add := func(f rsp.Feature) {
		if !said[f.Name] {
			said[f.Name] = true
			reply.Features = append(reply.Features, f)
		}
	}
	for _, name := range m.features() {
		add(rsp.Feature{Name: name, Mark: '+'})
	}
	for _, f := range m.exp.Features() {
		add(f)
	}
	m.applyOptions()
	return reply
}

// takesDescription says whether GDB reads the registers' description: one that does not
// (xmlRegisters=, with this architecture among its values) knows those that every
// processor has.
func takesDescription(features []rsp.Feature) bool {
	return slices.ContainsFunc(features, func(f rsp.Feature) bool {
		return f.Name == "xmlRegisters" && f.Mark == '=' && slices.Contains(strings.Split(f.Value, ","), "i386")
	})
}

// features are the names of what the stub can do for this GDB.
func (m *Machine) features() []string {
	list := slices.Clone(supportedAlways)
	if !m.caps.Kernel {
		list = append(list, supportedProcesses...)
		for _, name := range supportedAnswers {
			if m.offers[name] {
				list = append(list, name)
			}
		}
	}
	for _, name := range m.caps.Objects {
		list = append(list, "qXfer:"+name+":read")
	}
	for _, name := range m.caps.Writable {
		list = append(list, "qXfer:"+name+":write")
	}
	return list
}

// applyOptions passes to the target which events GDB wants.
func (m *Machine) applyOptions() {
	m.options.ForkEvents = m.offers["fork-events"]
	m.options.VForkEvents = m.offers["vfork-events"]
	m.options.ExecEvents = m.offers["exec-events"]
	m.options.NonStop = m.nonStop
	m.target.SetOptions(m.options)
}

func (m *Machine) startNoAck(rsp.StartNoAck) rsp.Packet {
	m.emit(Out{Kind: OutStartNoAck})
	return rsp.OK{}
}

func (m *Machine) extendedMode(rsp.ExtendedMode) rsp.Packet {
	m.extended = true
	return rsp.OK{}
}

// process is the one that a packet names, or the present one; ok is false if there
// is no such process.
func (m *Machine) process(named *uint64) (pid int, ok bool) {
	list := m.target.Processes()
	if named != nil {
		pid = int(*named)
	} else if t := m.current(); t != nil {
		pid = t.id.PID
	} else if len(list) > 0 {
		pid = list[0]
	}
	return pid, slices.Contains(list, pid)
}

func (m *Machine) queryAttached(p rsp.QueryAttached) rsp.Packet {
	pid, ok := m.process(p.PID)
	if !ok {
		return badNumber
	}
	return rsp.Attached{Before: m.target.Attached(pid)}
}

func (m *Machine) symbolLookup(rsp.SymbolLookup) rsp.Packet { return rsp.OK{} }

func (m *Machine) queryOffsets(rsp.QueryOffsets) rsp.Packet {
	offset, ok := m.target.Offsets()
	if !ok {
		return rsp.Unsupported{}
	}
	return rsp.SectionOffsets{Text: offset, Data: offset, BSS: &offset}
}

// setAgent has nothing to do: the agent is what all tracepoints use.
func (m *Machine) setAgent(rsp.SetAgent) rsp.Packet { return rsp.OK{} }

func (m *Machine) mustReplyEmpty(rsp.MustReplyEmpty) rsp.Packet { return rsp.Unsupported{} }

func (m *Machine) allow(p rsp.Allow) rsp.Packet {
	for _, item := range p.Permissions {
		m.denied[item.Op] = !item.Allowed
	}
	return rsp.OK{}
}

func errForbidden(what string) error {
	return fmt.Errorf("GDB was told not to %s (see \"show observer\" and \"show may-...\")", what)
}

func forbidden(what string) rsp.Packet { return fail(errForbidden(what)) }

// forbiddenTrace says why a packet of a trace experiment is not allowed; nil: it is.
func (m *Machine) forbiddenTrace(p rsp.Packet) rsp.Packet {
	if d, ok := p.(rsp.DefineTracepoint); ok {
		if d.Fast != nil && m.denied["InsertFastTrace"] || d.Fast == nil && m.denied["InsertTrace"] {
			return forbidden("insert tracepoints")
		}
	}
	return nil
}
