// Package usdt reads the statically defined probes (USDT, SystemTap's <sys/sdt.h>) of an ELF file from its
// .note.stapsdt section: their addresses, the counters that enable them, and the locations of their arguments.
//
// A probe is a nop in the code and a note: three addresses (the nop, the link
// address of section .stapsdt.base, a 16-bit counter called semaphore or 0) and
// three strings (provider, name, arguments). The arguments are assembler
// operands, each with a size: "-4@%edi 8@-80(%rbx) 4@$5".
//
// Files: note: the section. operand, number, regs: the grammar of arguments; att and a64:
// what x86-64 and arm64 have of their own.
// place: operands as locations. scope: names at a probe.
//
// Import rule: usdt imports arch and its processors, ctype, debuginfo and debuginfo/elf only.
package usdt

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"sort"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// Probe is one place in the code with a compiled probe. Several may have the same provider and name.
type Probe struct {
	Provider, Name string
	// PC is the vaddr of the probe's nop, and Offset its offset in the file.
	PC, Offset uint64
	// Semaphore is the vaddr of the 16-bit counter that the program tests before it prepares the probe's
	// arguments. It must be raised while the probe is in use. SemOffset is its offset in the file
	// (ref_ctr_offset of a uprobe). Both are 0 if the probe has none.
	Semaphore, SemOffset uint64
	// ArgText is the note's third string; Args are the operands in it.
	ArgText string
	Args    []Arg
}

const (
	noteSection = ".note.stapsdt"
	baseSection = ".stapsdt.base"
	noteOwner   = "stapsdt"
	noteType    = 3
	// maxArgText bounds the text of one probe's arguments: twelve arguments with
	// long C++ symbols are far below it.
	maxArgText = 1 << 16
)

// Read lists the probes of a file by ascending PC. For a file without probes it returns an empty list and no
// error. Damaged notes are skipped; the error gives their number, and the other probes are still returned.
func Read(f *elf.File) (probes []Probe, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if fault, ok := r.(runtime.Error); ok { // the mapped file was truncated
			err = fmt.Errorf("reading the static probes of %s: %w", f.Path, fault)
		} else if r != nil {
			panic(r)
		}
	}()
	b, err := f.Bytes(noteSection)
	if err != nil {
		return nil, fmt.Errorf("reading the static probes of %s: %w", f.Path, err)
	}
	r := reader{f: f}
	if s, ok := f.Section(baseSection); ok {
		r.base = s.Vaddr
	}
	r.section(b)
	sort.SliceStable(r.out, func(i, j int) bool { return r.out[i].PC < r.out[j].PC })
	if r.bad > 0 {
		return r.out, fmt.Errorf("%s: %d of the notes in section %s are damaged (the first: %s)", f.Path, r.bad, noteSection, r.why)
	}
	return r.out, nil
}

// Match returns the probes whose provider and name match the globs (* any text,
// ? one character, [a-z] a class); "" matches all.
func Match(probes []Probe, provider, name string) []Probe {
	var out []Probe
	for _, p := range probes {
		if globMatch(provider, p.Provider) && globMatch(name, p.Name) {
			out = append(out, p)
		}
	}
	return out
}

// globMatch is path.Match. Its * does not match a slash, but names of probes contain none.
func globMatch(pattern, s string) bool {
	if pattern == "" {
		return true
	}
	ok, err := path.Match(pattern, s)
	return ok && err == nil || pattern == s
}

type reader struct {
	f    *elf.File
	base uint64 // of .stapsdt.base, or 0
	out  []Probe
	bad  int
	why  string
}

func (r *reader) damaged(format string, args ...any) {
	if r.bad == 0 {
		r.why = fmt.Sprintf(format, args...)
	}
	r.bad++
}

// section walks the notes: three words (lengths of owner and descriptor, type),
// then both, each padded to four bytes.
func (r *reader) section(b []byte) {
	up := func(n uint64) uint64 { return (n + 3) &^ 3 }
	for off := uint64(0); uint64(len(b))-off >= 12; {
		n := b[off:]
		ns, ds := uint64(binary.LittleEndian.Uint32(n)), uint64(binary.LittleEndian.Uint32(n[4:]))
		typ := binary.LittleEndian.Uint32(n[8:])
		at := 12 + up(ns)
		if at+ds > uint64(len(n)) {
			r.damaged("the note at offset %d is longer than the section", off)
			return
		}
		if typ == noteType && string(bytes.TrimRight(n[12:12+ns], "\x00")) == noteOwner {
			r.note(off, n[at:at+ds])
		}
		off += min(at+up(ds), uint64(len(n)))
	}
}

// note reads one descriptor.
func (r *reader) note(off uint64, d []byte) {
	if len(d) < 24 {
		r.damaged("the note at offset %d has %d bytes", off, len(d))
		return
	}
	p := Probe{PC: binary.LittleEndian.Uint64(d), Semaphore: binary.LittleEndian.Uint64(d[16:])}
	base := binary.LittleEndian.Uint64(d[8:])
	var ok [3]bool
	d = d[24:]
	p.Provider, d, ok[0] = cut(d)
	p.Name, d, ok[1] = cut(d)
	p.ArgText, _, ok[2] = cut(d)
	if !ok[0] || !ok[1] || !ok[2] || p.Provider == "" || p.Name == "" || len(p.ArgText) > maxArgText {
		r.damaged("the strings of the note at offset %d", off)
		return
	}
	// Prelink moves the code without updating the notes. The section's address shows the distance.
	if r.base != 0 && base != 0 {
		p.PC += r.base - base
		if p.Semaphore != 0 {
			p.Semaphore += r.base - base
		}
	}
	if p.Offset, ok[0] = fileOffset(r.f, p.PC); !ok[0] {
		r.damaged("probe %s:%s is at address %#x, which is not in the file", p.Provider, p.Name, p.PC)
		return
	}
	if p.Semaphore != 0 {
		if p.SemOffset, ok[0] = fileOffset(r.f, p.Semaphore); !ok[0] {
			r.damaged("the semaphore of probe %s:%s is at address %#x, which is not in the file", p.Provider, p.Name, p.Semaphore)
			return
		}
	}
	p.Args = ParseArgs(p.ArgText)
	r.out = append(r.out, p)
}

// cut removes a zero-terminated string from the front.
func cut(b []byte) (s string, rest []byte, ok bool) {
	i := bytes.IndexByte(b, 0)
	if i < 0 {
		return "", nil, false
	}
	return string(b[:i]), b[i+1:], true
}

// fileOffset returns the file offset of a vaddr.
func fileOffset(f *elf.File, vaddr uint64) (uint64, bool) {
	for _, s := range f.Segments() {
		if vaddr >= s.Vaddr && vaddr-s.Vaddr < s.Filesz {
			return vaddr - s.Vaddr + s.Offset, true
		}
	}
	return 0, false
}
