package rsp

import (
	"encoding/binary"
	"fmt"
)

// Host I/O: GDB uses the files of the stub's machine. All are answered by FileReply.
type (
	// FileSetFS `vFile:setfs` chooses the process whose files are meant; 0 is the
	// stub's own view.
	FileSetFS struct{ PID uint64 }
	// FileOpen `vFile:open`; Flags and Mode are the protocol's, see OpenFlags.
	FileOpen struct {
		Path        Text
		Flags, Mode uint64
	}
	FileClose struct{ FD int64 }
	FileRead  struct {
		FD            int64
		Count, Offset uint64
	}
	FileWrite struct {
		FD     int64
		Offset uint64
		Data   Raw
	}
	// FileStat `vFile:fstat`, PathStat `vFile:stat`, PathLstat `vFile:lstat`: the
	// reply's Data is a Stat.
	FileStat  struct{ FD int64 }
	PathStat  struct{ Path Text }
	PathLstat struct{ Path Text }
	Unlink    struct{ Path Text }
	Readlink  struct{ Path Text }
	// FileReply is `F result[,errno][;data]`; Result is -1 with an errno of the
	// protocol (Errno...), else the descriptor or the number of bytes.
	FileReply struct {
		Result int64
		Errno  *uint64
		Data   Raw
	}
)

func (FileSetFS) Layout() string { return "vFile:setfs:{PID}" }
func (FileOpen) Layout() string  { return "vFile:open:{Path},{Flags},{Mode}" }
func (FileClose) Layout() string { return "vFile:close:{FD}" }
func (FileRead) Layout() string  { return "vFile:pread:{FD},{Count},{Offset}" }
func (FileWrite) Layout() string { return "vFile:pwrite:{FD},{Offset},{Data}" }
func (FileStat) Layout() string  { return "vFile:fstat:{FD}" }
func (PathStat) Layout() string  { return "vFile:stat:{Path}" }
func (PathLstat) Layout() string { return "vFile:lstat:{Path}" }
func (Unlink) Layout() string    { return "vFile:unlink:{Path}" }
func (Readlink) Layout() string  { return "vFile:readlink:{Path}" }
func (FileReply) Layout() string { return "F{Result}[,{Errno}][;{Data}]" }

var fileRules = []rule{
	{FileSetFS{}, []Packet{FileReply{}}},
	{FileOpen{}, []Packet{FileReply{}}},
	{FileClose{}, []Packet{FileReply{}}},
	{FileRead{}, []Packet{FileReply{}}},
	{FileWrite{}, []Packet{FileReply{}}},
	{FileStat{}, []Packet{FileReply{}}},
	{PathStat{}, []Packet{FileReply{}}},
	{PathLstat{}, []Packet{FileReply{}}},
	{Unlink{}, []Packet{FileReply{}}},
	{Readlink{}, []Packet{FileReply{}}},
}

// Flags of FileOpen: the lowest two bits are the direction.
const (
	OpenRead      = 0x0
	OpenWrite     = 0x1
	OpenReadWrite = 0x2
	OpenAppend    = 0x8
	OpenCreate    = 0x200
	OpenTruncate  = 0x400
	OpenExclusive = 0x800
)

// Errors of FileReply; they are Linux's but for the name's length.
const (
	ErrnoPerm        = 1
	ErrnoNoEntry     = 2
	ErrnoInterrupted = 4
	ErrnoBadFD       = 9
	ErrnoAccess      = 13
	ErrnoFault       = 14
	ErrnoBusy        = 16
	ErrnoExists      = 17
	ErrnoNoDevice    = 19
	ErrnoNotDir      = 20
	ErrnoIsDir       = 21
	ErrnoInvalid     = 22
	ErrnoNoFiles     = 23
	ErrnoTooMany     = 24
	ErrnoTooBig      = 27
	ErrnoNoSpace     = 28
	ErrnoSeek        = 29
	ErrnoReadOnly    = 30
	ErrnoNameTooLong = 91
	ErrnoUnknown     = 9999
)

// Stat is the protocol's struct stat, 64 bytes, big-endian. Times are in seconds.
type Stat struct {
	Dev, Ino, Mode, Nlink, UID, GID, Rdev uint32
	Size, BlockSize, Blocks               uint64
	Atime, Mtime, Ctime                   uint32
}

// StatSize is the length of an encoded Stat.
const StatSize = 64

// Encode returns the bytes of FileReply.Data.
func (st Stat) Encode() Raw {
	out, err := binary.Append(make([]byte, 0, StatSize), binary.BigEndian, st)
	if err != nil {
		panic("BUG: a Stat of no fixed size: " + err.Error())
	}
	return out
}

// ParseStat reads FileReply.Data.
func ParseStat(data []byte) (Stat, error) {
	var st Stat
	if len(data) != StatSize {
		return st, fmt.Errorf("a file status of %d bytes instead of %d", len(data), StatSize)
	}
	_, err := binary.Decode(data, binary.BigEndian, &st)
	return st, err
}
