package process

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// rights are those by which the kernel decides about files for a process (credentials(7)).
type rights struct {
	uid, gid uint32 // of the file system
	groups   []uint32
}

// rightsOf reads the rights of a process.
func rightsOf(pid int) (r rights, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return r, err
	}
	return parseRights(string(b))
}

// parseRights reads the lines "Uid: real effective saved file-system", Gid and Groups.
func parseRights(status string) (r rights, err error) {
	number := func(s string) uint32 {
		n, e := strconv.ParseUint(s, 10, 32)
		if e != nil {
			err = fmt.Errorf("a line of /proc/PID/status that is not understood: %w", e)
		}
		return uint32(n)
	}
	found := 0
	for line := range strings.Lines(status) {
		name, rest, _ := strings.Cut(line, ":")
		f := strings.Fields(rest)
		switch {
		case name == "Uid" && len(f) == 4:
			r.uid, found = number(f[3]), found|1
		case name == "Gid" && len(f) == 4:
			r.gid, found = number(f[3]), found|2
		case name == "Groups":
			found |= 4
			for _, g := range f {
				r.groups = append(r.groups, number(g))
			}
		}
	}
	if err == nil && found != 7 {
		err = fmt.Errorf("/proc/PID/status does not show the user and the groups")
	}
	return r, err
}

// limited runs f with no more rights on files than the process has: GDB asks for files
// in the process's name. pid 0 is this process. Rights are limited only from root's;
// another user's jalon traces programs of that user alone.
//
// The change is of one thread, by system calls that act on the calling thread (the
// wrappers of Go's library act on all). That thread ends afterwards: its goroutine does
// not unlock it.
func limited(pid int, f func() (int, error)) (int, error) {
	if pid == 0 || os.Geteuid() != 0 {
		return f()
	}
	r, err := rightsOf(pid)
	if err != nil {
		return -1, err
	}
	if r.uid == 0 {
		return f()
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread()
		if err := r.take(); err != nil {
			done <- result{-1, err}
			return
		}
		n, err := f()
		done <- result{n, err}
	}()
	got := <-done
	return got.n, got.err
}

// take gives the calling thread these rights, and no others: with another user than root
// the kernel takes the capabilities that overrule permissions of files away.
func (r *rights) take() error {
	var list unsafe.Pointer
	if len(r.groups) > 0 {
		list = unsafe.Pointer(&r.groups[0])
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(r.groups)), uintptr(list), 0); e != 0 {
		return fmt.Errorf("taking the groups of the process: %w", e)
	}
	// The calls give the value of before, and no error: asked again, what is now.
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSGID, uintptr(r.gid), 0, 0)
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, uintptr(r.uid), 0, 0)
	gid, _, _ := unix.RawSyscall(unix.SYS_SETFSGID, ^uintptr(0), 0, 0)
	uid, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, ^uintptr(0), 0, 0)
	if uint32(uid) != r.uid || uint32(gid) != r.gid {
		return fmt.Errorf("taking the rights of user %d: %w", r.uid, unix.EPERM)
	}
	return nil
}
