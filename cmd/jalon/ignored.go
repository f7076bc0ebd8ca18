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
// nothing is copied: the tables have 2 MB. They are searched from the end, where the linker puts variables, behind all functions.
func variable(f *os.File, file *elf.File, name string, size uintptr) (uintptr, bool) {
	text, unmap := mapped(f, file.Section(".strtab"))
	defer unmap()
	at := lastIndex(text, []byte("\x00"+name+"\x00"))
	if at < 0 {
		return 0, false
	}
	table, unmap := mapped(f, file.Section(".symtab"))
	defer unmap()
	for end := len(table); end >= elf.Sym64Size; end -= elf.Sym64Size {
		s := table[end-elf.Sym64Size : end]
		if encoding.LittleEndian.Uint32(s) != uint32(at+1) {
			continue
		}
		addr, bytes := encoding.LittleEndian.Uint64(s[8:]), encoding.LittleEndian.Uint64(s[16:])
		return uintptr(addr), bytes == uint64(size) && addr != 0
	}
	return 0, false
}

// lastIndex returns where the part is in the last block of the text that has it. It is many times as fast as bytes.LastIndex, which
// has no instructions for several bytes at once.
func lastIndex(text, part []byte) int {
	const block = 64 << 10
	for end := len(text); end > 0; end -= block {
		begin := max(0, end-block)
		if at := bytes.Index(text[begin:min(len(text), end+len(part)-1)], part); at >= 0 {
			return begin + at
		}
	}
	return -1
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
