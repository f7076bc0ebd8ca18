package bounded

import (
	"bytes"
	"io"
	"os"
)

// pipeBuf is the size of a write that a pipe takes whole or not at all (PIPE_BUF).
const pipeBuf = 4096

// WholeLines returns a writer to f that writes whole lines to a pipe, as many as it takes in one piece. Where another process
// writes to the same pipe, its text comes between lines then, not inside of one. Lines that are longer than a pipe takes in one
// piece, and all text to other files, are written as they are.
func WholeLines(f *os.File) io.Writer {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return f
	}
	return lineWriter{f}
}

// lineWriter is a pipe. It keeps the deadlines of the file.
type lineWriter struct{ *os.File }

// Write implements io.Writer.
func (l lineWriter) Write(text []byte) (n int, err error) {
	for len(text) > 0 {
		k, err := l.File.Write(text[:firstLines(text)])
		n += k
		if err != nil {
			return n, err
		}
		text = text[k:]
	}
	return n, nil
}

// firstLines is how many bytes of a text are written at once.
func firstLines(text []byte) int {
	if len(text) <= pipeBuf {
		return len(text)
	}
	if n := bytes.LastIndexByte(text[:pipeBuf], '\n'); n >= 0 {
		return n + 1
	}
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		return n + 1
	}
	return len(text)
}
