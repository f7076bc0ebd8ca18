package session

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// module is one ELF file mapped into the process. Its debug information is
// opened when a place asks for it.
type module struct {
	path  string // as the process sees it
	file  string // how jalon opens it
	exe   bool
	maps  []process.Mapping // its mappings
	dw    *dwarf.Module
	bias  uint64
	text  *patch.Text // for the search for stray branches; made when needed
	err   error       // why it could not be opened
	tried bool
}

// modules lists the ELF files of a process by the order of their addresses, the
// executable first.
func modules(pid int, maps []process.Mapping) []*module {
	exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	byPath := map[string]*module{}
	var list []*module
	for _, m := range maps {
		if m.Path == "" || m.Path[0] != '/' || strings.HasPrefix(m.Path, "/memfd:") || strings.HasPrefix(m.Path, "/dev/") {
			continue
		}
		mod := byPath[m.Path]
		if mod == nil {
			mod = &module{path: m.Path, exe: m.Path == exe, file: openable(pid, m.Path, m.Path == exe)}
			byPath[m.Path] = mod
			list = append(list, mod)
		}
		mod.maps = append(mod.maps, m)
	}
	var out []*module
	for _, mod := range list {
		if mod.exe {
			out = append(out, mod)
		}
	}
	for _, mod := range list {
		if !mod.exe && mod.hasCode() {
			out = append(out, mod)
		}
	}
	return out
}

// openable is the path by which jalon reads a file of the process: the plain one
// where it leads to the same file (it is still there when the process is gone),
// else the process's own view of it, or the kernel's link for the executable (which
// holds even when the file was replaced).
func openable(pid int, path string, exe bool) string {
	theirs := filepath.Join(fmt.Sprintf("/proc/%d/root", pid), path)
	if exe {
		theirs = fmt.Sprintf("/proc/%d/exe", pid)
	}
	if _, err := os.Stat(theirs); err != nil || sameFile(path, theirs) {
		return path
	}
	return theirs
}

func (m *module) hasCode() bool {
	for _, x := range m.maps {
		if x.Prot&unix.PROT_EXEC != 0 {
			return true
		}
	}
	return false
}

// open reads the file's headers and finds the load bias; debug information is
// read on demand.
func (m *module) open(opt dwarf.Options) error {
	if m.tried {
		return m.err
	}
	m.tried = true
	dw, err := dwarf.Open(m.file, opt)
	if err != nil {
		m.err = fmt.Errorf("%s: %w", m.path, err)
		return m.err
	}
	for _, x := range m.maps {
		if x.Prot&unix.PROT_EXEC == 0 {
			continue
		}
		for _, seg := range dw.Segments() {
			page := uint64(4095)
			if seg.Exe && seg.Offset&^page <= x.Offset && x.Offset < seg.Offset+seg.Filesz {
				m.dw, m.bias = dw, x.Start-(seg.Vaddr-seg.Offset+x.Offset)
				return nil
			}
		}
	}
	dw.Close()
	m.err = fmt.Errorf("%s: none of its code segments is where the process has it mapped (was the file replaced?)", m.path)
	return m.err
}

// readable reports whether the file's loaded segments hold these vaddrs: static
// data there is read without a guard.
func (m *module) readable(vaddr, size uint64) bool {
	for _, seg := range m.dw.Segments() {
		if seg.Read && vaddr >= seg.Vaddr && size <= seg.Memsz && vaddr-seg.Vaddr <= seg.Memsz-size {
			return true
		}
	}
	return false
}

// contains reports whether a run-time address lies in a mapping of the module.
func (m *module) contains(addr uint64) bool {
	for _, x := range m.maps {
		if x.Start <= addr && addr < x.End {
			return true
		}
	}
	return false
}

// sameFile reports whether a path names the file that an open path leads to.
func sameFile(a, b string) bool {
	if a == "" {
		return false
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// imports reports whether the file takes a function of that name from a library.
func (m *module) imports(name string) bool {
	f, err := elf.Open(m.file)
	if err != nil {
		return false
	}
	defer f.Close()
	syms, err := f.ImportedSymbols()
	if err != nil {
		return false
	}
	for _, s := range syms {
		if s.Name == name {
			return true
		}
	}
	return false
}
