package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// mounts are the places where tracefs is, in the order in which they are tried.
// The second one is there when debugfs is mounted.
var mounts = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// FS is a mounted trace file system.
type FS struct {
	root string
	// Types, when set, finds a type by the name that C writes for it: "gfp_t",
	// "struct page", "union u", "enum hrtimer_mode". It returns nil for names
	// that it does not know. Without it, such types are known by size and sign.
	Types func(name string) *ctype.Type
}

// Open finds the mounted trace file system. The error says what to do when there
// is none or when it must not be read; it wraps fs.ErrNotExist or
// fs.ErrPermission.
func Open() (*FS, error) { return open(mounts) }

func open(mounts []string) (*FS, error) {
	var denied error
	for _, dir := range mounts {
		_, err := os.ReadDir(filepath.Join(dir, "events"))
		switch {
		case err == nil:
			return &FS{root: dir}, nil
		case errors.Is(err, fs.ErrPermission) && denied == nil:
			denied = err
		}
	}
	if denied != nil {
		return nil, fmt.Errorf("reading the kernel's tracepoints: %w (root may read them; others when the file system is mounted with gid=: mount -o remount,gid=GROUP %s)", denied, mounts[0])
	}
	return nil, fmt.Errorf("finding the kernel's tracepoints: %w: no trace file system at %s (mount it: mount -t tracefs tracefs %s; where that fails, the kernel has no CONFIG_TRACING)", fs.ErrNotExist, mounts[0], mounts[0])
}

// OpenAt uses the trace file system (or a copy of its files) at dir.
func OpenAt(dir string) *FS { return &FS{root: dir} }

// Root is the directory that the file system is mounted at.
func (f *FS) Root() string { return f.root }

// Event reads the format of one event. The error is a *debuginfo.NotFoundError
// when there is none of that name.
func (f *FS) Event(system, name string) (*Event, error) {
	if !plainName(system) || !plainName(name) {
		return nil, f.missing(system, name)
	}
	text, err := os.ReadFile(filepath.Join(f.root, "events", system, name, "format"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.missing(system, name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the format of the tracepoint %s:%s: %w", system, name, err)
	}
	ev, err := ParseFormat(text, f.Types)
	if err != nil {
		return nil, fmt.Errorf("reading the format of the tracepoint %s:%s: %w", system, name, err)
	}
	ev.System = system
	return ev, nil
}

// plainName says that s is one directory's name and nothing that leads elsewhere.
func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && filepath.Base(s) == s
}
