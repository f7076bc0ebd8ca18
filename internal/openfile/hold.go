package openfile

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Held is a file that is opened as by Create, and keeps its content until something is written: a command that is
// refused later does not cost the user the last one's output.
type Held struct {
	f       *os.File
	emptied bool
}

// Hold opens a file for writing; see Create.
func Hold(path string) (*Held, error) {
	f, err := create(path, maxLinks)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	return &Held{f: f}, nil
}

// File is the file itself.
func (h *Held) File() *os.File { return h.f }

// empty takes the content of a regular file away, once. A descriptor of this process is written as it is.
func (h *Held) empty() error {
	if h.emptied || own(h.f.Name()) {
		return nil
	}
	h.emptied = true
	var st unix.Stat_t
	if err := unix.Fstat(int(h.f.Fd()), &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size == 0 {
		return err
	}
	return h.f.Truncate(0)
}

// Write implements io.Writer.
func (h *Held) Write(b []byte) (int, error) {
	if err := h.empty(); err != nil {
		return 0, err
	}
	return h.f.Write(b)
}

// Close ends an output, which may be empty.
func (h *Held) Close() error {
	if err := h.empty(); err != nil {
		_ = h.f.Close()
		return err
	}
	return h.f.Close()
}

// Leave closes a file to which nothing was written, and leaves its content.
func (h *Held) Leave() error { return h.f.Close() }
