package stub

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// Machine is the server side of the remote protocol. It is used from one goroutine. Its
// parts each have their own state and handle their own packets; a part knows only parts
// that are made before it in New.
type Machine struct {
	*core
	backlog     *backlog     // stops that GDB was not sent, or has not confirmed
	roster      *roster      // threads
	breakpoints *breakpoints // Z, z
	replier     *replier     // stops as GDB reads them
	reporter    *reporter    // halts, and which stop GDB gets when
	resumer     *resumer     // vCont
	settings    *settings    // what GDB has asked to be reported, and how
	unattended  *unattended  // the target goes on without GDB
	launcher    *launcher    // how programs are started
	processes   *processes   // attach, detach, kill
	session     *session     // qSupported
	lister      *lister      // lists of threads
	registers   *registers
	memory      *memory
	monitor     *monitor // commands of the user
	objects     *objects // qXfer
	files       *files   // vFile

	packets map[reflect.Type]row
}

// New makes a Machine for a target; Config.First says whether its threads are stopped.
func New(target Target, exp Experiment, cfg Config) *Machine {
	c := newCore(target, exp, cfg)
	m := &Machine{core: c, backlog: &backlog{}}
	m.roster = &roster{core: c, backlog: m.backlog, threads: map[ThreadID]*thread{}}
	m.breakpoints = &breakpoints{core: c, roster: m.roster, inserted: map[breakKey]bool{}}
	m.replier = &replier{core: c, roster: m.roster}
	m.reporter = newReporter(m)
	m.resumer = &resumer{core: c, backlog: m.backlog, roster: m.roster, reporter: m.reporter}
	m.settings = &settings{core: c, backlog: m.backlog, reporter: m.reporter}
	m.unattended = newUnattended(m)
	m.launcher = &launcher{core: c, roster: m.roster, reporter: m.reporter, launch: cfg.Launch}
	m.processes = newProcesses(m)
	m.session = &session{core: c}
	m.monitor = &monitor{core: c, roster: m.roster}
	m.lister = &lister{core: c, backlog: m.backlog, roster: m.roster, reporter: m.reporter}
	m.registers = &registers{core: c, roster: m.roster, reporter: m.reporter}
	m.memory = &memory{core: c, roster: m.roster}
	m.objects = &objects{core: c, roster: m.roster, lister: m.lister, registers: m.registers}
	m.files = &files{core: c}
	m.packets = tableOf(m.roster.packets(), m.breakpoints.packets(), m.reporter.packets(), m.resumer.packets(),
		m.settings.packets(), m.launcher.packets(), m.processes.packets(), m.session.packets(), m.monitor.packets(),
		m.lister.packets(), m.registers.packets(), m.memory.packets(), m.objects.packets(), m.files.packets())
	m.reset()
	m.roster.sync()
	for _, s := range cfg.First {
		m.reporter.begun(s)
	}
	return m
}

// reset forgets what belonged to a connection. Stops that GDB has not confirmed remain.
func (m *Machine) reset() {
	m.core.reset()
	m.backlog.reset()
	m.roster.reset()
	m.reporter.reset()
	m.lister.reset()
	m.registers.reset()
	m.objects.reset()
	m.files.reset()
}

// Handle takes an event and returns the actions for it.
func (m *Machine) Handle(ev Event) []Out {
	m.out = nil
	switch ev.Kind {
	case EventPacket:
		if m.connected {
			m.packet(ev.Payload)
		}
	case EventTooLong:
		if m.connected {
			m.reply(failf("the packet is longer than %d bytes", m.cfg.PacketSize))
		}
	case EventInterrupt:
		m.reporter.interrupt()
	case EventStop:
		m.reporter.take(ev.Stop)
		m.exp.Tick()
	case EventTick:
		m.exp.Tick()
	case EventOpened:
		m.opened()
	case EventClosed:
		m.closed()
	}
	m.settle()
	if m.debug {
		for _, o := range m.out {
			if o.Kind == OutReply || o.Kind == OutNotify {
				m.log(fmt.Sprintf("-> %q", o.Payload))
			}
		}
	}
	return m.out
}

func (m *Machine) packet(payload []byte) {
	if m.debug {
		m.log(fmt.Sprintf("<- %q", payload))
	}
	if m.isDisabled(payload) {
		m.reply(rsp.Unsupported{})
		return
	}
	p, err := rsp.Parse(payload)
	if err != nil {
		m.reply(m.malformed(payload, err))
		return
	}
	if r, ok := m.packets[reflect.TypeOf(p)]; ok {
		m.reply(r.handle(p))
		return
	}
	if why := m.forbiddenTrace(p); why != nil {
		m.reply(why)
		return
	}
	m.target.Traced(m.roster.general.PID)
	reply, known := m.exp.Handle(p)
	if !known || reply == nil {
		reply = rsp.Unsupported{}
	}
	m.reply(reply)
}

// malformed is the answer to what is known and wrong. What looks wrong because it is
// new (an action of vCont, a type of Z) is answered as not known.
func (m *Machine) malformed(payload []byte, err error) rsp.Packet {
	if len(payload) > 1 && (payload[0] == 'Z' || payload[0] == 'z') && payload[1] > '4' {
		return rsp.Unsupported{}
	}
	if len(payload) > 0 && (payload[0] == 'm' || payload[0] == 'k') {
		if payload[0] == 'k' {
			return nil
		}
		return badNumber // GDB takes E.text for data here
	}
	return fail(err)
}

// opened begins a connection. Breakpoints of the previous GDB have no owner.
func (m *Machine) opened() {
	if m.connected {
		m.closed()
	}
	m.reset()
	m.connected, m.options = true, Options{}
	m.settings.forProgram = nil
	m.breakpoints.removeAll(0)
	m.applyOptions()
	m.exp.ResetFrame()
	m.roster.sync()
}

// closed ends a connection. The processes remain as they are: stopped threads stay
// stopped, running ones go on until they stop; with a trace run that is to go on, or
// such commands, running threads continue as if without a debugger.
func (m *Machine) closed() {
	if !m.connected {
		return
	}
	traced := m.exp.Running()
	goesOn := m.exp.Disconnected() || m.breakpoints.persistent(0)
	if traced && !m.exp.Running() {
		m.log("Disconnected tracing disabled; stopping trace run.")
	}
	m.reset()
	if m.cfg.Once || m.leaveWhenEmpty() {
		m.emit(Out{Kind: OutExit})
		return
	}
	m.log("Remote side has terminated connection.  GDBserver will reopen the connection.")
	if goesOn {
		m.unattended.goOn()
	}
}

// settle reports the events that may be reported now.
func (m *Machine) settle() {
	if len(m.backlog.pending) > 0 && !m.reporter.owed {
		m.roster.sync() // some may have ended; halt notices that itself
	}
	switch {
	case m.reporter.forward:
		m.unattended.passOn()
	case !m.connected:
	case m.nonStop:
		m.reporter.announce()
	case m.reporter.owed && slices.ContainsFunc(m.backlog.pending, m.reporter.wanted):
		m.reporter.halt(0)
	}
}
