// Package procdir reads of a process what all its threads share, in /proc.
//
// /proc/PID is the directory of the process's first thread. When that thread has
// ended and others run on (pthread_exit in main), it has no memory, no files and no
// root directory any more; the other threads' directories still show them. A thread
// can end between any two reads, so nothing here depends on one.
//
// Import rule: procdir imports nothing of jalon.
package procdir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// maxRounds bounds how often a new list of threads is asked for.
const maxRounds = 1000

// Via calls read with directories of /proc that show a process until it succeeds: its
// own, and when the first thread has ended, those of the threads that run. The error is
// that of the first thread.
func Via[T any](pid int, read func(dir string) (T, error)) (T, error) {
	own := fmt.Sprintf("/proc/%d", pid)
	v, err := read(own)
	if err == nil || !ended(own) {
		return v, err
	}
	var before []string
	for range maxRounds {
		list := threads(own)
		if slices.Equal(list, before) {
			break // none of these shows it, and there are no others
		}
		for _, dir := range list {
			if v, e := read(dir); e == nil {
				return v, nil
			}
		}
		before = list
	}
	return v, err
}

// FirstEnded reports whether a process's first thread has ended; others may run on.
func FirstEnded(pid int) bool { return pid != 0 && ended(fmt.Sprintf("/proc/%d", pid)) }

// Ended reports whether all threads of a process have ended, or are on their way out.
func Ended(pid int) bool {
	own := fmt.Sprintf("/proc/%d", pid)
	if !ended(own) {
		return false
	}
	return !slices.ContainsFunc(threads(own), func(dir string) bool { return !ended(dir) })
}

// ended reports whether the thread of a directory runs no code any more.
func ended(dir string) bool {
	b, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return true
	}
	// The state follows the name, which is in parentheses and may hold any byte.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 || i+2 >= len(b) || b[i+2] == 'Z' || b[i+2] == 'X' {
		return true
	}
	// On its way out a thread gives its memory back before its state says so.
	_, err = os.Readlink(dir + "/exe")
	return errors.Is(err, fs.ErrNotExist)
}

// threads are the directories of a process's threads but the first.
func threads(own string) []string {
	entries, err := os.ReadDir(own + "/task")
	if err != nil {
		return nil
	}
	var list []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil && e.Name() != filepath.Base(own) {
			list = append(list, filepath.Join(own, "task", e.Name()))
		}
	}
	return list
}

// errEmpty is what a thread without memory shows.
var errEmpty = errors.New("the process has no memory any more")

// file reads a file that is empty when the thread has no memory.
func file(pid int, name string) ([]byte, error) {
	return Via(pid, func(dir string) ([]byte, error) {
		b, err := os.ReadFile(dir + "/" + name)
		if err == nil && len(b) == 0 {
			err = &os.PathError{Op: "read", Path: dir + "/" + name, Err: errEmpty}
		}
		return b, err
	})
}

// Mem opens its memory. The file stays bound to that memory, whatever becomes of the
// thread.
func Mem(pid int, flags int) (*os.File, error) {
	return Via(pid, func(dir string) (*os.File, error) {
		f, err := os.OpenFile(dir+"/mem", flags, 0)
		if err != nil {
			return nil, err
		}
		// A thread that has given its memory back may be opened, and nothing can be read.
		if b, err := os.ReadFile(dir + "/maps"); err != nil || len(b) == 0 {
			_ = f.Close()
			return nil, errors.Join(err, errEmpty)
		}
		return f, nil
	})
}

// Exe is the path of its program as the kernel shows it.
func Exe(pid int) (string, error) {
	return Via(pid, func(dir string) (string, error) { return os.Readlink(dir + "/exe") })
}

// Link is a path by which one of its links or files ("exe", "root", "root/etc/passwd",
// "fd/3") can be opened now: that of a thread that has it.
func Link(pid int, name string) string {
	path, err := Via(pid, func(dir string) (string, error) {
		path := dir + "/" + name
		_, err := os.Stat(path)
		return path, err
	})
	if err != nil {
		return fmt.Sprintf("/proc/%d/%s", pid, name)
	}
	return path
}
