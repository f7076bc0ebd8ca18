package process

import (
	"debug/elf"
	"encoding/binary"
	"errors"
)

// Entries of the auxiliary vector (getauxval(3)).
const (
	atPHDR  = 3
	atPHEnt = 4
	atPHNum = 5
)

// auxValue looks an entry up in /proc/PID/auxv.
func auxValue(auxv []byte, key uint64) (uint64, bool) {
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == key {
			return binary.LittleEndian.Uint64(auxv[8:]), true
		}
	}
	return 0, false
}

// program is an executable in memory: its program headers, and how far it was moved
// from where its file says.
type program struct {
	headers []elf.Prog64
	bias    uint64
}

// maxHeaders bounds what is read of a damaged vector; linkers write about ten.
const maxHeaders = 256

const headerSize = 56 // Elf64_Phdr

var errNoHeaders = errors.New("the program headers are not where the auxiliary vector says")

// readProgram reads the headers of the program that was executed.
func readProgram(read memoryReader, auxv []byte) (program, error) {
	var p program
	at, ok1 := auxValue(auxv, atPHDR)
	n, ok2 := auxValue(auxv, atPHNum)
	size, ok3 := auxValue(auxv, atPHEnt)
	if !ok1 || !ok2 || !ok3 || at == 0 || n == 0 || n > maxHeaders || size != headerSize {
		return p, errNoHeaders
	}
	b := make([]byte, n*headerSize)
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
	// Programs without PT_PHDR are not position-independent, or have their headers
	// right behind the ELF header.
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
func readDynamic(read memoryReader, addr uint64, f func(tag elf.DynTag, value uint64) bool) error {
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
