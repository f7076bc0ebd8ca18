package image

import (
	"debug/elf"
	"encoding/binary"
	"errors"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// program is an executable in memory: its program headers and its load bias.
type program struct {
	headers []elf.Prog64
	bias    uint64
}

// maxHeaders bounds the number of headers from a damaged vector; linkers write about ten.
const maxHeaders = 256

const programHeader = 56 // Elf64_Phdr

// ErrNoHeaders is returned where a program cannot be looked at in memory.
var ErrNoHeaders = errors.New("the program headers are not where the auxiliary vector says")

// readProgram reads the headers of the program that was executed.
func readProgram(read Memory, auxv []byte) (program, error) {
	var p program
	at, ok1 := procdir.AuxValue(auxv, procdir.AuxPhdr)
	n, ok2 := procdir.AuxValue(auxv, procdir.AuxPhnum)
	size, ok3 := procdir.AuxValue(auxv, procdir.AuxPhent)
	if !ok1 || !ok2 || !ok3 || at == 0 || n == 0 || n > maxHeaders || size != programHeader {
		return p, ErrNoHeaders
	}
	b := make([]byte, n*programHeader)
	if err := read(at, b); err != nil {
		return p, err
	}
	p.headers = make([]elf.Prog64, n)
	if _, err := binary.Decode(b, binary.LittleEndian, p.headers); err != nil {
		panic("BUG: program headers of no fixed size: " + err.Error())
	}
	if h := p.header(elf.PT_PHDR); h != nil {
		p.bias = at - h.Vaddr
		return p, nil
	}
	// Programs without PT_PHDR are not position-independent, or have their headers directly after the ELF
	// header.
	const elfHeader = 64
	var magic [4]byte
	if read(at-elfHeader, magic[:]) == nil && string(magic[:]) == elf.ELFMAG {
		for _, h := range p.headers {
			if elf.ProgType(h.Type) == elf.PT_LOAD && h.Off == 0 {
				p.bias = at - elfHeader - h.Vaddr
			}
		}
	}
	return p, nil
}

// header is the first of a type, or nil.
func (p *program) header(typ elf.ProgType) *elf.Prog64 {
	for i := range p.headers {
		if elf.ProgType(p.headers[i].Type) == typ {
			return &p.headers[i]
		}
	}
	return nil
}

// maxDynamic bounds the entries of a dynamic section; they are about thirty.
const maxDynamic = 4096

// readDynamic calls f for the entries of a dynamic section until f returns false.
func readDynamic(read Memory, addr uint64, f func(tag elf.DynTag, value uint64) bool) error {
	for range maxDynamic {
		w, err := read.words(addr, 2)
		if err != nil {
			return err
		}
		if tag := elf.DynTag(w[0]); tag == elf.DT_NULL || !f(tag, w[1]) {
			return nil
		}
		addr += 16
	}
	return nil
}
