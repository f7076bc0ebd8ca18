package patch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// goTable is Go's table of functions (runtime/symtab.go, pcHeader).
type goTable struct {
	b                 []byte
	nfunc             int
	start             uint64
	names, pcs, funcs []byte
	flagsAt           int
}

func openGoTable(b []byte) (*goTable, error) {
	le := binary.LittleEndian
	if len(b) < 8*9 {
		return nil, errors.New("Go's table of functions is too short")
	}
	t := &goTable{b: b}
	switch magic := le.Uint32(b); magic {
	case 0xfffffff0: // Go 1.18
		t.flagsAt = 37
	case 0xfffffff1: // Go 1.20
		t.flagsAt = 41
	default:
		return nil, fmt.Errorf("Go's table of functions has the unknown version %#x", magic)
	}
	if b[7] != 8 {
		return nil, errors.New("Go's table of functions is not that of a 64-bit program")
	}
	word := func(i int) uint64 { return le.Uint64(b[8+8*i:]) }
	part := func(i int) []byte { return b[min(word(i), uint64(len(b))):] }
	t.start, t.names, t.pcs, t.funcs = word(2), part(3), part(6), part(7)
	n := word(0)
	if n == 0 || n > uint64(len(t.funcs))/8 {
		return nil, errors.New("Go's table of functions is damaged")
	}
	t.nfunc = int(n)
	return t, nil
}

var errGoTable = errors.New("Go's table of functions is damaged")

// goDeltas decodes pairs of changes, of the value and of the pc, up to a zero.
func goDeltas(b []byte, pc, end uint64) (out []goDelta, err error) {
	for value := int64(-1); pc < end; {
		u, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errGoTable
		}
		if u == 0 && len(out) > 0 {
			break
		}
		dpc, k := binary.Uvarint(b[n:])
		if k <= 0 || dpc == 0 || u > 1<<32 || dpc > 1<<32 {
			return nil, errGoTable
		}
		b = b[n+k:]
		value += int64(u>>1) ^ -int64(u&1)
		if value < -(1<<31) || value > 1<<31 { // negative: behind a pop of the return address
			return nil, errGoTable
		}
		pc += dpc
		out = append(out, goDelta{pc, value})
	}
	return slices.Clip(out), nil
}
