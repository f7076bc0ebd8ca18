package main

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/jalon-trace/jalon/internal/bounded"
	"github.com/jalon-trace/jalon/internal/format"
)

// Standard output and error for all text that jalon writes itself. Names and paths in it come from programs
// and files that may be hostile: see format.Plain. JSON and the output of traced programs are not written
// here.
//
// If standard error is not read, jalon continues.
var (
	stdout   = format.Plain(os.Stdout)
	messages = bounded.NewPrompt(bounded.Reopen(os.Stderr))
	stderr   = format.Plain(messages)
)

// programText is standard output for gdbserver, which also serves GDB if it is not read.
var programText = sync.OnceValue(func() io.Writer {
	return format.Plain(bounded.NewPrompt(bounded.Reopen(os.Stdout)))
})

// exit ends jalon when its messages have been written, or after a time if they are not read.
func exit(status int) {
	messages.Flush(time.Second)
	os.Exit(status)
}
