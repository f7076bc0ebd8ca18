package main

import (
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// mainThread lets the first tracer run on the main thread of jalon: the tracer of a
// program then is its parent, too, as it is under gdbserver, and some programs look.
type mainThread struct {
	tasks chan func()
	free  atomic.Bool
}

// serve runs the server on a goroutine of its own, and ends jalon with its status.
func (m *mainThread) serve(server func() int) int {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() { // this goroutine has moved: then without
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

// run runs a tracer: on the main thread if no other is there.
func (m *mainThread) run(f func()) {
	if m.free.CompareAndSwap(true, false) {
		m.tasks <- f
		return
	}
	go f()
}
