package stub

// EventKind is the kind of an event.
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

// OutKind is the kind of an Out.
type OutKind uint8

// The kinds of Out.
const (
	OutReply      OutKind = iota // send Payload as a packet
	OutNotify                    // send Payload as a notification
	OutStartNoAck                // end acknowledgements, before what follows
	OutClose                     // end the connection, after what was sent
	OutExit                      // the server ends with Status
)

// Out is an action that a Machine requests. Actions are executed in order.
type Out struct {
	Kind    OutKind
	Payload []byte
	Status  int
}

// Config has the options of a Machine.
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
