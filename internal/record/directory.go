package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// makeDirectory makes a directory and opens it, and the one in which it is. Others may be able to write there, and another directory may
// take its place at any time:
//
//  1. The parent is opened; what follows is relative to it, so that links in the path cannot be changed.
//  2. The directory is made, and opened without following a link.
//  3. What was opened belongs to this user only, and is empty: it is the new directory, or as good.
func makeDirectory(dir string) (parent, root *os.Root, err error) {
	dir = filepath.Clean(dir)
	if parent, err = os.OpenRoot(filepath.Dir(dir)); err != nil {
		return nil, nil, err
	}
	if err = parent.Mkdir(filepath.Base(dir), 0o700); err != nil {
		_ = parent.Close()
		if errors.Is(err, os.ErrExist) {
			err = fmt.Errorf("%s is there already: a trace is recorded to a new directory (%w)", dir, os.ErrExist)
		}
		return nil, nil, err
	}
	if root, err = openOwn(parent, filepath.Base(dir)); err != nil {
		_ = parent.Close()
		return nil, nil, fmt.Errorf("%s: %w", dir, err)
	}
	return parent, root, nil
}

// errReplaced says that a directory is not the one that was just made.
var errReplaced = errors.New("another user has replaced it; use a directory of your own")

// openOwn opens a directory that was just made.
func openOwn(parent *os.Root, name string) (*os.Root, error) {
	up, err := parent.Open(".")
	if err != nil {
		return nil, err
	}
	defer up.Close()
	fd, err := unix.Openat(int(up.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%w (%v)", errReplaced, err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Uid != uint32(os.Geteuid()) || st.Mode&0o077 != 0 {
		return nil, errReplaced
	}
	if list, _ := f.Readdirnames(1); len(list) > 0 {
		return nil, errReplaced
	}
	return os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd))
}
