// Package procdir reads from /proc what all threads of a process share. /proc/PID is the directory of the
// process's first thread. If that thread has ended and others continue (pthread_exit in main), the directory
// has no memory, files and root directory any more. The other threads' directories still have them. A thread
// can end between any two reads, so no function here depends on a particular thread.
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
	"strings"
)

// maxRounds limits how often the list of threads is read again.
const maxRounds = 1000

// Via calls read with directories of /proc for the process until one call succeeds: first the process's own,
// then, if the first thread has ended, those of running threads. The error is that of the first thread.
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
			break // no directory works, and there are no others
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

// FirstEnded reports whether a process's first thread has ended; others may continue.
func FirstEnded(pid int) bool { return pid != 0 && ended(fmt.Sprintf("/proc/%d", pid)) }

// Ended reports whether all threads of a process have ended or are exiting.
func Ended(pid int) bool {
	own := fmt.Sprintf("/proc/%d", pid)
	if !ended(own) {
		return false
	}
	return !slices.ContainsFunc(threads(own), func(dir string) bool { return !ended(dir) })
}

// ended reports whether the directory's thread has ended or is exiting.
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
	// An exiting thread releases its memory before its state changes.
	_, err = os.Readlink(dir + "/exe")
	return errors.Is(err, fs.ErrNotExist)
}

// threads returns the directories of the other threads of a process.
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

// Children returns the processes that the threads of a process have started and that are still its own
// (proc_pid_task_tid_children(5)); none where the kernel does not list them.
func Children(pid int) (list []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range files {
		b, _ := os.ReadFile(name) // a thread that has ended has none
		for _, word := range strings.Fields(string(b)) {
			if id, err := strconv.Atoi(word); err == nil {
				list = append(list, id)
			}
		}
	}
	slices.Sort(list)
	return list
}

// ErrNoMemory is the error for a thread without memory.
var ErrNoMemory = errors.New("the process has no memory any more")

// file reads a file that is empty if the thread has no memory.
func file(pid int, name string) ([]byte, error) {
	return Via(pid, func(dir string) ([]byte, error) {
		b, err := os.ReadFile(dir + "/" + name)
		if err == nil && len(b) == 0 {
			err = &os.PathError{Op: "read", Path: dir + "/" + name, Err: ErrNoMemory}
		}
		return b, err
	})
}

// Mem opens a process's memory. The file remains valid after the thread has ended.
func Mem(pid int, flags int) (*os.File, error) {
	return Via(pid, func(dir string) (*os.File, error) {
		f, err := os.OpenFile(dir+"/mem", flags, 0)
		if err != nil {
			return nil, err
		}
		// The file of a thread without memory can be opened, but not read.
		if b, err := os.ReadFile(dir + "/maps"); err != nil || len(b) == 0 {
			_ = f.Close()
			return nil, errors.Join(err, ErrNoMemory)
		}
		return f, nil
	})
}

// Exe returns the path of the process's program as the kernel shows it.
func Exe(pid int) (string, error) {
	return Via(pid, func(dir string) (string, error) { return os.Readlink(dir + "/exe") })
}

// Link returns a path by which one of the process's links or files ("exe", "root", "root/etc/passwd", "fd/3")
// can be opened now, through a thread that has it.
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
