package main

import (
	"bytes"
	"debug/elf"
	encoding "encoding/binary"
	"os"
	"os/signal"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process"
)

// keepIgnored lets jalon ignore the signals that were ignored when it was started, so that a program that it starts
// inherits what it would without jalon (`trap ” USR1`). Go's runtime installs its handlers before main; it keeps
// what was there in a variable of its own, which only the symbols of the binary show. Without them, or if the runtime has
// changed, only SIGHUP and SIGINT stay ignored, as the runtime does it.
func keepIgnored() {
	was, ok := firstDispositions()
	if !ok {
		return
	}
	if was[unix.SIGCHLD] == ignoredAction {
		process.IgnoreChildren()
	}
	for n, action := range was {
		if sig := unix.Signal(n); action == ignoredAction && !slices.Contains(neverIgnored, sig) { // SIGINT: see ending
			signal.Ignore(sig)
		}
	}
}

// neverIgnored are the signals that jalon itself needs: those of faults, of the runtime's scheduler and profiler, and of
// children (process.IgnoreChildren).
var neverIgnored = []unix.Signal{
	unix.SIGSEGV, unix.SIGBUS, unix.SIGFPE, unix.SIGILL, unix.SIGTRAP, unix.SIGSYS, unix.SIGURG, unix.SIGPROF, unix.SIGCHLD,
}

const (
	signals       = 65 // of the runtime's tables on Linux
	ignoredAction = 1  // SIG_IGN
)

// firstDispositions returns the handlers that were there before the runtime's.
func firstDispositions() (*[signals]uintptr, bool) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, false
	}
	defer func() { _ = f.Close() }()
	file, err := elf.NewFile(f)
	if err != nil || file.Type != elf.ET_EXEC || file.Class != elf.ELFCLASS64 {
		return nil, false
	}
	addr, ok := variable(f, file, "runtime.fwdSig", unsafe.Sizeof([signals]uintptr{}))
	if !ok {
		return nil, false
	}
	return (*[signals]uintptr)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), true
}

// variable returns the address of a variable of an executable, if it has that size. Of the symbols only this one is decoded, and
// nothing is copied: the tables have 2 MB.
func variable(f *os.File, file *elf.File, name string, size uintptr) (uintptr, bool) {
	text, unmap := mapped(f, file.Section(".strtab"))
	defer unmap()
	at := bytes.Index(text, []byte("\x00"+name+"\x00"))
	if at < 0 {
		return 0, false
	}
	table, unmap := mapped(f, file.Section(".symtab"))
	defer unmap()
	for ; len(table) >= elf.Sym64Size; table = table[elf.Sym64Size:] {
		if encoding.LittleEndian.Uint32(table) != uint32(at+1) {
			continue
		}
		addr, bytes := encoding.LittleEndian.Uint64(table[8:]), encoding.LittleEndian.Uint64(table[16:])
		return uintptr(addr), bytes == uint64(size) && addr != 0
	}
	return 0, false
}

// mapped maps a section of a file; nil if that is not possible.
func mapped(f *os.File, s *elf.Section) (data []byte, unmap func()) {
	if s == nil || s.Size == 0 || s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 {
		return nil, func() {}
	}
	skip := s.Offset % uint64(os.Getpagesize())
	m, err := unix.Mmap(int(f.Fd()), int64(s.Offset-skip), int(skip+s.Size), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, func() {}
	}
	return m[skip:], func() { _ = unix.Munmap(m) }
}
