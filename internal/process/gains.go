package process

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// The kernel ignores set-user-ID, set-group-ID and file capabilities in the exec of a
// process whose tracer lacks CAP_SYS_PTRACE. A child that shares the memory until its
// exec (vfork, posix_spawn) is traced until then, so sudo or ping started by it would run
// without their rights. Such a child stops at its system calls, and is let go at the
// entry to the exec of such a file: no code of the program runs in it any more.

// borrows reports whether t is a child that shares the memory until its exec.
func (p *children) borrows(t *task) bool {
	return !p.threads.Member(t) && !t.Copy && !t.CloneChild && p.ctl == nil
}

// powerless reports that jalon lacks the capability with which traced programs keep their rights.
var powerless = sync.OnceValue(func() bool { return !procdir.HasCapability(unix.CAP_SYS_PTRACE) })

// letGain detaches from a child that is about to execute a program with additional rights.
func (p *children) letGain(t *task) {
	info, ok := sys.GetSyscallInfo(t.TID)
	if !ok || info.Op != sys.SyscallEntry {
		return
	}
	dir, path := int64(unix.AT_FDCWD), info.Args[0]
	switch info.Nr {
	case unix.SYS_EXECVE:
	case unix.SYS_EXECVEAT:
		dir, path = int64(int32(info.Args[0])), info.Args[1]
	default:
		return
	}
	if name, ok := p.text(path); ok && gains(t.TID, dir, name) {
		p.forget(t)
		p.leavesMemory(t.TGID)
	}
}

// text reads a path of the program's.
func (p *children) text(addr uint64) (string, bool) {
	var b []byte
	for len(b) < unix.PathMax {
		part := make([]byte, memory.PageSize-(addr+uint64(len(b)))%memory.PageSize)
		if p.space.Read(addr+uint64(len(b)), part) != nil {
			return "", false
		}
		b = append(b, part...)
		if n := bytes.IndexByte(b, 0); n >= 0 {
			return string(b[:n]), true
		}
	}
	return "", false
}

// gains reports whether the exec of a file gives rights.
func gains(tid int, dir int64, name string) bool {
	file := fmt.Sprintf("/proc/%d/root%s", tid, name)
	switch {
	case filepath.IsAbs(name):
	case dir != unix.AT_FDCWD:
		file = filepath.Join(fmt.Sprintf("/proc/%d/fd/%d", tid, dir), name)
	default:
		file = filepath.Join(fmt.Sprintf("/proc/%d/cwd", tid), name)
	}
	var st unix.Stat_t
	if unix.Stat(file, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o111 == 0 {
		return false
	}
	if st.Mode&unix.S_ISUID != 0 || st.Mode&unix.S_ISGID != 0 && st.Mode&0o010 != 0 {
		return true
	}
	n, err := unix.Getxattr(file, "security.capability", nil)
	return err == nil && n > 0
}
