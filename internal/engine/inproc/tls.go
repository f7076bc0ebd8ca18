package inproc

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/jalon-trace/jalon/internal/openfile"
)

// libraryTLS finds the offset of a library's thread-local block from the thread
// pointer. Libraries that are there when the program starts have their block in
// the static area, at the same offset in every thread. The linker leaves the
// offset in the library's own memory: the relocation R_X86_64_TPOFF64 stores
// symbol + addend + offset there, and R_X86_64_DTPMOD64 stores the number of the
// module, whose block the thread's vector (DTV) leads to.
func (e *Engine) libraryTLS(m *module) (int64, error) {
	mem, err := openMem(e.target.p.Pid())
	if err != nil {
		return 0, err
	}
	defer mem.Close()
	word := func(addr uint64) (uint64, error) {
		var b [8]byte
		if _, err := mem.ReadAt(b[:], int64(addr)); err != nil {
			return 0, err
		}
		return binary.LittleEndian.Uint64(b[:]), nil
	}
	f, err := openfile.OpenELF(m.File())
	if err != nil {
		return 0, err
	}
	defer f.Close()
	rel, syms := tlsRelocations(f.File)
	for _, r := range rel {
		if elf.R_X86_64(r.Info&0xffffffff) != elf.R_X86_64_TPOFF64 {
			continue
		}
		value := uint64(r.Addend)
		if n := r.Info >> 32; n > 0 {
			if n > uint64(len(syms)) || syms[n-1].Section == elf.SHN_UNDEF {
				continue // another module's variable
			}
			value += syms[n-1].Value
		}
		if got, err := word(r.Off + m.bias); err == nil {
			return int64(got - value), nil
		}
	}
	return 0, fmt.Errorf("the thread-local block of %s has no offset that is the same in all threads and is told in its relocations", m.Path)
}

// tlsRelocations reads the dynamic relocations (Elf64_Rela) and symbols.
func tlsRelocations(f *elf.File) ([]elf.Rela64, []elf.Symbol) {
	syms, _ := f.DynamicSymbols() // none: relocations against sections only
	var out []elf.Rela64
	for _, sec := range f.Sections {
		if sec.Type != elf.SHT_RELA || sec.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		b, err := sec.Data()
		if err != nil {
			continue
		}
		for ; len(b) >= 24; b = b[24:] {
			out = append(out, elf.Rela64{
				Off:    binary.LittleEndian.Uint64(b),
				Info:   binary.LittleEndian.Uint64(b[8:]),
				Addend: int64(binary.LittleEndian.Uint64(b[16:])),
			})
		}
	}
	return out, syms
}
