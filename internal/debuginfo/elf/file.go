// Package elf reads this machine's ELF files through a read-only memory map: segments, sections
// (decompressed on demand), symbols, build-id, and the links to separate debug files. It does not depend on
// DWARF.
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
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// File is one open ELF file. Its slices stay valid until Close.
type File struct {
	*image
	*unpacker
	*symbolTable
	*binding
	*goTables
	// Writers identifies the users that may have written the file: it is equal for files that the same users
	// may write.
	Writers string
	stat    unix.Stat_t // owner and permissions; zero if it was not opened by a path
	mapped  bool
}

// FormatError is the reason why a file cannot be read.
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
	im := &image{Path: path, data: data, elf: e, PIE: e.Type == stdelf.ET_DYN, sections: map[string]*stdelf.Section{}}
	up := &unpacker{image: im, unpack: map[string]*unpacked{}}
	words, golang := &pointers{image: im, unpacker: up}, &goTables{image: im}
	f := &File{
		image: im, unpacker: up,
		symbolTable: &symbolTable{image: im, unpacker: up, golang: golang}, binding: &binding{pointers: words}, goTables: golang,
	}
	golang.words, golang.listed = words, f.symbolTable
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
