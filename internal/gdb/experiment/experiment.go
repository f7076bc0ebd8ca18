package experiment

import (
	"io"
	"reflect"
	"time"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// Options are what an experiment needs beside its engine.
type Options struct {
	// Target is the target description, which R blocks follow.
	Target *rsp.Target
	// WriteFile makes a file, mode 0600, and lets content write it (QTSave); nil: files cannot be saved. A
	// file that could not be written completely must be removed.
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

// Experiment is the state of it. It is used from one goroutine. Its parts each have their
// own state and handle their own packets; a part knows only parts that are made before it
// in New.
type Experiment struct {
	*base
	buffer    *buffer
	notes     *notes
	catalogue *catalogue // tracepoints
	variables *variables
	*runner            // the run
	definer   *definer // QTDP
	values    *values  // QTDV, qTV
	*frames            // the selected frame
	reader    *reader  // qTBuffer
	*statistics
	settings *settings
	uploader *uploader // what a new GDB asks for
	*saver

	packets map[reflect.Type]row
}

// New makes an experiment in which nothing is defined.
func New(engine Engine, opt Options) *Experiment {
	if opt.BufferSize == 0 {
		opt.BufferSize = DefaultBufferSize
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	b := newBase(engine, opt)
	x := &Experiment{base: b, buffer: &buffer{size: opt.BufferSize}, notes: &notes{}}
	view, reading := &view{}, &reading{}
	x.catalogue = &catalogue{}
	x.variables = &variables{base: b}
	x.runner = newRunner(x, view, reading)
	x.definer = &definer{base: b, catalogue: x.catalogue, variables: x.variables, runner: x.runner}
	x.values = &values{base: b, variables: x.variables, runner: x.runner, view: view}
	encoder := &encoder{base: b}
	x.frames = &frames{base: b, buffer: x.buffer, runner: x.runner, encoder: encoder, view: view}
	x.reader = &reader{buffer: x.buffer, runner: x.runner, encoder: encoder, reading: reading}
	x.statistics = newStatistics(x, view)
	x.settings = &settings{base: b, buffer: x.buffer, notes: x.notes, runner: x.runner}
	x.uploader = &uploader{base: b, catalogue: x.catalogue, variables: x.variables, runner: x.runner, statistics: x.statistics}
	x.saver = newSaver(x, encoder)
	x.packets = tableOf([]row{done("QTinit", "forgets everything", x.initialize)},
		x.definer.packets(), x.values.packets(), x.runner.packets(), x.frames.packets(), x.reader.packets(),
		x.statistics.packets(), x.settings.packets(), x.uploader.packets(), x.saver.packets())
	x.forget()
	return x
}

// forget is the state behind QTinit.
func (x *Experiment) forget() {
	x.catalogue.reset()
	x.variables.reset()
	x.buffer.clear()
	x.runner.leave()
	x.frames.readOnly = nil
	x.uploader.reset()
}

// Handle carries out a packet. known is false for one that belongs to none of the
// experiment's; the reply is then empty.
func (x *Experiment) Handle(p rsp.Packet) (reply rsp.Packet, known bool) {
	r, ok := x.packets[reflect.TypeOf(p)]
	if !ok {
		return rsp.Unsupported{}, false
	}
	switch p.(type) {
	case rsp.DefineActions, rsp.DefineSource:
	default:
		x.definer.complete()
	}
	switch p.(type) {
	case rsp.MarkerAt, rsp.MinFastLength:
	default:
		x.uploader.merging = false
	}
	return r.handle(p), true
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
	x.runner.finish(rsp.StopRequested)
	x.forget()
	return nil
}
