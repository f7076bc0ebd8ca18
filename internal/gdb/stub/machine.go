package stub

import (
	"fmt"
	"reflect"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// EventKind says what has happened.
type EventKind uint8

// The kinds of events.
const (
	EventPacket    EventKind = iota // GDB sent Payload
	EventTooLong                    // GDB sent a packet above PacketSize
	EventInterrupt                  // GDB sent the interrupt byte
	EventStop                       // Target.Events delivered Stop
	EventTick                       // time passes: several times a second
	EventOpened                     // a GDB has connected
	EventClosed                     // the connection is gone
)

// Event is an input of a Machine.
type Event struct {
	Kind    EventKind
	Payload []byte
	Stop    Stop
}

// OutKind says what is to be done for a Machine.
type OutKind uint8

// The kinds of Out.
const (
	OutReply      OutKind = iota // send Payload as a packet
	OutNotify                    // send Payload as a notification
	OutStartNoAck                // end acknowledgements, before what follows
	OutClose                     // end the connection, after what was sent
	OutExit                      // the server ends with Status
)

// Out is what a Machine wants done, in order.
type Out struct {
	Kind    OutKind
	Payload []byte
	Status  int
}

// Config says how a Machine behaves.
type Config struct {
	// PacketSize is the longest packet that is accepted and sent, between `$` and
	// `#`; 0: rsp.DefaultPacketSize.
	PacketSize int
	// Multi stays when no process is left (--multi). Once ends with the first
	// connection (--once).
	Multi, Once bool
	// Launch is how programs are started, until GDB says otherwise. Its Args are the
	// program that vRun without a name and R run.
	Launch LaunchOptions
	// First are the stops of the programs that were launched or attached to before.
	First []Stop
	// Disabled are packets that are not known, to test how GDB does without them:
	// those of DisabledPackets.
	Disabled []string
	// Log receives messages for the user of the server; nil: they are dropped.
	Log func(string)
}

// Machine is the server side of the remote protocol. It is used from one goroutine.
type Machine struct {
	target   Target
	exp      Experiment
	disabled map[string]bool
	cfg      Config
	caps     Caps
	out      []Out
	log      func(string)
	debug    bool // each packet is logged (monitor set debug 1)

	// What outlives a connection.
	extended bool // `!`: stay when no process is left
	launch   LaunchOptions
	threads  map[ThreadID]*thread
	order    []ThreadID // of threads: by process, by birth
	pending  []Stop     // stops not reported to GDB, in the order of arrival
	last     ThreadID   // the thread that was reported last
	reports  int        // how many were
	ended    Stop       // the last process that ended
	breaks   map[breakKey]bool
	program  map[int]bool // QProgramSignals: what a program without GDB may get; nil: all
	threadDB string       // monitor set libthread-db-search-path
	// forward: GDB has left and the target goes on: stops are answered at once.
	forward bool

	conn
}

// conn is the state of a connection.
type conn struct {
	connected bool
	offers    map[string]bool // GDB's features
	multi     bool            // thread ids have a process
	desc      *rsp.Target     // what GDB takes the registers for; nil: the target's description
	nonStop   bool
	owed      bool     // all-stop: a stop is the answer to what GDB sent last
	late      bool     // all-stop: an interrupt that was not reported: it is for the next resumption
	queue     []Stop   // non-stop: to be fetched with vStopped; the first was sent
	firstOnly bool     // the rest of the queue is sent as a new notification
	general   ThreadID // Hg
	cont      rsp.ThreadID
	denied    map[string]bool // QAllow
	options   Options
	documents map[string]document
	saved     map[uint64]savedRegisters
	nextSaved uint64
	files     map[int64]openFile
	nextFile  int64
	filePID   int
	listed    int // threads that qfThreadInfo has listed
}

// New makes a Machine for a target; Config.First says whether its threads are stopped.
func New(target Target, exp Experiment, cfg Config) *Machine {
	if cfg.PacketSize == 0 {
		cfg.PacketSize = rsp.DefaultPacketSize
	}
	m := &Machine{
		target: target, exp: exp, cfg: cfg, caps: target.Caps(), log: cfg.Log, launch: cfg.Launch,
		threads: map[ThreadID]*thread{}, breaks: map[breakKey]bool{}, ended: Stop{Kind: StopExited},
	}
	m.disabled = disabled(cfg.Disabled)
	if m.log == nil {
		m.log = func(string) {}
	}
	m.sync()
	for _, s := range cfg.First {
		m.begun(s)
	}
	return m
}

// fresh is the state of a connection that has just been made.
func fresh() conn {
	return conn{
		connected: true,
		offers:    map[string]bool{},
		denied:    map[string]bool{},
		documents: map[string]document{},
		saved:     map[uint64]savedRegisters{},
		files:     map[int64]openFile{},
	}
}

// Handle takes an event and returns what is to be done for it.
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
		m.interrupt()
	case EventStop:
		m.take(ev.Stop)
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

func (m *Machine) emit(o Out) { m.out = append(m.out, o) }

// reply sends a packet; nil is none.
func (m *Machine) reply(p rsp.Packet) {
	if p != nil {
		m.emit(Out{Kind: OutReply, Payload: rsp.Encode(p)})
	}
}

// handler carries out a packet. The result is the reply; nil: none, or it comes
// later, or was sent already.
type handler func(m *Machine, p rsp.Packet) rsp.Packet

// handlers are the packets that are known, but for those of the Experiment.
var handlers = map[reflect.Type]handler{}

// on enters a packet's handler.
func on[P rsp.Packet](f func(*Machine, P) rsp.Packet) struct{} {
	t := reflect.TypeFor[P]()
	if handlers[t] != nil {
		panic(fmt.Sprintf("BUG: %v is handled twice", t))
	}
	handlers[t] = func(m *Machine, p rsp.Packet) rsp.Packet { return f(m, p.(P)) }
	return struct{}{}
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
	if h := handlers[reflect.TypeOf(p)]; h != nil {
		m.reply(h(m, p))
		return
	}
	if why := m.forbiddenTrace(p); why != nil {
		m.reply(why)
		return
	}
	m.target.Traced(m.general.PID)
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

// badNumber is the error where GDB wants a number and shows nothing.
var badNumber = rsp.Error{Code: 1}

// fail is an error in words.
func fail(err error) rsp.Packet { return rsp.ErrorText{Text: rsp.Raw(err.Error())} }

func failf(format string, args ...any) rsp.Packet {
	return rsp.ErrorText{Text: rsp.Raw(fmt.Sprintf(format, args...))}
}

// done is OK, or the error in words.
func done(err error) rsp.Packet {
	if err != nil {
		return fail(err)
	}
	return rsp.OK{}
}
