package process

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/ring"
)

// MapShared creates a memfd in the process, of g's size and sealed, maps it there
// as g says and returns the base address, and jalon's own descriptor of the file
// (to be closed by the caller). The process makes the file because it may not be
// allowed to open one of jalon's.
//
// The process may be hostile: a process that shares its descriptor table and is not
// stopped can put another file over the descriptor at any moment. Therefore
//
//  1. takeMemfd copies the descriptor (pidfd_getfd): jalon gets the rights that the
//     process itself has, and opens nothing by a path. Whatever the process puts
//     there, jalon can do no more to it than the process could.
//  2. It is checked to be a new memfd before anything is done with it: memfd's
//     seals, none set yet but F_SEAL_EXEC, no bytes, no name.
//  3. ring.Prepare sets size and seals, and fails if a seal is refused: from then on
//     no process can make jalon fault by cutting the file.
//  4. The mappings that the process has in the end are compared with jalon's file by
//     device and inode (Memory.MapsFile, by the caller: threads may run then).
//
// A file that fails a check is closed, and nothing of it was changed.
func (s *Stopped) MapShared(name string, g ring.Geometry) (base uint64, f *os.File, err error) {
	const op = "map the shared memory"
	reserve := SystemCall(unix.SYS_MMAP, s.sp.Place(g.MemSize()), g.MemSize(), unix.PROT_NONE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE, ^uint64(0), 0)
	fd, f, reserved, err := s.memfd(name, reserve)
	if err != nil {
		return 0, nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			f = nil
		}
	}()
	shut := SystemCall(unix.SYS_CLOSE, uint64(fd))
	if err = reserved[0].Err; err == nil {
		err = ring.Prepare(int(f.Fd()), g)
	}
	if err != nil {
		_, _ = s.Syscalls([]Call{shut})
		if errors.Is(err, unix.ENOMEM) {
			err = &fail.Error{
				Op: fmt.Sprintf("%s (process %d: %d MB)", op, s.Pid(), g.MemSize()>>20), Err: err,
				Remedy: "if the process may have no more address space (ulimit -v), less is taken with a smaller --buffer, and in scripts with a smaller max_map_keys",
			}
		}
		return 0, f, s.wrap(op, err)
	}
	base = reserved[0].Value
	var calls []Call
	for _, m := range g.Maps() {
		calls = append(calls, SystemCall(unix.SYS_MMAP, base+m.Mem, m.Len, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_SHARED|unix.MAP_FIXED, uint64(fd), m.File))
	}
	results, err := s.Syscalls(append(calls, shut))
	for i := 0; err == nil && i < len(results); i++ {
		err = results[i].Err
	}
	if err != nil {
		_ = s.Free(base, g.MemSize())
		return 0, f, s.wrap(op, err)
	}
	return base, f, nil
}

// Memfd creates a memfd in the process. fd is its descriptor there (to be closed
// by an injected close), f jalon's copy of the descriptor.
func (s *Stopped) Memfd(name string) (fd int, f *os.File, err error) {
	fd, f, _, err = s.memfd(name)
	return fd, f, err
}

// memfd is Memfd, and runs more calls.
func (s *Stopped) memfd(name string, more ...Call) (fd int, f *os.File, results []CallResult, err error) {
	const op = "create shared memory in the process"
	scratch, err := s.scratch()
	if err != nil {
		return 0, nil, nil, s.wrap(op, err)
	}
	if err := s.sp.Write(scratch, append([]byte(name), 0)); err != nil {
		return 0, nil, nil, s.wrap(op, err)
	}
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	results, err = s.Syscalls(append([]Call{SystemCall(unix.SYS_MEMFD_CREATE, scratch, flags|unix.MFD_NOEXEC_SEAL)}, more...))
	if err != nil {
		return 0, nil, nil, s.wrap(op, err)
	}
	r, err := results[0].Value, results[0].Err
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		r, err = s.Syscall(unix.SYS_MEMFD_CREATE, scratch, flags)
	}
	if err != nil {
		return 0, nil, nil, s.wrap(op, err)
	}
	f, err = takeMemfd(s.Pid(), s.p.injector.Borrowed(), int(r))
	if err != nil {
		_, _ = s.Syscall(unix.SYS_CLOSE, r)
		return 0, nil, nil, s.wrap("take a copy of the shared memory's descriptor", err)
	}
	return int(r), f, results[1:], nil
}

// takeMemfd copies descriptor fd of a thread and checks
// that it is a memfd to which nothing has been done yet.
func takeMemfd(pid, tid, fd int) (*os.File, error) {
	n, err := copyDescriptor(pid, tid, fd)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(n), "memfd")
	if err := newMemfd(n); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("descriptor %d of the process is not the memory that jalon created there: %w; another process that shares its descriptors changed it", fd, err)
	}
	return f, nil
}

// newMemfd reports why a descriptor is not a memfd that nothing has been done to.
// The first question is answered by the kernel without asking a file system, which
// could keep jalon waiting (FUSE).
func newMemfd(fd int) error {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return fmt.Errorf("it has no seals (%w)", err)
	}
	const sealExec = 0x20 // F_SEAL_EXEC, Linux 6.3: what MFD_NOEXEC_SEAL sets
	if seals&^sealExec != 0 {
		return fmt.Errorf("it is sealed already (%#x)", seals)
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return err
	}
	if fs.Type != unix.TMPFS_MAGIC { // hugetlbfs has seals too, and faults where huge pages are missing
		return fmt.Errorf("its file system has the type %#x", fs.Type)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 0:
		return errors.New("it is not an unnamed file")
	case st.Size != 0 || st.Blocks != 0:
		return fmt.Errorf("it has %d bytes", st.Size)
	}
	return nil
}

// MapsFile checks that what the process has mapped from base on is the file f.
func (m *Memory) MapsFile(base uint64, g ring.Geometry, f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	maps, err := memory.ReadMaps(m.sp.Pid)
	if err != nil {
		return access("read the mappings", err)
	}
	end := base + g.MemSize()
	for _, x := range maps {
		if x.End <= base || x.Start >= end || x.Prot == unix.PROT_NONE {
			continue
		}
		if !x.IsFile(st.Dev, st.Ino) {
			return fmt.Errorf("map the shared memory: the process has another file mapped at %#x", x.Start)
		}
	}
	return nil
}

// copyDescriptor copies descriptor fd of a thread (pidfd_getfd, Linux 5.6).
func copyDescriptor(pid, tid, fd int) (int, error) {
	const pidfdThread = unix.O_EXCL // PIDFD_THREAD, Linux 6.9: the thread's own table
	pfd, err := unix.PidfdOpen(tid, pidfdThread)
	if errors.Is(err, unix.EINVAL) {
		// The table of the first thread, nearly always the same one. If it is not,
		// the descriptor is missing there or is not what the caller looks for.
		pfd, err = unix.PidfdOpen(pid, 0)
	}
	if err != nil {
		return 0, fmt.Errorf("pidfd_open: %w", err)
	}
	defer unix.Close(pfd)
	n, err := unix.PidfdGetfd(pfd, fd, 0)
	if err != nil {
		return 0, fmt.Errorf("pidfd_getfd: %w", err)
	}
	return n, nil
}
