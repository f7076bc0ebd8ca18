package experiment

import "github.com/jalon-trace/jalon/internal/gdb/agentexpr"

// Kind is the command by which the user defined a tracepoint. Engines use the fastest way for each kind.
type Kind uint8

// The kinds.
const (
	Trap   Kind = iota // trace
	Fast               // ftrace
	Static             // strace: Addr is that of a marker
)

// Spec is one location of a tracepoint, as a series of QTDP packets defines it. An
// engine knows it by its pointer. Only the experiment changes it.
type Spec struct {
	Number  int
	Addr    uint64
	Kind    Kind
	Enabled bool
	// Program is what is done at a hit: condition and actions. Name is for people.
	Program agentexpr.Site
	// Pass is the hit that ends the run, counted from 1; 0: none does.
	Pass uint64
	// Steps is the number of single steps after a hit at each of which StepActions
	// are done (while-stepping); 0: none.
	Steps       uint64
	StepActions []agentexpr.Action
}

// SetsVariables reports whether its condition or an action sets a trace state variable.
func (s *Spec) SetsVariables() bool {
	return s.Program.SetsVariables() || agentexpr.SetVariables(s.StepActions)
}

// Variable is a trace state variable.
type Variable struct {
	Number  int
	Name    string
	Value   int64 // at the start of a run
	Builtin bool
}

// TimestampVariable is the number of $trace_timestamp, microseconds since the
// epoch, which is built in as in gdbserver.
const TimestampVariable = 1

// Hit is one frame that an engine has collected.
type Hit struct {
	Spec *Spec
	// Step: one of the single steps behind a hit.
	Step bool
	// PC is the pc of a step; 0: it is in the registers, or not known. That of a
	// hit is the tracepoint's address.
	PC   uint64
	Time int64 // nanoseconds since the epoch
	CPU  int   // -1: not known
	TID  int
	// Record and its Layout are what was collected, as it lies in the ring; Record
	// is valid during the call only. Where Layout is nil, Frame has it, taken apart
	// (of single steps, for one). Both nil: nothing. A register is given by its
	// number in the target description.
	Layout *agentexpr.Layout
	Record []byte
	Frame  *agentexpr.Frame
	// Static is the static tracepoint's own record as text, where L asked for it. Text,
	// where it is not there, makes it of a Record when a client looks at the frame; it is
	// the same for all hits with that Layout. The head of its record is zero
	// (agentexpr.RecordHead).
	Static string
	Text   Texter
}

// Texter makes the text of a static tracepoint of the records of one location.
type Texter interface {
	StaticText(record []byte) string
}

// Counts are what happened at a location since the start of the run.
type Counts struct {
	Hits   uint64 // condition true (recorded or lost)
	False  uint64
	Faults uint64 // condition could not be evaluated
	Lost   uint64 // no room in the rings
}

// NoLimit is room that has no end.
const NoLimit = 1 << 62

// Engine carries an experiment out. It is used from one goroutine.
type Engine interface {
	// Start arms the enabled ones of list, with the variables' values as given, and
	// keeps the others for Enable. The result has an error for each that cannot be
	// armed (nil where all is well); with any error nothing is armed.
	Start(list []*Spec, vars []Variable) []error
	// Add arms one more while the run goes on, or one of those again: the library
	// that it is in may have been loaded anew.
	Add(s *Spec) error
	// Enable arms or disarms one while the run goes on.
	Enable(s *Spec, on bool) error
	// Stop disarms all. Their records can still be drained.
	Stop() error
	// Drain gives the hits since the last call, in the order of time; f keeps none.
	// While the run goes on the youngest may be kept back until their order is
	// known; with final all are given.
	Drain(final bool, f func(*Hit))
	// Counts returns the counters of a location.
	Counts(s *Spec) Counts
	// Variable reads a variable's present value, SetVariable sets it. ok is false
	// for one that no run knows.
	Variable(number int) (value int64, ok bool)
	SetVariable(number int, value int64)
	// Memory reads the live memory, for ranges that never change (QTro).
	Memory(addr uint64, b []byte) error
	// Markers lists all static tracepoint markers; those at an address.
	Markers() ([]Marker, error)
	MarkersAt(addr uint64) ([]Marker, error)
	// SetRoom says how many bytes of frames the buffer holds, from the start of a run;
	// NoLimit: it is circular. It may change while the run goes on: then it says how
	// many more it holds than so far.
	SetRoom(bytes int64)
	// Ended reports whether a hit has ended the run: from then on no program collects
	// anything or sets a variable. An engine may leave it to the reader.
	Ended() Ending
	// Tasks that are gone: the run cannot go on (the process has ended).
	Gone() bool
}

// Marker is a static tracepoint marker.
type Marker struct {
	Addr  uint64
	ID    string // what `strace -m` takes
	Extra string
}
