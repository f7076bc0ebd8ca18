package image

import (
	"syscall"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// Files are the files of images, each opened once: many processes have the same
// libraries.
type Files struct {
	opt  dwarf.Options
	open map[content]*dwarf.Module
	// builds are the results of byBuildID.
	builds map[string]*dwarf.Module
}

// content identifies the content of a file, and so detects that the file was overwritten.
type content struct {
	dev, ino      uint64
	size          int64
	seconds, nano int64 // of the last change
}

// NewFiles prepares files that are opened with options. Their root directory is that of
// the process whose image needs a file first.
func NewFiles(opt dwarf.Options) *Files {
	return &Files{opt: opt, open: map[content]*dwarf.Module{}, builds: map[string]*dwarf.Module{}}
}

// Open opens a file, or finds it among those that are open.
func (f *Files) Open(path string) (*dwarf.Module, error) { return f.openIn(path, "") }

// openIn is Open for a file of a process with another root directory.
func (f *Files) openIn(path, root string) (*dwarf.Module, error) {
	c, known := contentOf(path)
	if m := f.open[c]; known && m != nil {
		return m, nil
	}
	opt := f.opt
	if opt.Root == "" {
		opt.Root = root
	}
	m, err := dwarf.Open(path, opt)
	if err != nil {
		return nil, err
	}
	// The examined and the opened file are the same only if the file still exists.
	if again, ok := contentOf(path); !known || !ok || again != c {
		c = content{ino: uint64(len(f.open)), size: -1} // kept to be closed
	}
	f.open[c] = m
	return m, nil
}

func contentOf(path string) (c content, ok bool) {
	st, err := openfile.Stat(path)
	if err != nil {
		return c, false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return c, false
	}
	return content{uint64(sys.Dev), sys.Ino, sys.Size, int64(sys.Mtim.Sec), int64(sys.Mtim.Nsec)}, true
}

// Close closes all files.
func (f *Files) Close() {
	for _, m := range f.open {
		_ = m.Close() // it was only read
	}
	clear(f.open)
	clear(f.builds)
}
