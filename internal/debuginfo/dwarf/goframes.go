package dwarf

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/pclntab"
)

// The call frame information that Go's linker writes (cmd/link/internal/ld/dwarf.go, writeframes), for stripped
// programs: what each function has taken from the stack pointer is in Go's own table.

// DWARF's call frame instructions (DWARF 4 section 7.23).
const (
	cfaAdvance   = 0x40
	cfaAdvance1  = 0x02
	cfaAdvance2  = 0x03
	cfaAdvance4  = 0x04
	cfaDefCFA    = 0x0c
	cfaDefOffset = 0x0e
	cfaOffset    = 0x80
)

// goFrames makes a .debug_frame section of a table whose first function is at start. What is on the stack
// of a function that sets the stack pointer is not in the table: it has no entry, and a stack ends there.
func goFrames(t *pclntab.Table, start uint64) []byte {
	b := frameEntry(nil, ^uint32(0), func(b []byte) []byte {
		b = append(b, 3, 0, 1, 0x7c, byte(host.Processor.PC)) // version, no augmentation, factors 1 and -4, the return address
		b = append(b, cfaDefCFA, byte(host.Processor.SP), 8)
		return append(b, cfaOffset|byte(host.Processor.PC), 2)
	})
	for i := range t.Len() {
		f, err := t.Func(i)
		if err != nil || f.SetsSP || f.Hi == f.Lo {
			continue
		}
		taken, err := t.Taken(&f)
		if err != nil {
			continue
		}
		b = frameEntry(b, 0, func(b []byte) []byte {
			b = binary.LittleEndian.AppendUint64(b, start+f.Lo)
			b = binary.LittleEndian.AppendUint64(b, f.Hi-f.Lo)
			at := f.Lo
			for _, s := range taken {
				if s.Value < -8 {
					return nil
				}
				b = append(b, cfaDefOffset)
				b = binary.AppendUvarint(b, uint64(s.Value+8))
				if s.Hi < f.Hi {
					b = advance(b, s.Hi-at)
				}
				at = s.Hi
			}
			return b
		})
	}
	return b
}

// frameEntry appends an entry of the 32-bit format: id ^0 is a common one. An entry without contents is left out.
func frameEntry(b []byte, id uint32, contents func([]byte) []byte) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint32(append(b, 0, 0, 0, 0), id)
	with := contents(b)
	if with == nil {
		return b[:at]
	}
	for len(with)%8 != 4 {
		with = append(with, 0) // DW_CFA_nop
	}
	binary.LittleEndian.PutUint32(with[at:], uint32(len(with)-at-4))
	return with
}

func advance(b []byte, n uint64) []byte {
	switch {
	case n < 1<<6:
		return append(b, cfaAdvance|byte(n))
	case n < 1<<8:
		return append(b, cfaAdvance1, byte(n))
	case n < 1<<16:
		return binary.LittleEndian.AppendUint16(append(b, cfaAdvance2), uint16(n))
	}
	return binary.LittleEndian.AppendUint32(append(b, cfaAdvance4), uint32(n))
}
