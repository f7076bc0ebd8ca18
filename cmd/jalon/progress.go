package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
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

// manySites is the number of sites from which memory is looked at while they are armed.
const manySites = 5000

// thrifty is the growth of the heap between two collections, in percent, where sites are many; paced: they are.
const thrifty = 60

var paced atomic.Bool

// paceGarbage has garbage collected when the heap is heapFloor, and from there on more often than by default: the
// garbage of arming then takes less memory than the sites. Below that, with the default, half of the time of arming
// 10,000 sites was spent on collecting a few megabytes again and again.
func paceGarbage() {
	const heapFloor = 64 << 20
	paced.Store(true)
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	n := max(live[0].Value.Uint64(), 8<<20)
	debug.SetGCPercent(max(thrifty, int(heapFloor*100/n)-100))
}

// boundMemory has garbage collected more often before the memory passes a limit that leaves room for the
// records that wait and for what is known of the program by now.
func boundMemory() {
	const limit, waiting = 200 << 20, 140 << 20
	if paced.Load() {
		debug.SetGCPercent(thrifty)
	}
	now := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(now)
	debug.SetMemoryLimit(max(limit, int64(now[0].Value.Uint64())+waiting))
}
