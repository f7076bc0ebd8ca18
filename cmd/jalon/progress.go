package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// progress shows on a terminal the progress of steps that take more than a second: one line, which is
// erased before anything else is written.
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

// newProgress returns nil if standard error is not a terminal.
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

// step reports the progress of a step.
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

// wipe erases the line.
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

// manySites is the number of sites from which saving memory is worth the time.
const manySites = 5000

// thrifty makes the garbage collector run more often: the garbage of arming then takes less memory than the
// sites.
var thrifty = sync.OnceFunc(func() { debug.SetGCPercent(70) })

// boundMemory has garbage collected more often before the memory passes a limit that leaves room for the
// records that wait and for what is known of the program by now.
func boundMemory() {
	const limit, waiting = 200 << 20, 140 << 20
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	debug.SetMemoryLimit(max(limit, int64(now.HeapAlloc)+waiting))
}
