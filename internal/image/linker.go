package image

import (
	"bytes"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// Linker is what the dynamic linker of a process has for debuggers (<link.h>).
type Linker struct {
	// Changed is the empty function that it calls before and after each change of its
	// list of modules, for debuggers to set a breakpoint there.
	Changed uint64
	debug   uint64 // struct r_debug; 0: not known
}

// FindLinker finds the dynamic linker of a process by its symbols, so it need not have
// run yet; glibc's is in static programs too, for dlopen. None is found where the file has
// no symbols, or another content than the process.
func FindLinker(pid int, read Memory) (l Linker, ok bool) {
	auxv, err := procdir.Auxv(pid)
	if err != nil {
		return l, false
	}
	if base, _ := procdir.AuxValue(auxv, procdir.AuxBase); base != 0 {
		im, err := OfProcess(pid, nil)
		if err != nil {
			return l, false
		}
		m := im.Owner(base)
		if m == nil {
			return l, false
		}
		return linkerIn(m.File(), read, func(f *elf.File) uint64 { return base - firstPage(f) })
	}
	// No interpreter: a static program, or the linker itself run as a program.
	p, err := readProgram(read, auxv)
	if err != nil {
		return l, false
	}
	return linkerIn(procdir.Link(pid, "exe"), read, func(*elf.File) uint64 { return p.bias })
}

// firstPage is the lowest address of a file.
func firstPage(f *elf.File) uint64 {
	for _, s := range f.Segments() {
		return s.Vaddr &^ pageMask
	}
	return 0
}

// maxSymbols keeps the symbols of a large static program from being read; the file of a
// linker has some thousand.
const maxSymbols = 4 << 20

// linkerIn looks for a linker's symbols in a file.
func linkerIn(path string, read Memory, bias func(*elf.File) uint64) (l Linker, ok bool) {
	f, err := elf.Open(path)
	if err != nil {
		return l, false
	}
	defer f.Close()
	if s, ok := f.Section(".symtab"); ok && s.Size > maxSymbols {
		return l, false
	}
	const state, stateMusl, debug, debugMusl = "_dl_debug_state", "dl_debug_state", "_r_debug", "_dl_debug_addr"
	list, _ := f.Defined(state, stateMusl, debug, debugMusl) // an error: the file is being changed
	for _, s := range list {
		addr := s.Value + bias(f)
		switch s.Name {
		case state, stateMusl:
			if sameCode(f, s.Value, addr, read) {
				l.Changed = addr
			}
		case debug:
			l.debug = addr
		case debugMusl: // a pointer to it
			l.debug, _ = read.word(addr) // 0: not readable
		}
	}
	return l, l.Changed != 0
}

// sameCode reports whether the process has a function of the file: a package upgrade may
// have replaced the file, another tracer the function.
func sameCode(f *elf.File, vaddr, addr uint64, read Memory) bool {
	const compared = 16
	want, err := f.Copy(vaddr, compared)
	if err != nil || len(want) == 0 || !f.IsCode(vaddr) {
		return false
	}
	got := make([]byte, len(want))
	return read(addr, got) == nil && bytes.Equal(want, got)
}

// Consistent reports whether the linker's list is complete, and not being changed. Where
// that is not known it reports true.
func (l *Linker) Consistent(read Memory) bool {
	if l.debug == 0 {
		return true
	}
	state, err := read.word32(l.debug + rState)
	return err != nil || state == 0 // RT_CONSISTENT
}
