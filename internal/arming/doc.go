// Package arming takes tracepoints to the engines: places -> sites -> programs, loaded and
// armed. What of a tracepoint cannot be traced is left out with a warning; that nothing is
// left is its error. Process is the part in a traced process, Kernel the part in the kernel;
// Records is where what they record is read.
//
// Import rule: arming knows engines by their contract only.
package arming

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/process"
)

// Config is what the parts report to their session, and ask.
type Config struct {
	Pending   bool // a place that is not found yet may come with a later library
	Warn      func(string)
	Compiling func() *engine.Compiling
	// Interrupted is ErrInterrupted when the user has ended the session. Arming a glob of a
	// large program can take seconds: its long loops ask now and then.
	Interrupted func() error
}

// ErrInterrupted: the user ends the session while it is being armed.
var ErrInterrupted = errors.New("interrupted")

// IsEnd reports whether an error is no more than the end of what is traced, or of the
// session.
func IsEnd(err error) bool {
	return errors.Is(err, process.ErrGone) || errors.Is(err, engine.ErrReplaced) || errors.Is(err, ErrInterrupted)
}
