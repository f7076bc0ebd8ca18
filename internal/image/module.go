package image

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// Module is one ELF file in an address space. It is opened when it is first needed.
type Module struct {
	Path string // as the process sees it
	Exe  bool   // it is the program
	Maps []procdir.Mapping

	start  uint64 // of its load: identifies it among those of the file
	image  *Image
	id     string // what identifies its content, see Saved; "": it is not known
	file   string // how jalon opens it, see File
	found  bool   // file was looked for
	proven bool   // file leads to the mapped file
	tried  bool
	err    error // why it could not be opened
	info   *dwarf.Module
	bias   uint64
}

// mapped identifies the file of a mapping. The path is not sufficient: after an upgrade a process may run
// the old file while the path leads to the new one.
type mapped struct {
	path, dev string
	inode     uint64
}

func mappedFile(m *procdir.Mapping) mapped { return mapped{m.Path, m.Dev, m.Inode} }

// OfFile is the image of a file that no process has: it lies at bias.
func OfFile(path string, bias func(*dwarf.Module) uint64, files *Files) (*Module, error) {
	info, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	im := New(0, files)
	m := &Module{
		Path: path, Exe: true, image: im, file: path, found: true, proven: true,
		tried: true, info: info, bias: bias(info),
	}
	im.mods = []*Module{m}
	return m, nil
}

// Pid is the process that has the module; 0: it is that of no process.
func (m *Module) Pid() int { return m.image.pid }

// Open reads the file's headers and finds the load bias; debug information is read on
// demand. The error is the same each time.
func (m *Module) Open() error {
	if !m.tried {
		m.tried = true
		m.err = m.open()
	}
	return m.err
}

func (m *Module) open() error {
	file := m.File()
	if file == "" {
		return fmt.Errorf("%s was deleted or replaced while process %d runs it, and its old content cannot be read: that takes CAP_CHECKPOINT_RESTORE (run jalon as root)", m.Path, m.Pid())
	}
	info, err := m.image.files.openIn(file, m.image.rootDir())
	if err != nil {
		err = fmt.Errorf("%s: %w", m.Path, err)
	} else {
		err = m.identical(info)
	}
	if err != nil && m.id != "" { // of a list: the file may be elsewhere now
		if info = m.image.files.byBuildID(m.id, m.Path); info != nil {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	bias, ok := loadBias(info.Segments(), m.Maps)
	if !ok {
		return fmt.Errorf("%s: none of its code segments is where the process has it mapped (was the file replaced?)", m.Path)
	}
	m.info, m.bias = info, bias
	return nil
}

// Info is the debug information, nil unless the module is open.
func (m *Module) Info() *dwarf.Module { return m.info }

// Bias is how far the module lies from the addresses of its file. It must be open.
func (m *Module) Bias() uint64 { return m.bias }

var pageMask = uint64(os.Getpagesize() - 1)

// loadBias is the bias that most mappings of a file agree with, those of code first: a
// program may have the file mapped elsewhere too, to read it, or pages of it may be kept
// elsewhere.
func loadBias(segments []elf.Segment, maps []procdir.Mapping) (bias uint64, ok bool) {
	votes := map[uint64]int{}
	for i := range maps {
		x := &maps[i]
		for _, seg := range segments {
			if x.Offset < seg.Offset&^pageMask || x.Offset >= seg.Offset+seg.Filesz {
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

// Vaddr is an address of the process in the terms of the file; ok is false where the
// file has nothing there. Programs may map code of the file again elsewhere (V8 does):
// the address there is that of the same code.
func (m *Module) Vaddr(addr uint64) (vaddr uint64, ok bool) {
	vaddr = addr - m.bias
	x := m.mapping(addr)
	if x == nil {
		return vaddr, m.Readable(vaddr, 1)
	}
	off := x.Offset + (addr - x.Start)
	for _, seg := range m.info.Segments() {
		if vaddr >= seg.Vaddr && vaddr-seg.Vaddr < seg.Memsz && vaddr-seg.Vaddr+seg.Offset == off {
			return vaddr, true
		}
	}
	if x.Prot&unix.PROT_EXEC == 0 {
		return 0, false // a view of the file, not its data
	}
	return m.OffsetVaddr(off)
}

// MapsCode reports whether a mapping has code of the module at the module's bias, so that it is not a second mapping of the
// code elsewhere. A segment may begin behind the start of its first page: lld does not align segments in the file.
func (m *Module) MapsCode(x *procdir.Mapping) bool {
	for _, seg := range m.info.Segments() {
		if seg.Exe && x.Offset < seg.Offset+seg.Filesz && seg.Offset < x.Offset+(x.End-x.Start) &&
			x.Start == m.bias+seg.Vaddr-seg.Offset+x.Offset {
			return x.Prot&unix.PROT_EXEC != 0
		}
	}
	return false
}

// OffsetVaddr is the address, in the terms of the file, of code at an offset in it.
func (m *Module) OffsetVaddr(off uint64) (vaddr uint64, ok bool) { return offsetVaddr(m.info, off) }

func offsetVaddr(info *dwarf.Module, off uint64) (vaddr uint64, ok bool) {
	for _, seg := range info.Segments() {
		if seg.Exe && off >= seg.Offset && off-seg.Offset < seg.Filesz {
			return off - seg.Offset + seg.Vaddr, true
		}
	}
	return 0, false
}

// Readable reports whether the file's loaded segments hold these addresses of the file:
// static data there is read without a guard.
func (m *Module) Readable(vaddr, size uint64) bool {
	for _, seg := range m.info.Segments() {
		if seg.Read && vaddr >= seg.Vaddr && size <= seg.Memsz && vaddr-seg.Vaddr <= seg.Memsz-size {
			return true
		}
	}
	return false
}

// Contains reports whether a run-time address lies in a mapping of the module.
func (m *Module) Contains(addr uint64) bool { return m.mapping(addr) != nil }

func (m *Module) mapping(addr uint64) *procdir.Mapping {
	for i := range m.Maps {
		if m.Maps[i].Contains(addr) {
			return &m.Maps[i]
		}
	}
	return nil
}

func (m *Module) hasCode() bool {
	for i := range m.Maps {
		if m.Maps[i].Prot&unix.PROT_EXEC != 0 {
			return true
		}
	}
	return false
}
