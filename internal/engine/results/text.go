package results

import (
	"errors"
	"fmt"
	"sync"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/patch"
)

// Text is a module's machine code as the file has it, for proofs about branches and calls; bias is added to all addresses.
// An error means that there can be no proof.
func Text(m *dwarf.Module, bias uint64) (*patch.Text, error) {
	t := &patch.Text{Absolute: m.Type() == dwarf.Exec, Function: func(addr uint64) (lo, hi uint64, known bool) {
		lo, hi, known = m.CodeBounds(addr - bias)
		return lo + bias, hi + bias, known
	}}
	var err error
	if t.Code, err = segments(m, bias, true); err != nil {
		return nil, err
	}
	t.Data = sync.OnceValues(func() ([]patch.Region, error) { return segments(m, bias, false) })
	if n := len(t.Code); n > 0 {
		last := t.Code[n-1]
		if last.Addr+uint64(len(last.Bytes))-t.Code[0].Addr > maxText {
			return nil, errors.New("the module's code is too large to search for branches")
		}
	}
	pointers, err := m.CodePointers()
	if err != nil {
		return nil, err
	}
	for _, p := range pointers {
		t.Pointers = append(t.Pointers, p+bias)
	}
	return t, nil
}

// Code is the machine code of a module by the addresses in the file.
func Code(m *dwarf.Module) ([]patch.Region, error) { return segments(m, 0, true) }

// segments reads the executable segments of the file, or the others.
func segments(m *dwarf.Module, bias uint64, exe bool) (out []patch.Region, err error) {
	for _, seg := range m.Segments() {
		if seg.Filesz == 0 || seg.Exe != exe {
			continue
		}
		b, err := m.Text(seg.Vaddr, int(min(seg.Filesz, maxText)))
		if err == nil && uint64(len(b)) < seg.Filesz {
			err = fmt.Errorf("%d bytes at %#x cannot be searched for branches", seg.Filesz, seg.Vaddr)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, patch.Region{Addr: seg.Vaddr + bias, Bytes: b})
	}
	return out, nil
}

// maxText is the range of a branch.
const maxText = 1<<31 - 1
