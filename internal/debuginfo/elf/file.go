// Package elf reads this machine's ELF files through a read-only memory map: segments,
// sections (decompressed on demand), symbols, build-id, and the links to
// separate debug files. It knows nothing of DWARF.
//
// Import rule: elf imports openfile and arch only.
package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// File is one open ELF file. Its slices stay valid until Close.
type File struct {
	Path    string
	BuildID string // hexadecimal, "" when there is none
	PIE     bool   // ET_DYN: a position-independent executable or a library
	// Writers identifies the users that may have written the file: it is equal for files that the same users
	// may write.
	Writers string
	stat    unix.Stat_t // owner and permissions; zero if it was not opened by a path

	data     []byte
	mapped   bool
	elf      *stdelf.File
	segments []Segment
	sections map[string]*stdelf.Section

	mu     sync.Mutex
	unpack map[string]*unpacked
	// unpacked is the size of what was decompressed, bytes.
	unpacked uint64
	counted  bool           // among all, see reserveOfAll
	ahead    sync.WaitGroup // decompression running in the background
	symOnce  sync.Once
	syms     symtab
	asked    int // of CodeSymbols

	relocOnce sync.Once
	words     []word // see relocated
	wordsErr  error

	slotOnce sync.Once
	slots    map[uint64]uint64 // see Slot
}

type unpacked struct {
	once sync.Once
	data []byte
	err  error
}

// Segment is one PT_LOAD program header.
type Segment struct {
	Offset, Vaddr    uint64
	Filesz, Memsz    uint64
	Read, Write, Exe bool
}

// FormatError says why a file is not one that can be read here.
type FormatError struct{ Path, Reason string }

func (e *FormatError) Error() string { return e.Path + ": " + e.Reason }

// Open maps the file at path. A file that is not 64-bit little-endian x86-64
// ELF gives a *FormatError.
func Open(path string) (*File, error) {
	h, err := openfile.Regular(path)
	if errors.Is(err, openfile.ErrNotRegular) {
		return nil, &FormatError{path, "not a regular file"}
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s to read its symbols: %w", path, errors.Unwrap(err))
	}
	defer h.Close()
	st, err := h.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the size of %s: %w", path, err)
	}
	if st.Size() == 0 {
		return nil, &FormatError{path, "the file is empty, not an ELF file"}
	}
	data, mapped, err := contents(h, int(st.Size()))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	f, err := newMapped(path, data)
	if err != nil {
		if mapped {
			_ = unix.Munmap(data)
		}
		return nil, err
	}
	f.mapped = mapped
	f.Writers = writers(st)
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		f.stat = unix.Stat_t{Mode: sys.Mode, Uid: sys.Uid}
	}
	f.count(true)
	return f, nil
}

// OpenNamed opens a file that by names: its debug file, a part of its debug information.
// If another user may have written by, jalon's own rights must not reach further than that
// user's: the file must be that user's too, or one that all may read.
func OpenNamed(by *File, path string) (*File, error) {
	f, err := Open(path)
	if err == nil && !by.mayName(f) {
		f.Close()
		return nil, &FormatError{path, fmt.Sprintf("user %d's file %s names it, but not every user may read it", by.stat.Uid, by.Path)}
	}
	return f, err
}

// mayName reports whether a file may lead jalon to another one. Without root's rights jalon
// reads what its user may read.
func (f *File) mayName(g *File) bool {
	own := f.stat.Uid == 0 && f.stat.Mode&unix.S_IWOTH == 0
	return os.Geteuid() != 0 || own || g.stat.Mode&unix.S_IROTH != 0 || g.stat.Uid == f.stat.Uid && g.stat.Uid != 0
}

func writers(st os.FileInfo) string {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || sys.Mode&unix.S_IWOTH != 0 {
		return "all"
	}
	if sys.Mode&unix.S_IWGRP != 0 {
		return fmt.Sprintf("user %d, group %d", sys.Uid, sys.Gid)
	}
	return fmt.Sprintf("user %d", sys.Uid)
}

// newMapped is New of a mapped file, which may be truncated at any moment.
func newMapped(path string, data []byte) (f *File, err error) {
	defer guard(path, &err)()
	return New(path, data)
}

// contents maps a file, or reads it where the file system does not map. Shared: into a
// private mapping the kernel would put the breakpoints that other tracers have in the
// file for all processes (uprobes), and they would be taken for the file's bytes.
func contents(h *os.File, size int) (data []byte, mapped bool, err error) {
	if data, err = unix.Mmap(int(h.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED); err == nil {
		return data, true, nil
	}
	data = make([]byte, size)
	_, err = io.ReadFull(h, data)
	return data, false, err
}

// New reads an ELF image from memory; path is used in messages only.
func New(path string, data []byte) (*File, error) {
	if err := checkHeader(path, data); err != nil {
		return nil, err
	}
	e, err := stdelf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, &FormatError{path, "damaged ELF file: " + err.Error()}
	}
	f := &File{
		Path: path, data: data, elf: e, PIE: e.Type == stdelf.ET_DYN,
		sections: map[string]*stdelf.Section{}, unpack: map[string]*unpacked{},
	}
	for _, s := range e.Sections {
		if _, dup := f.sections[s.Name]; !dup {
			f.sections[s.Name] = s
		}
	}
	for _, p := range e.Progs {
		if p.Type == stdelf.PT_LOAD {
			f.segments = append(f.segments, Segment{
				p.Off, p.Vaddr, p.Filesz, p.Memsz,
				p.Flags&stdelf.PF_R != 0, p.Flags&stdelf.PF_W != 0, p.Flags&stdelf.PF_X != 0,
			})
		}
	}
	sort.SliceStable(f.segments, func(i, j int) bool { return f.segments[i].Vaddr < f.segments[j].Vaddr })
	f.BuildID = hex.EncodeToString(f.note("GNU", 3))
	return f, nil
}

func checkHeader(path string, d []byte) error {
	switch {
	case len(d) < 20 || string(d[:4]) != stdelf.ELFMAG:
		return &FormatError{path, "not an ELF file"}
	case d[stdelf.EI_CLASS] == byte(stdelf.ELFCLASS32):
		return &FormatError{path, "a 32-bit ELF file; only 64-bit " + host.Processor.Title + " programs can be traced"}
	case d[stdelf.EI_CLASS] != byte(stdelf.ELFCLASS64):
		return &FormatError{path, fmt.Sprintf("damaged ELF file: class %d", d[stdelf.EI_CLASS])}
	case d[stdelf.EI_DATA] != byte(stdelf.ELFDATA2LSB):
		return &FormatError{path, "a big-endian ELF file; only " + host.Processor.Title + " programs can be traced"}
	}
	if m := stdelf.Machine(uint16(d[18]) | uint16(d[19])<<8); m != stdelf.Machine(host.Processor.Machine) {
		return &FormatError{path, fmt.Sprintf("wrong architecture %v; only %s programs can be traced", m, host.Processor.Title)}
	}
	return nil
}

// Close unmaps the file. Slices obtained from it must not be used afterwards.
func (f *File) Close() error {
	f.ahead.Wait()
	f.count(false)
	if !f.mapped {
		return nil
	}
	f.mapped = false
	return unix.Munmap(f.data)
}

// Release lets the kernel drop the pages read so far. They are read from the file again when needed.
func (f *File) Release() {
	if f.mapped {
		_ = unix.Madvise(f.data, unix.MADV_DONTNEED) // advice: it only costs memory when refused
	}
}

// Data is the whole file image.
func (f *File) Data() []byte { return f.data }

// Entry is the address at which the file's execution begins; 0 for most libraries.
func (f *File) Entry() uint64 { return f.elf.Entry }

// Segments returns the loadable segments by ascending address.
func (f *File) Segments() []Segment { return f.segments }

// TLS is a file's thread-local segment (PT_TLS).
type TLS struct{ Vaddr, Memsz, Align uint64 }

// Offset is the distance of the segment's block from the thread pointer where the file is
// the program. Above the thread pointer (variant I) the block begins at the first address
// behind the header that is aligned as the segment is.
func (t TLS) Offset(p *arch.Processor) int64 {
	if !p.TLSAbove {
		return -int64(t.Below())
	}
	mask := max(t.Align, 1) - 1
	return int64(p.TLSHeader + (t.Vaddr-p.TLSHeader)&mask)
}

// Below is how far below the thread pointer the segment's block begins where the file is
// the program (Drepper, ELF Handling For Thread-Local Storage, variant II): its size, and
// what makes it aligned as the segment is.
func (t TLS) Below() uint64 {
	mask := max(t.Align, 1) - 1
	return t.Memsz + (-t.Vaddr-t.Memsz)&mask
}

// TLS returns the thread-local segment.
func (f *File) TLS() (t TLS, ok bool) {
	for _, p := range f.elf.Progs {
		if p.Type == stdelf.PT_TLS {
			return TLS{p.Vaddr, p.Memsz, p.Align}, true
		}
	}
	return TLS{}, false
}

// Interp is the program interpreter, "" for static files and most libraries.
func (f *File) Interp() string {
	for _, p := range f.elf.Progs {
		if p.Type == stdelf.PT_INTERP {
			return cstring(slice(f.data, p.Off, p.Filesz))
		}
	}
	return ""
}

// EhFrameHdr is the vaddr and content of the PT_GNU_EH_FRAME segment.
func (f *File) EhFrameHdr() (vaddr uint64, data []byte) {
	for _, p := range f.elf.Progs {
		if p.Type == stdelf.PT_GNU_EH_FRAME {
			return p.Vaddr, slice(f.data, p.Off, p.Filesz)
		}
	}
	return 0, nil
}

// ReadVaddr returns up to n bytes of the file at vaddr: as many as are in the
// same segment. nil when no segment's file part holds vaddr.
func (f *File) ReadVaddr(vaddr uint64, n int) []byte {
	for _, s := range f.segments {
		if vaddr >= s.Vaddr && vaddr-s.Vaddr < s.Filesz && n > 0 {
			off := vaddr - s.Vaddr
			return slice(f.data, s.Offset+off, min(uint64(n), s.Filesz-off))
		}
	}
	return nil
}

// IsCode reports whether vaddr is in executable content: in an executable section if the file has section
// headers, otherwise in an executable segment.
func (f *File) IsCode(vaddr uint64) bool {
	found := false
	for _, s := range f.elf.Sections {
		if s.Flags&stdelf.SHF_EXECINSTR == 0 || s.Flags&stdelf.SHF_ALLOC == 0 {
			continue
		}
		found = true
		if vaddr >= s.Addr && vaddr-s.Addr < s.Size {
			return true
		}
	}
	if found {
		return false
	}
	for _, s := range f.segments {
		if s.Exe && vaddr >= s.Vaddr && vaddr-s.Vaddr < s.Filesz {
			return true
		}
	}
	return false
}

func slice(d []byte, off, n uint64) []byte {
	if off > uint64(len(d)) {
		return nil
	}
	return d[off : off+min(n, uint64(len(d))-off)]
}

func cstring(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
