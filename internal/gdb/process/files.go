package process

import (
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/gdb/stub"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// maxFiles bounds the files that GDB has open. It has one or two.
const maxFiles = 64

// fileTable is the open files of a connection. Their numbers are its own, whichever
// process's view they were opened in.
type fileTable struct {
	// writable: files may be changed, too (`remote put`, `remote delete`); else that
	// is EROFS.
	writable bool
	open     map[int]int // number to descriptor
}

func newFileTable() *fileTable { return &fileTable{open: map[int]int{}} }

// view is the file system as a process sees it, 0: as jalon does, with no more rights than
// those of the process whose, 0: those of jalon.
func (t *fileTable) view(pid, whose int) stub.FileSystem { return &processFiles{t, pid, whose} }

// CloseAll closes what is open.
func (t *fileTable) CloseAll() {
	for number, fd := range t.open {
		_ = unix.Close(fd) // opened for reading: nothing can be lost
		delete(t.open, number)
	}
}

func (t *fileTable) add(fd int) int {
	for number := 0; ; number++ {
		if _, taken := t.open[number]; !taken {
			t.open[number] = fd
			return number
		}
	}
}

// processFiles implements stub.FileSystem. Paths are those of the process's root.
type processFiles struct {
	*fileTable
	pid   int
	whose int
}

// openFlags are the protocol's flags, and those of open(2) for them.
var openFlags = []struct {
	protocol uint64
	system   int
}{
	{rsp.OpenAppend, unix.O_APPEND},
	{rsp.OpenCreate, unix.O_CREAT},
	{rsp.OpenTruncate, unix.O_TRUNC},
	{rsp.OpenExclusive, unix.O_EXCL},
}

func systemFlags(flags uint64) (int, error) {
	directions := [...]int{rsp.OpenRead: unix.O_RDONLY, rsp.OpenWrite: unix.O_WRONLY, rsp.OpenReadWrite: unix.O_RDWR}
	direction := flags & 3
	if direction >= uint64(len(directions)) {
		return 0, unix.EINVAL
	}
	out := directions[direction]
	flags &^= 3
	for _, f := range openFlags {
		if flags&f.protocol != 0 {
			out |= f.system
			flags &^= f.protocol
		}
	}
	if flags != 0 {
		return 0, unix.EINVAL
	}
	return out, nil
}

// Open implements stub.FileSystem.
func (f *processFiles) Open(name string, flags, mode uint64) (int, error) {
	system, err := systemFlags(flags)
	if err != nil {
		return 0, err
	}
	if system != unix.O_RDONLY && !f.writable {
		return 0, unix.EROFS
	}
	if len(f.open) >= maxFiles {
		return 0, unix.EMFILE
	}
	if system&unix.O_CREAT == 0 {
		mode = 0
	}
	// A pipe without a writer must not hold us up, nor a terminal become ours.
	fd, err := f.at(name, system|unix.O_NONBLOCK|unix.O_NOCTTY, mode&0o777)
	if err != nil {
		return 0, err
	}
	return f.add(fd), nil
}

// Close implements stub.FileSystem.
func (f *processFiles) Close(number int) error {
	fd, ok := f.open[number]
	if !ok {
		return unix.EBADF
	}
	delete(f.open, number)
	return unix.Close(fd)
}

// Pread implements stub.FileSystem.
func (f *processFiles) Pread(number int, b []byte, offset int64) (int, error) {
	fd, ok := f.open[number]
	if !ok {
		return 0, unix.EBADF
	}
	return retry(func() (int, error) { return unix.Pread(fd, b, offset) })
}

// Pwrite implements stub.FileSystem.
func (f *processFiles) Pwrite(number int, b []byte, offset int64) (int, error) {
	fd, ok := f.open[number]
	if !ok {
		return 0, unix.EBADF
	}
	return retry(func() (int, error) { return unix.Pwrite(fd, b, offset) })
}

// Fstat implements stub.FileSystem.
func (f *processFiles) Fstat(number int) (rsp.Stat, error) {
	fd, ok := f.open[number]
	if !ok {
		return rsp.Stat{}, unix.EBADF
	}
	return statOf(fd)
}

// Stat implements stub.FileSystem.
func (f *processFiles) Stat(name string) (rsp.Stat, error) { return f.statAt(name, unix.O_PATH) }

// Lstat implements stub.FileSystem.
func (f *processFiles) Lstat(name string) (rsp.Stat, error) {
	return f.statAt(name, unix.O_PATH|unix.O_NOFOLLOW)
}

func (f *processFiles) statAt(name string, flags int) (rsp.Stat, error) {
	fd, err := f.at(name, flags, 0)
	if err != nil {
		return rsp.Stat{}, err
	}
	defer unix.Close(fd)
	return statOf(fd)
}

// Unlink implements stub.FileSystem.
func (f *processFiles) Unlink(name string) error {
	if !f.writable {
		return unix.EROFS
	}
	dir, err := f.at(path.Dir(name), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	_, err = limited(f.whose, func() (int, error) { return 0, unix.Unlinkat(dir, path.Base(name), 0) })
	return err
}

// Readlink implements stub.FileSystem.
func (f *processFiles) Readlink(name string) (string, error) {
	fd, err := f.at(name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", b)
	if err == unix.ENOENT {
		err = unix.EINVAL // an empty path of what is no link
	}
	if err != nil {
		return "", err
	}
	return string(b[:n]), nil
}

// at opens a path of the process's root. In another root than ours, absolute links
// and `..` must not lead out of it: openat2(2), Linux 5.6.
func (f *processFiles) at(name string, flags int, mode uint64) (int, error) {
	flags |= unix.O_CLOEXEC
	open := func() (int, error) { return unix.Open(name, flags, uint32(mode)) }
	if f.pid == 0 || sameRoot(f.pid) {
		return limited(f.whose, func() (int, error) { return retry(open) })
	}
	root, err := unix.Open(procdir.Link(f.pid, "root"), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	how := unix.OpenHow{Flags: uint64(flags), Mode: mode, Resolve: unix.RESOLVE_IN_ROOT}
	open = func() (int, error) { return unix.Openat2(root, name, &how) }
	return limited(f.whose, func() (int, error) { return retry(open) })
}

// sameRoot reports whether paths mean the same to a process as to us.
func sameRoot(pid int) bool {
	var ours, theirs unix.Stat_t
	if unix.Stat("/", &ours) != nil || unix.Stat(procdir.Link(pid, "root/"), &theirs) != nil {
		return false
	}
	a, err1 := os.Readlink("/proc/self/ns/mnt")
	b, err2 := procdir.Via(pid, func(dir string) (string, error) { return os.Readlink(dir + "/ns/mnt") })
	return err1 == nil && err2 == nil && a == b && ours.Dev == theirs.Dev && ours.Ino == theirs.Ino
}

// retry repeats a call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for range 100 {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
	return 0, unix.EINTR
}

// statOf reads the status of a descriptor.
func statOf(fd int) (rsp.Stat, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return rsp.Stat{}, err
	}
	return rsp.Stat{
		Dev: uint32(st.Dev), Ino: uint32(st.Ino), Mode: st.Mode & (unix.S_IFMT | 0o777),
		Nlink: uint32(st.Nlink), UID: st.Uid, GID: st.Gid, Rdev: uint32(st.Rdev),
		Size: uint64(st.Size), BlockSize: uint64(st.Blksize), Blocks: uint64(st.Blocks),
		Atime: uint32(st.Atim.Sec), Mtime: uint32(st.Mtim.Sec), Ctime: uint32(st.Ctim.Sec),
	}, nil
}
