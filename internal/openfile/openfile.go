// Package openfile opens files that another user may have named or placed: programs, libraries, debug files and
// sources of a traced process. jalon often runs as root, so for a name chosen by a program it must open only
// regular files.
//
// Import rule: openfile imports nothing of jalon.
package openfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// ErrNotRegular is the cause of an error of Regular for FIFOs, devices, directories.
var ErrNotRegular = errors.New("not a regular file")

// Regular opens a regular file for reading. Anything else is refused before it is
// opened: opening a FIFO blocks, opening a device can have effects.
//
//  1. The path is resolved to a handle without opening it (O_PATH). A path
//     /proc/PID/root/REST is resolved inside that root, absolute symbolic links
//     included, as the process itself would resolve REST (openat2, RESOLVE_IN_ROOT,
//     Linux 5.6).
//  2. The handle is examined: only a regular file passes.
//  3. The handle itself is opened through /proc/self/fd. No name is resolved a second
//     time, so what was examined is what is read.
func Regular(path string) (*os.File, error) {
	h, err := handle(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(h)
	var st unix.Stat_t
	if err := unix.Fstat(h, &st); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Open("/proc/self/fd/"+strconv.Itoa(h), flags, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// Read returns the content of a regular file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Regular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%d bytes exceed the limit of %d", st.Size(), limit)}
	}
	b := make([]byte, st.Size())
	n, err := f.ReadAt(b, 0)
	if n == len(b) {
		err = nil
	}
	return b[:n], err
}

// Stat returns the status of a path's file, resolved like Regular, without opening it.
func Stat(path string) (fs.FileInfo, error) {
	h, err := handle(path)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(h), path)
	defer f.Close()
	return f.Stat()
}

// Same reports whether two paths lead to one file.
func Same(a, b string) bool {
	x, err := Stat(a)
	if err != nil {
		return false
	}
	y, err := Stat(b)
	return err == nil && os.SameFile(x, y)
}

// handle resolves a path to a descriptor that identifies the file without opening it (O_PATH). In a path
// through a thread, /proc/PID/task/TID/REST, another thread of the process is used if that thread has ended.
func handle(path string) (int, error) {
	h, err := resolve(path)
	if err != unix.ENOENT && err != unix.ESRCH {
		return h, err
	}
	m := processTask.FindStringSubmatch(path)
	for attempt := 0; m != nil && attempt < threadAttempts && (err == unix.ENOENT || err == unix.ESRCH); attempt++ {
		list, lerr := os.ReadDir(m[1])
		if lerr != nil || len(list) == 0 {
			break
		}
		for i := len(list) - 1; i >= 0 && err != nil; i-- {
			h, err = resolve(m[1] + "/" + list[i].Name() + "/" + m[2])
		}
	}
	return h, err
}

// processTask matches a path through a thread: the directory of threads, and the rest after the thread's
// number.
var processTask = lazyregexp.New(`^(/proc/[0-9]+/task)/[0-9]+/((?:exe|root|cwd|map_files)(?:/.*)?)$`)

// threadAttempts limits how often the threads are listed, because they start and end.
const threadAttempts = 10

func resolve(path string) (int, error) {
	const flags = unix.O_PATH | unix.O_CLOEXEC
	root, rest, ok := splitRoot(path)
	if !ok {
		return retry(func() (int, error) { return unix.Open(path, flags, 0) })
	}
	dir, err := retry(func() (int, error) { return unix.Open(root, flags|unix.O_DIRECTORY, 0) })
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_IN_ROOT}
	return retry(func() (int, error) { return unix.Openat2(dir, rest, &how) })
}

// processRoot matches the root directory of a process or thread, and a path below it.
var processRoot = lazyregexp.New(`^(/proc/[0-9]+(?:/task/[0-9]+)?/root)/+(.+)$`)

// splitRoot splits "/proc/PID/root/REST" into the root directory and REST.
func splitRoot(path string) (root, rest string, ok bool) {
	m := processRoot.FindStringSubmatch(path)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// retry repeats a call that was interrupted by a signal or lost a race with a rename (EAGAIN of openat2).
// Another process may rename forever, so the number of attempts is limited.
func retry(call func() (int, error)) (n int, err error) {
	for range 100 {
		n, err = call()
		if err != unix.EINTR && err != unix.EAGAIN {
			break
		}
	}
	return n, err
}
