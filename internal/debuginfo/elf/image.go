package elf

import (
	stdelf "debug/elf"

	"github.com/jalon-trace/jalon/internal/arch"
)

// image is a file's bytes, with its headers.
type image struct {
	Path    string
	BuildID string // hexadecimal, "" when there is none
	PIE     bool   // ET_DYN: a position-independent executable or a library

	data     []byte
	elf      *stdelf.File
	segments []Segment
	sections map[string]*stdelf.Section
}

// Segment is one PT_LOAD program header.
type Segment struct {
	Offset, Vaddr    uint64
	Filesz, Memsz    uint64
	Read, Write, Exe bool
}

// TLS is a file's thread-local segment (PT_TLS).
type TLS struct{ Vaddr, Memsz, Align uint64 }

// Offset returns the distance of the segment's block from the thread pointer if the file is the program.
// Above the thread pointer (variant I) the block begins at the first address after the header that has the
// segment's alignment.
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

// Data is the whole file image.
func (im *image) Data() []byte { return im.data }

// Entry is the address at which the file's execution begins; 0 for most libraries.
func (im *image) Entry() uint64 { return im.elf.Entry }

// Segments returns the loadable segments by ascending address.
func (im *image) Segments() []Segment { return im.segments }

// TLS returns the thread-local segment.
func (im *image) TLS() (t TLS, ok bool) {
	for _, p := range im.elf.Progs {
		if p.Type == stdelf.PT_TLS {
			return TLS{p.Vaddr, p.Memsz, p.Align}, true
		}
	}
	return TLS{}, false
}

// Interp is the program interpreter, "" for static files and most libraries.
func (im *image) Interp() string {
	for _, p := range im.elf.Progs {
		if p.Type == stdelf.PT_INTERP {
			return cstring(slice(im.data, p.Off, p.Filesz))
		}
	}
	return ""
}

// EhFrameHdr is the vaddr and content of the PT_GNU_EH_FRAME segment.
func (im *image) EhFrameHdr() (vaddr uint64, data []byte) {
	for _, p := range im.elf.Progs {
		if p.Type == stdelf.PT_GNU_EH_FRAME {
			return p.Vaddr, slice(im.data, p.Off, p.Filesz)
		}
	}
	return 0, nil
}

// ReadVaddr returns up to n bytes of the file at vaddr: as many as are in the
// same segment. nil when no segment's file part holds vaddr.
func (im *image) ReadVaddr(vaddr uint64, n int) []byte {
	for _, s := range im.segments {
		if vaddr >= s.Vaddr && vaddr-s.Vaddr < s.Filesz && n > 0 {
			off := vaddr - s.Vaddr
			return slice(im.data, s.Offset+off, min(uint64(n), s.Filesz-off))
		}
	}
	return nil
}

// IsCode reports whether vaddr is in executable content: in an executable section if the file has section
// headers, otherwise in an executable segment.
func (im *image) IsCode(vaddr uint64) bool {
	found := false
	for _, s := range im.elf.Sections {
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
	for _, s := range im.segments {
		if s.Exe && vaddr >= s.Vaddr && vaddr-s.Vaddr < s.Filesz {
			return true
		}
	}
	return false
}

// Sections returns the section headers in file order.
func (im *image) Sections() []Section {
	out := make([]Section, 0, len(im.elf.Sections))
	for _, s := range im.elf.Sections {
		out = append(out, describe(s))
	}
	return out
}

// Section returns the named section's header.
func (im *image) Section(name string) (Section, bool) {
	s, ok := im.sections[name]
	if !ok {
		return Section{}, false
	}
	return describe(s), true
}

// SectionAt names the allocated section that holds vaddr, "" for none.
func (im *image) SectionAt(vaddr uint64) string {
	for _, s := range im.elf.Sections {
		if s.Flags&stdelf.SHF_ALLOC != 0 && s.Flags&stdelf.SHF_TLS == 0 && vaddr >= s.Addr && vaddr-s.Addr < s.Size {
			return s.Name
		}
	}
	return ""
}

// note returns the descriptor of the first note with that owner and type.
func (im *image) note(owner string, typ uint32) []byte {
	for _, p := range im.elf.Progs {
		if p.Type == stdelf.PT_NOTE {
			if d := FindNote(slice(im.data, p.Off, p.Filesz), p.Align, owner, typ); d != nil {
				return d
			}
		}
	}
	for _, s := range im.elf.Sections {
		if s.Type == stdelf.SHT_NOTE {
			if d := FindNote(slice(im.data, s.Offset, s.FileSize), s.Addralign, owner, typ); d != nil {
				return d
			}
		}
	}
	return nil
}

func (im *image) inCode(v uint64) bool {
	for _, s := range im.segments {
		if s.Exe && v >= s.Vaddr && v-s.Vaddr < s.Memsz {
			return true
		}
	}
	return false
}

func (im *image) sectionEnd(vaddr uint64) uint64 {
	for _, s := range im.elf.Sections {
		if s.Flags&stdelf.SHF_ALLOC != 0 && vaddr >= s.Addr && vaddr-s.Addr < s.Size {
			return s.Addr + s.Size
		}
	}
	for _, s := range im.segments {
		if vaddr >= s.Vaddr && vaddr-s.Vaddr < s.Memsz {
			return s.Vaddr + s.Memsz
		}
	}
	return vaddr
}

// HasDWARF reports whether the file itself has .debug_info.
func (im *image) HasDWARF() bool {
	for _, n := range []string{".debug_info", ".zdebug_info"} {
		if s := im.sections[n]; s != nil && s.Size > 0 && !describe(s).NoBits {
			return true
		}
	}
	return false
}

// Section describes where a section is in memory.
type Section struct {
	Name         string
	Vaddr, Size  uint64
	Alloc, Exec  bool
	NoBits       bool
	Offset, Type uint64
}
