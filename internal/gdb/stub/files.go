package stub

import (
	"errors"
	"slices"
	"syscall"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// files are those that GDB has open.
type files struct {
	*core
	open map[int64]openFile
	next int64
	pid  int // whose file system; 0: ours
}

// reset closes them.
func (x *files) reset() {
	for _, f := range x.open {
		_ = f.fs.Close(f.fd) // the connection has ended: there is no peer for the error
	}
	x.open, x.next, x.pid = map[int64]openFile{}, 0, 0
}

// packets are those that it handles.
func (x *files) packets() []row {
	return []row{
		on("vFile:setfs", "whose file system", x.setSystem),
		on("vFile:open", "opens a file", x.openFile),
		on("vFile:close", "closes it", x.closeFile),
		on("vFile:pread", "reads", x.read),
		on("vFile:pwrite", "writes", x.write),
		on("vFile:fstat", "what is known of an open file", x.stat),
		on("vFile:stat", "the same of a path", x.statPath),
		on("vFile:lstat", "the same, of a link itself", x.lstatPath),
		on("vFile:unlink", "removes a file", x.unlink),
		on("vFile:readlink", "where a link leads", x.readlink),
	}
}

// openFile is a descriptor of a process's file system.
type openFile struct {
	fs FileSystem
	fd int
}

// maxFiles bounds the files that GDB has open.
const maxFiles = 256

// protocolErrors are the numbers of errors that the protocol has; all but one are
// Linux's.
var protocolErrors = []int{
	rsp.ErrnoPerm, rsp.ErrnoNoEntry, rsp.ErrnoInterrupted, rsp.ErrnoBadFD, rsp.ErrnoAccess, rsp.ErrnoFault,
	rsp.ErrnoBusy, rsp.ErrnoExists, rsp.ErrnoNoDevice, rsp.ErrnoNotDir, rsp.ErrnoIsDir, rsp.ErrnoInvalid,
	rsp.ErrnoNoFiles, rsp.ErrnoTooMany, rsp.ErrnoTooBig, rsp.ErrnoNoSpace, rsp.ErrnoSeek, rsp.ErrnoReadOnly,
}

// fileError is a failed call of a file system.
func fileError(err error) rsp.Packet {
	code := uint64(rsp.ErrnoUnknown)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		switch {
		case errno == syscall.ENAMETOOLONG:
			code = rsp.ErrnoNameTooLong
		case slices.Contains(protocolErrors, int(errno)):
			code = uint64(errno)
		}
	}
	return rsp.FileReply{Result: -1, Errno: &code}
}

// fileResult is a number, or the error.
func fileResult(n int, err error) rsp.Packet {
	if err != nil {
		return fileError(err)
	}
	return rsp.FileReply{Result: int64(n)}
}

func (x *files) system() FileSystem { return x.target.Files(x.pid) }

func (x *files) setSystem(p rsp.FileSetFS) rsp.Packet {
	if p.PID != 0 && (p.PID > 1<<31-1 || !slices.Contains(x.target.Processes(), int(p.PID))) {
		return fileError(syscall.EINVAL)
	}
	x.pid = int(p.PID)
	return rsp.FileReply{}
}

func (x *files) openFile(p rsp.FileOpen) rsp.Packet {
	if len(x.open) >= maxFiles {
		return fileError(syscall.EMFILE)
	}
	fs := x.system()
	fd, err := fs.Open(string(p.Path), p.Flags, p.Mode)
	if err != nil {
		return fileError(err)
	}
	x.next++
	x.open[x.next] = openFile{fs, fd}
	return rsp.FileReply{Result: x.next}
}

func (x *files) closeFile(p rsp.FileClose) rsp.Packet {
	f, ok := x.open[p.FD]
	if !ok {
		return fileError(syscall.EBADF)
	}
	delete(x.open, p.FD)
	return fileResult(0, f.fs.Close(f.fd))
}

func (x *files) read(p rsp.FileRead) rsp.Packet {
	f, ok := x.open[p.FD]
	if !ok {
		return fileError(syscall.EBADF)
	}
	if p.Offset > 1<<63-1 {
		return fileError(syscall.EINVAL)
	}
	b := make([]byte, min(p.Count, uint64(x.cfg.PacketSize)))
	n, err := f.fs.Pread(f.fd, b, int64(p.Offset))
	if err != nil {
		return fileError(err)
	}
	data := fitting(b[:min(max(n, 0), len(b))], x.cfg.PacketSize)
	return fileData(data)
}

// fileData is a number of bytes and the bytes; at the end of a file there are none.
func fileData(data rsp.Raw) rsp.Packet {
	return rsp.FileReply{Result: int64(len(data)), Data: append(rsp.Raw{}, data...)}
}

func (x *files) write(p rsp.FileWrite) rsp.Packet {
	f, ok := x.open[p.FD]
	if !ok {
		return fileError(syscall.EBADF)
	}
	if p.Offset > 1<<63-1 {
		return fileError(syscall.EINVAL)
	}
	n, err := f.fs.Pwrite(f.fd, p.Data, int64(p.Offset))
	return fileResult(n, err)
}

// status is the answer to the three kinds of stat.
func status(st rsp.Stat, err error) rsp.Packet {
	if err != nil {
		return fileError(err)
	}
	return fileData(st.Encode())
}

func (x *files) stat(p rsp.FileStat) rsp.Packet {
	f, ok := x.open[p.FD]
	if !ok {
		return fileError(syscall.EBADF)
	}
	return status(f.fs.Fstat(f.fd))
}

func (x *files) statPath(p rsp.PathStat) rsp.Packet {
	return status(x.system().Stat(string(p.Path)))
}

func (x *files) lstatPath(p rsp.PathLstat) rsp.Packet {
	return status(x.system().Lstat(string(p.Path)))
}

func (x *files) unlink(p rsp.Unlink) rsp.Packet {
	return fileResult(0, x.system().Unlink(string(p.Path)))
}

func (x *files) readlink(p rsp.Readlink) rsp.Packet {
	target, err := x.system().Readlink(string(p.Path))
	if err != nil {
		return fileError(err)
	}
	return fileData(fitting([]byte(target), x.cfg.PacketSize))
}
