package main

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/bounded"
	"github.com/jalon-trace/jalon/internal/format"
)

// Standard output and error for all text that jalon writes itself. Names and paths in it come from programs
// and files that may be hostile: see format.Plain. JSON and the output of traced programs are not written
// here.
//
// If standard error is not read, jalon continues.
var (
	printed  = &firstError{w: os.Stdout}
	stdout   = format.Plain(printed)
	messages = bounded.NewPrompt(bounded.Reopen(os.Stderr))
	stderr   = format.Plain(messages)
)

// programText is standard output for gdbserver, which also serves GDB if it is not read.
var programText = sync.OnceValue(func() io.Writer {
	return format.Plain(bounded.NewPrompt(bounded.Reopen(os.Stdout)))
})

// firstError is an output that keeps its first error: callers need not check each write.
type firstError struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

func (f *firstError) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	if err != nil && !errors.Is(err, unix.EPIPE) { // a reader such as head has enough
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.err == nil {
			f.err = err
		}
	}
	return n, err
}

func (f *firstError) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// exit ends jalon when its messages have been written, or after a time if they are not read.
func exit(status int) {
	messages.Flush(time.Second)
	os.Exit(status)
}
