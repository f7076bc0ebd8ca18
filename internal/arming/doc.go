// Package arming installs tracepoints in the engines: places -> sites -> programs, loaded and armed. An
// address that cannot be traced is skipped with a warning; a tracepoint with no other address is an error.
// Process handles tracepoints in the traced process, Kernel tracepoints of the kernel engine. Records reads
// the records of both.
//
// Import rule: arming uses the engines only through their contract.
package arming

import (
	"errors"
	"strings"

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

// optional reports whether a tracepoint may do without a site, and warns that it has none.
func (c *Config) optional(tp *Tracked, err error) bool {
	if tp.Optional {
		first, _, _ := strings.Cut(err.Error(), "\n")
		c.Warn(strings.TrimPrefix(first, "error: ") + "; it is left out")
	}
	return tp.Optional
}
