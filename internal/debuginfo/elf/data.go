package elf

import (
	stdelf "debug/elf"
	"sort"
)

// DataAt finds the data symbol whose bytes hold vaddr. Of several at one address
// it prefers global over weak over local ones.
func (sy *symbolTable) DataAt(vaddr uint64) (s Symbol, ok bool) {
	idx, t := sy.dataIndex(), &sy.syms
	i := sort.Search(len(idx), func(i int) bool { return t.raw[idx[i]].value > vaddr })
	// Walk back over symbols that are nested in a larger one.
	for n := 0; i > 0 && n < 64; n++ {
		i--
		base := t.raw[idx[i]].value
		for i > 0 && t.raw[idx[i-1]].value == base {
			i--
		}
		if r := &t.raw[idx[i]]; vaddr-base < r.size {
			return t.symbol(r), true
		}
	}
	return Symbol{}, false
}

// dataIndex lists the data symbols that have a size, by address, best name first.
func (sy *symbolTable) dataIndex() []int32 {
	t := sy.symbols()
	sy.mu.Lock()
	defer sy.mu.Unlock()
	if t.data != nil {
		return t.data
	}
	idx := []int32{}
	for i := range t.raw {
		r := &t.raw[i]
		switch stdelf.SymType(r.info & 15) {
		case stdelf.STT_OBJECT, stdelf.STT_COMMON, stdelf.STT_NOTYPE:
			if r.size > 0 && r.shndx < uint16(stdelf.SHN_LORESERVE) && !sy.codeLabel(false, int(r.shndx)) {
				idx = append(idx, int32(i))
			}
		}
	}
	sort.Slice(idx, func(a, b int) bool {
		x, y := &t.raw[idx[a]], &t.raw[idx[b]]
		if x.value != y.value {
			return x.value < y.value
		}
		return t.rank(x) < t.rank(y)
	})
	t.data = idx
	return idx
}
