package kernel

import (
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// codeWatch collects which code processes map, for the stacks of those that have ended when their stacks are read.
type codeWatch struct {
	*base
	user   *image.Processes
	events *bpf.CodeEvents
	tried  bool
	lost   uint64
}

// ofProgram reports whether a field has a stack of a program.
func ofProgram(f event.Field) bool { return f.Kind == event.UserFrames || f.Kind == event.Stack }

// watch begins to collect, once. Without it processes that have ended have stacks without names.
func (c *codeWatch) watch() {
	if c.tried {
		return
	}
	c.tried = true
	var err error
	if c.events, err = c.k.WatchCode(); err != nil {
		c.logf("code of processes that end is known as far as it is read before: %v", err)
		return
	}
	c.user.Follow(c.pull)
}

// pull passes on what has changed.
func (c *codeWatch) pull(add func(procdir.Change)) {
	c.events.Read(add)
	if n := c.events.Lost(); n != c.lost { // a change of any process
		c.logf("%d changes of the code of processes are lost", n-c.lost)
		c.lost = n
		c.user.Forget()
	}
}

func (c *codeWatch) close() error {
	if c.events == nil {
		return nil
	}
	c.user.Changed()
	c.user.Follow(nil)
	err := c.events.Close()
	c.events = nil
	return err
}
