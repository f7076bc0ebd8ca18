package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// mounts are the usual mount points of tracefs, in the order in which they are tried. The second exists if
// debugfs is mounted.
var mounts = []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}

// FS is a mounted trace file system.
type FS struct {
	root string
	// Types, if set, finds a type by its C name: "gfp_t", "struct page", "union u", "enum hrtimer_mode". It
	// returns nil for unknown names. Without it, such types are determined by size and sign.
	Types func(name string) *ctype.Type
}

// Open finds the mounted trace file system. If there is none, or it may not be read, the error contains the
// remedy and wraps fs.ErrNotExist or fs.ErrPermission.
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
		return nil, fmt.Errorf("reading the kernel's tracepoints: %w (run as root, or mount the file system for a group: mount -o remount,gid=GROUP %s)", denied, mounts[0])
	}
	return nil, fmt.Errorf("finding the kernel's tracepoints: %w: no trace file system at %s (mount it: mount -t tracefs tracefs %s; if that fails, the kernel has no CONFIG_TRACING)", fs.ErrNotExist, mounts[0], mounts[0])
}

// OpenAt uses the trace file system (or a copy of its files) at dir.
func OpenAt(dir string) *FS { return &FS{root: dir} }

// Root returns the directory where the file system is mounted.
func (f *FS) Root() string { return f.root }

// Event reads the format of one event. If there is none of that name, the error is a *debuginfo.NotFoundError.
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

// plainName reports that s is the name of a directory and not a path.
func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && filepath.Base(s) == s
}
