package main

import (
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// mainThread runs the first tracer on the main thread of jalon. The tracer of a program is then also its
// parent, as with gdbserver; some programs check this.
type mainThread struct {
	tasks chan func()
	free  atomic.Bool
}

// serve runs the server on another goroutine, and ends jalon with its status.
func (m *mainThread) serve(server func() int) int {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() { // this is no longer the main thread
		runtime.UnlockOSThread()
		return server()
	}
	m.tasks = make(chan func())
	m.free.Store(true)
	go func() {
		defer noPanic()
		exit(server())
	}()
	for f := range m.tasks {
		f()
		m.free.Store(true)
	}
	panic("BUG: the channel was closed")
}

// run runs a tracer: on the main thread if it is free.
func (m *mainThread) run(f func()) {
	if m.free.CompareAndSwap(true, false) {
		m.tasks <- f
		return
	}
	go f()
}
