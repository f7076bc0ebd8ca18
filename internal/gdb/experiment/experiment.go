package experiment

import (
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// Options are what an experiment needs beside its engine.
type Options struct {
	// Target is the target description, which R blocks follow.
	Target *rsp.Target
	// WriteFile makes a file, mode 0600, and lets content write it (QTSave); nil:
	// files cannot be saved. A file that could not be written whole is to be removed.
	WriteFile func(name string, content func(io.Writer) error) error
	// Print takes the text of printf operations, Log what the user should know and
	// no packet can say. nil: it is dropped.
	Print, Log func(text string)
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// BufferSize is the default size of the buffer in bytes; 0: DefaultBufferSize.
	BufferSize int64
	// Predefined are the target's own variables, which only hits have values of. GDB
	// gets them when it connects, and keeps their numbers.
	Predefined []Variable
}

// DefaultBufferSize is gdbserver's.
const DefaultBufferSize = 5 << 20

// Experiment is the state of it. It is used from one goroutine.
type Experiment struct {
	engine Engine
	opt    Options
	regs   agentexpr.RegisterBlock
	// rip is the number of that register, ripOffset its place in R blocks.
	rip, ripOffset int

	tracepoints []*tracepoint // in the order of definition
	byIndex     []*tracepoint // for frames
	byKey       map[key]*tracepoint
	bySpec      map[*Spec]*tracepoint
	variables   []*variable
	readOnly    []rsp.Range

	disconnected bool // the run goes on without GDB
	user, notes  string
	stopNote     string

	run     run
	buffer  buffer
	view    view
	reading reading
	record  []byte // a record with its head, while it is taken apart

	pieces  list[rsp.Packet] // what qTsP goes on with
	values  list[rsp.Packet] // qTsV
	markers list[rsp.Packet] // qTsSTM
	// merging: GDB has uploaded the tracepoints and makes its own of them. Told then
	// of a marker at the address of a static one, GDB 13 writes to a string that is
	// not there yet, and dies; if there are none it warns.
	merging bool
}

// key names a location of a tracepoint in packets.
type key struct{ number, addr uint64 }

func (k key) String() string { return fmt.Sprintf("tracepoint %d at %#x", k.number, k.addr) }

// New makes an experiment in which nothing is defined.
func New(engine Engine, opt Options) *Experiment {
	if opt.BufferSize == 0 {
		opt.BufferSize = DefaultBufferSize
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	x := &Experiment{engine: engine, opt: opt, regs: agentexpr.RegisterBlock{Size: opt.Target.Size}}
	for _, r := range opt.Target.Registers {
		x.regs.Offsets = append(x.regs.Offsets, r.Offset)
		if r.Name == host.Processor.Register(host.Processor.PC).Name {
			x.rip, x.ripOffset = r.Number, r.Offset
		}
	}
	x.run.reason = rsp.StopNeverRun
	x.buffer.size = opt.BufferSize
	x.forget()
	return x
}

// forget is the state behind QTinit.
func (x *Experiment) forget() {
	x.tracepoints, x.byIndex = nil, nil
	x.byKey = map[key]*tracepoint{}
	x.bySpec = map[*Spec]*tracepoint{}
	x.readOnly = nil
	x.variables = []*variable{{Variable: Variable{Number: TimestampVariable, Name: "trace_timestamp", Builtin: true}}}
	for _, v := range x.opt.Predefined {
		v.Builtin = true
		x.variables = append(x.variables, &variable{Variable: v})
	}
	x.buffer.clear()
	x.view, x.reading = view{}, reading{}
	x.pieces, x.values, x.markers = nil, nil, nil
}

// handlers are the packets that belong to experiments, by type.
var handlers = map[reflect.Type]func(*Experiment, rsp.Packet) rsp.Packet{}

// on enters a packet's handler. Its error is sent to GDB unchanged.
func on[P rsp.Packet](f func(*Experiment, P) (rsp.Packet, error)) {
	handlers[reflect.TypeFor[P]()] = func(x *Experiment, p rsp.Packet) rsp.Packet {
		reply, err := f(x, p.(P))
		if err != nil {
			return rsp.ErrorText{Text: rsp.Raw(err.Error())}
		}
		return reply
	}
}

// done enters a packet whose answer is OK.
func done[P rsp.Packet](f func(*Experiment, P) error) {
	on(func(x *Experiment, p P) (rsp.Packet, error) { return rsp.OK{}, f(x, p) })
}

func init() {
	done((*Experiment).initialize)
	done((*Experiment).define)
	done((*Experiment).defineActions)
	done((*Experiment).defineSource)
	done((*Experiment).defineVariable)
	done((*Experiment).enable)
	done((*Experiment).disable)
	done((*Experiment).setReadOnly)
	done((*Experiment).start)
	done((*Experiment).stop)
	done((*Experiment).setDisconnected)
	done((*Experiment).setCircular)
	done((*Experiment).setBufferSize)
	done((*Experiment).setNotes)
	done((*Experiment).saveFile)
	on((*Experiment).selectFrame)
	on((*Experiment).status)
	on((*Experiment).usage)
	on((*Experiment).value)
	on((*Experiment).firstTracepoint)
	on((*Experiment).nextTracepoint)
	on((*Experiment).firstVariable)
	on((*Experiment).nextVariable)
	on((*Experiment).firstMarker)
	on((*Experiment).nextMarker)
	on((*Experiment).markersAt)
	on((*Experiment).readBuffer)
	on((*Experiment).minFastLength)
}

// Handle carries out a packet. known is false for one that belongs to none of the
// experiment's; the reply is then empty.
func (x *Experiment) Handle(p rsp.Packet) (reply rsp.Packet, known bool) {
	f := handlers[reflect.TypeOf(p)]
	if f == nil {
		return rsp.Unsupported{}, false
	}
	switch p.(type) {
	case rsp.DefineActions, rsp.DefineSource:
	default:
		x.complete()
	}
	switch p.(type) {
	case rsp.MarkerAt, rsp.MinFastLength:
	default:
		x.merging = false
	}
	return f(x, p), true
}

// Features are what qSupported offers.
func (x *Experiment) Features() []rsp.Feature {
	var list []rsp.Feature
	for _, name := range []string{
		"ConditionalTracepoints", "TracepointSource", "FastTracepoints", "StaticTracepoints",
		"InstallInTrace", "EnableDisableTracepoints", "DisconnectedTracing", "QTBuffer:size", "tracenz",
	} {
		list = append(list, rsp.Feature{Name: name, Mark: '+'})
	}
	return list
}

func (x *Experiment) initialize(rsp.TraceInit) error {
	x.finish(rsp.StopRequested)
	x.forget()
	return nil
}

func (x *Experiment) setReadOnly(p rsp.ReadOnlyRanges) error {
	for _, r := range p.Ranges {
		if r.End < r.Start {
			return fmt.Errorf("a read-only range that ends at %#x, before its start %#x", r.End, r.Start)
		}
	}
	x.readOnly = p.Ranges
	return nil
}

func (x *Experiment) setDisconnected(p rsp.SetDisconnected) error {
	x.disconnected = p.On
	return nil
}

func (x *Experiment) setCircular(p rsp.SetCircular) error {
	if x.buffer.circular = p.On; x.run.on {
		x.engine.SetRoom(x.buffer.room())
	}
	return nil
}

// MaxBufferSize bounds what GDB may ask for.
const MaxBufferSize = 16 << 30

func (x *Experiment) setBufferSize(p rsp.SetBufferSize) error {
	size := p.Size
	switch {
	case size == -1:
		size = x.opt.BufferSize
	case size < 0 || size > MaxBufferSize:
		return fmt.Errorf("a trace buffer of %d bytes; it can have up to %d", size, int64(MaxBufferSize))
	case x.run.on:
		return fmt.Errorf("the size of the trace buffer cannot change while the trace runs")
	}
	x.buffer.resize(size)
	return nil
}

func (x *Experiment) setNotes(p rsp.SetNotes) error {
	for _, n := range p.Notes {
		switch n.Kind {
		case "user":
			x.user = string(n.Text)
		case "notes":
			x.notes = string(n.Text)
		case "tstop":
			x.stopNote = string(n.Text)
		default:
			return fmt.Errorf("there is no note of kind %q", n.Kind)
		}
	}
	return nil
}

func (x *Experiment) minFastLength(rsp.MinFastLength) (rsp.Packet, error) {
	return rsp.InstructionLength{Length: 1}, nil
}

func (x *Experiment) log(format string, args ...any) {
	if x.opt.Log != nil {
		x.opt.Log(fmt.Sprintf(format, args...))
	}
}
