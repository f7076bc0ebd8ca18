package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// progress shows on a terminal what takes more than a second: one line, which is
// wiped out before anything else is written.
type progress struct {
	mu    sync.Mutex
	since time.Time
	last  time.Time
	shown bool
}

const (
	progressAfter = time.Second
	progressEvery = 200 * time.Millisecond
)

// newProgress is nil where standard error is no terminal.
func newProgress() *progress {
	if !isTerminal(os.Stderr) {
		return nil
	}
	return &progress{since: started, last: started}
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// step says how far something is.
func (p *progress) step(what string, done, of int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.since) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.shown = now, true
	fmt.Fprintf(messages, "\r\x1b[Kjalon: %s: %d of %d", what, done, of)
}

// wipe takes the line away.
func (p *progress) wipe() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(messages, "\r\x1b[K")
		p.shown = false
	}
}

// manySites is how many sites take so much memory that it is worth a little time.
const manySites = 5000

// thrifty has garbage collected at smaller steps: what arming leaves behind is then less
// than what the sites need themselves.
var thrifty = sync.OnceFunc(func() { debug.SetGCPercent(70) })
