package inproc

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// module is one ELF file mapped into the process. Its debug information is
// opened when a place asks for it.
type module struct {
	path        string // as the process sees it
	file        string // how jalon opens it; "": it cannot be opened any more
	pid         int
	exe         bool
	running     bool              // threads have run code of the module and were interrupted in it
	maps        []process.Mapping // its mappings
	dw          *dwarf.Module
	bias        uint64
	text        *patch.Text // made when needed, see textOf
	textErr     error
	copies      []copies // of code; see copied
	copiesKnown bool
	stack       func() (*patch.GoStack, error) // made when needed, see gostack.go
	err         error                          // why it could not be opened
	tried       bool
}

// mapped identifies the file of a mapping. The path alone does not: after an upgrade
// a process may run the old file while the path leads to the new one.
type mapped struct {
	path, dev string
	inode     uint64
}

func mappedFile(m *process.Mapping) mapped { return mapped{m.Path, m.Dev, m.Inode} }

// modules lists the ELF files of a process by the order of their addresses, the
// executable first.
func modules(pid int, maps []process.Mapping) []*module {
	exe := executable(pid)
	byFile := map[mapped]*module{}
	var list []*module
	for i, m := range maps {
		if m.Path == "" || m.Path[0] != '/' || strings.HasPrefix(m.Path, "/memfd:") || strings.HasPrefix(m.Path, "/dev/") {
			continue
		}
		mod := byFile[mappedFile(&maps[i])]
		if mod == nil {
			mod = &module{path: m.Path, pid: pid, exe: exe(&maps[i]), file: openable(pid, &maps[i], exe(&maps[i]))}
			byFile[mappedFile(&maps[i])] = mod
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
	if m.file == "" {
		m.err = fmt.Errorf("%s was deleted or replaced while process %d runs it, and its old content cannot be read: that takes CAP_CHECKPOINT_RESTORE (run jalon as root)", m.path, m.pid)
		return m.err
	}
	dw, err := dwarf.Open(m.file, opt)
	if err != nil {
		m.err = fmt.Errorf("%s: %w", m.path, err)
		return m.err
	}
	if bias, ok := loadBias(dw.Segments(), m.maps); ok {
		m.dw, m.bias = dw, bias
		return nil
	}
	dw.Close()
	m.err = fmt.Errorf("%s: none of its code segments is where the process has it mapped (was the file replaced?)", m.path)
	return m.err
}

// loadBias is the bias that most mappings of a file agree with, those of code first: a
// program may have the file mapped elsewhere too, to read it, or pages of it may be kept
// elsewhere (cover.go).
func loadBias(segments []elf.Segment, maps []process.Mapping) (bias uint64, ok bool) {
	votes := map[uint64]int{}
	for i := range maps {
		x := &maps[i]
		for _, seg := range segments {
			const page = pageSize - 1
			if x.Offset < seg.Offset&^page || x.Offset >= seg.Offset+seg.Filesz {
				continue
			}
			b := x.Start - (seg.Vaddr - seg.Offset + x.Offset)
			votes[b] += 2
			if seg.Exe && x.Prot&unix.PROT_EXEC != 0 {
				votes[b]++
			}
			if votes[b] > votes[bias] || !ok {
				bias, ok = b, true
			}
		}
	}
	return bias, ok
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

// imports reports whether the file takes a function of that name from a library.
func (m *module) imports(name string) bool {
	f, err := openfile.OpenELF(m.file)
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
