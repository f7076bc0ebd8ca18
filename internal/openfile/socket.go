package openfile

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrInUse is the cause of ListenUnix's error if another program listens on the socket.
var ErrInUse = errors.New("another program listens on it")

// ListenUnix makes a unix socket to which only its owner may connect. It replaces only a socket on which no
// program listens any more. Closing the listener removes the socket. The mode is set before the socket gets its
// name, so other users can never connect, and the process's umask is not changed.
func ListenUnix(path string) (*net.UnixListener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), 0o600) })
		return errors.Join(err, failed)
	}}
	l, err := private.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	return l.(*net.UnixListener), nil
}

// removeStale removes a socket that no program listens on any more.
func removeStale(path string) error {
	st, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode()&os.ModeSocket == 0:
		return errors.New("a file of that name exists and is not a socket; choose another name")
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		_ = c.Close()
		return fmt.Errorf("%w; choose another name", ErrInUse)
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return err
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing a socket that is no longer used: %w", err)
	}
	return nil
}
