package stub

import (
	"errors"
	"slices"
	"syscall"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

var _ = []struct{}{
	on((*Machine).fileSetFS), on((*Machine).fileOpen), on((*Machine).fileClose), on((*Machine).fileRead),
	on((*Machine).fileWrite), on((*Machine).fileStat), on((*Machine).pathStat), on((*Machine).pathLstat),
	on((*Machine).unlink), on((*Machine).readlink),
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

func (m *Machine) fileSystem() FileSystem { return m.target.Files(m.filePID) }

func (m *Machine) fileSetFS(p rsp.FileSetFS) rsp.Packet {
	if p.PID != 0 && (p.PID > 1<<31-1 || !slices.Contains(m.target.Processes(), int(p.PID))) {
		return fileError(syscall.EINVAL)
	}
	m.filePID = int(p.PID)
	return rsp.FileReply{}
}

func (m *Machine) fileOpen(p rsp.FileOpen) rsp.Packet {
	if len(m.files) >= maxFiles {
		return fileError(syscall.EMFILE)
	}
	fs := m.fileSystem()
	fd, err := fs.Open(string(p.Path), p.Flags, p.Mode)
	if err != nil {
		return fileError(err)
	}
	m.nextFile++
	m.files[m.nextFile] = openFile{fs, fd}
	return rsp.FileReply{Result: m.nextFile}
}

func (m *Machine) fileClose(p rsp.FileClose) rsp.Packet {
	f, ok := m.files[p.FD]
	if !ok {
		return fileError(syscall.EBADF)
	}
	delete(m.files, p.FD)
	return fileResult(0, f.fs.Close(f.fd))
}

func (m *Machine) fileRead(p rsp.FileRead) rsp.Packet {
	f, ok := m.files[p.FD]
	if !ok {
		return fileError(syscall.EBADF)
	}
	if p.Offset > 1<<63-1 {
		return fileError(syscall.EINVAL)
	}
	b := make([]byte, min(p.Count, uint64(m.cfg.PacketSize)))
	n, err := f.fs.Pread(f.fd, b, int64(p.Offset))
	if err != nil {
		return fileError(err)
	}
	data := fitting(b[:min(max(n, 0), len(b))], m.cfg.PacketSize)
	return fileData(data)
}

// fileData is a number of bytes and the bytes; at the end of a file there are none.
func fileData(data rsp.Raw) rsp.Packet {
	return rsp.FileReply{Result: int64(len(data)), Data: append(rsp.Raw{}, data...)}
}

func (m *Machine) fileWrite(p rsp.FileWrite) rsp.Packet {
	f, ok := m.files[p.FD]
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

func (m *Machine) fileStat(p rsp.FileStat) rsp.Packet {
	f, ok := m.files[p.FD]
	if !ok {
		return fileError(syscall.EBADF)
	}
	return status(f.fs.Fstat(f.fd))
}

func (m *Machine) pathStat(p rsp.PathStat) rsp.Packet {
	return status(m.fileSystem().Stat(string(p.Path)))
}

func (m *Machine) pathLstat(p rsp.PathLstat) rsp.Packet {
	return status(m.fileSystem().Lstat(string(p.Path)))
}

func (m *Machine) unlink(p rsp.Unlink) rsp.Packet {
	return fileResult(0, m.fileSystem().Unlink(string(p.Path)))
}

func (m *Machine) readlink(p rsp.Readlink) rsp.Packet {
	target, err := m.fileSystem().Readlink(string(p.Path))
	if err != nil {
		return fileError(err)
	}
	return fileData(fitting([]byte(target), m.cfg.PacketSize))
}
