package openfile

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Discard closes a file from Create whose content is not complete, and removes it: a part could be mistaken for the whole. Of
// a link it removes the file that it names. A file whose name is another's by now is emptied. Pipes, terminals and devices stay: their names are not the caller's.
func Discard(f *os.File) error {
	err := discard(f)
	return errors.Join(err, f.Close())
}

func discard(f *os.File) error {
	var st, named unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || own(f.Name()) {
		return nil
	}
	dir, err := unix.Open(filepath.Dir(f.Name()), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	base := filepath.Base(f.Name())
	if err := unix.Fstatat(dir, base, &named, unix.AT_SYMLINK_NOFOLLOW); err == nil && named.Dev == st.Dev && named.Ino == st.Ino {
		return unix.Unlinkat(dir, base, 0)
	}
	return f.Truncate(0)
}
