package stub

import "github.com/jalon-trace/jalon/internal/gdb/rsp"

// Experiment is the trace experiment behind the QT and qT packets; package
// experiment makes one. All methods are called from the stub's goroutine.
type Experiment interface {
	// Handle carries out a packet that belongs to trace experiments: all of rsp's
	// trace.go and tracequery.go. known is false for one that it does not know, and
	// the reply is then empty.
	Handle(p rsp.Packet) (reply rsp.Packet, known bool)
	// Features are what qSupported offers for it (TracepointSource+,
	// QTBuffer:size+, ...), without the qXfer objects, which the stub offers itself.
	Features() []rsp.Feature
	// Running reports whether a run is under way.
	Running() bool
	// Tick is called several times a second, and after each stop of the target:
	// frames are drained, and limits looked at (pass counts, a full buffer).
	Tick()
	// Report is the text of `monitor trace`: what happened at each location.
	Report() string
	// Disconnected reports that GDB has left, by a detach or by closing the connection. A run
	// that is not to go on without it (QTDisconnected:0) is stopped, with that
	// reason. The result says whether a run goes on.
	Disconnected() bool

	// SelectedFrame is the number of the trace frame that GDB looks at; -1: none,
	// registers and memory are the live ones. ResetFrame leaves it: a new GDB
	// begins with the live ones.
	SelectedFrame() int
	ResetFrame()
	// The rest is about the selected frame. FrameRegisters are in the order of the
	// target description, what was not collected marked as missing.
	FrameRegisters() rsp.Registers
	// FrameMemory fills b with what the frame has from addr on, or what never
	// changes (QTro), and returns how many bytes there are.
	FrameMemory(addr uint64, b []byte) int
	// FrameInfo is the object traceframe-info; StaticData the object sdata. ok is
	// false where the frame has none.
	FrameInfo() []byte
	StaticData() (data []byte, ok bool)
}
