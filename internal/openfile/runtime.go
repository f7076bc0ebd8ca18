package openfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// RuntimeDirectory makes the directory for sockets of this user's running programs, if it is not there, and returns it. The user
// owns it, and no other user can read it: mode 0700.
func RuntimeDirectory() (string, error) {
	var failed error
	for _, dir := range runtimeDirectories() {
		err := os.Mkdir(dir, 0o700)
		if err == nil || errors.Is(err, os.ErrExist) {
			err = private(dir)
		}
		if err == nil {
			return dir, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", failed
}

// RuntimeDirectories are those directories that RuntimeDirectory can have made: the environment of a program that listens is not always
// that of the one that looks for it.
func RuntimeDirectories() (list []string) {
	for _, dir := range runtimeDirectories() {
		if private(dir) == nil {
			list = append(list, dir)
		}
	}
	return list
}

// runtimeDirectories are the candidates, the best first.
func runtimeDirectories() (list []string) {
	uid := os.Geteuid()
	for _, parent := range []string{os.Getenv("XDG_RUNTIME_DIR"), fmt.Sprintf("/run/user/%d", uid)} {
		if filepath.IsAbs(parent) && private(parent) == nil {
			list = append(list, filepath.Join(parent, "jalon"))
		}
	}
	if uid == 0 {
		list = append(list, "/run/jalon")
	}
	return append(list, fmt.Sprintf("/tmp/jalon-%d", uid))
}

// private reports whether a directory is this user's and closed to others. Its name is not a symbolic link.
func private(dir string) error {
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil {
		return &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return fmt.Errorf("%s is not a directory", dir)
	case st.Uid != uint32(os.Geteuid()):
		return fmt.Errorf("%s belongs to another user", dir)
	case st.Mode&0o077 != 0:
		return fmt.Errorf("%s is open to other users (mode %03o)", dir, st.Mode&0o777)
	}
	return nil
}

// SamePeer reports whether the other end of a connection is a program of this user, or of root.
func SamePeer(fd int) error {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return err
	}
	if c.Uid != uint32(os.Geteuid()) && c.Uid != 0 {
		return errors.New("the program at the other end of the socket belongs to another user")
	}
	return nil
}
