package record

import (
	"time"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
)

// Options configure a recording.
type Options struct {
	Dir     string // is created
	Version string // of jalon
	Command []string
	Pid     int
	Args    []string // of jalon

	// Size and Every end a chunk, and Keep is how many chunks are kept; 0: no limit. With one of Size and Every the trace is a directory
	// of chunks.
	Size  int64
	Every time.Duration
	Keep  int
	// Flight: each snapshot, and what is in the rings at the end, is a chunk.
	Flight bool
	// LTTng: viewers made for LTTng's traces of the kernel take this one for such a trace.
	LTTng bool
	// Compress: chunks that are complete are compressed.
	Compress bool

	// CTF2: the metadata are those of CTF 2, not 1.8.
	CTF2 bool

	// Redact, if not nil, takes out what must not reach the disk.
	Redact *Redactor

	// Warn receives warnings; it may be nil. Any goroutine calls it.
	Warn func(string)
}

// rotates reports whether the trace consists of chunks.
func (o *Options) rotates() bool { return o.Size > 0 || o.Every > 0 || o.Flight }

// Session is what a Recorder needs of the session.
type Session struct {
	WallOffset int64
	Pid        int // of the traced process; 0: there is none
	// Unwind returns the frames of a stack.
	Unwind func(*event.Event, *event.Value) []debuginfo.Frame
	// Epoch identifies what Unwind finds names in: other code may lie at the addresses of a stack later.
	Epoch func(*event.Event, *event.Value) uint64
	// Sites returns how many sites there are.
	Sites func() int
}
