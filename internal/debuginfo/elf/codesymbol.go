package elf

import (
	"cmp"
	stdelf "debug/elf"
	"slices"
	"sort"
)

// keyed is the index of a symbol with its sort key.
type keyed struct {
	key   uint64
	index int32
}

// radixSort sorts by the key and keeps the order of equal ones: hundreds of thousands of
// symbols in a tenth of the time that comparing them takes.
func radixSort(list []keyed) []keyed {
	const bits = 16
	low, high := ^uint64(0), uint64(0)
	for i := range list {
		low, high = min(low, list[i].key), max(high, list[i].key)
	}
	if len(list) < 1000 {
		slices.SortStableFunc(list, func(x, y keyed) int { return cmp.Compare(x.key, y.key) })
		return list
	}
	other := make([]keyed, len(list))
	for shift := 0; shift < 64 && (high-low)>>shift != 0; shift += bits {
		var start [1<<bits + 1]int32
		digit := func(k *keyed) uint64 { return (k.key - low) >> shift & (1<<bits - 1) }
		for i := range list {
			start[digit(&list[i])+1]++
		}
		for d := range 1 << bits {
			start[d+1] += start[d]
		}
		for i := range list {
			at := &start[digit(&list[i])]
			other[*at] = list[i]
			*at++
		}
		list, other = other, list
	}
	return list
}

// rank orders several names of one address: functions first, global before weak
// before local, sized before unsized.
func (t *symtab) rank(r *rawSym) int {
	n := 0
	if stdelf.SymType(r.info&15) == stdelf.STT_NOTYPE {
		n += 8
	}
	if r.size == 0 {
		n += 4
	}
	switch stdelf.SymBind(r.info >> 4) {
	case stdelf.STB_WEAK:
		n++
	case stdelf.STB_LOCAL:
		n += 2
	}
	return n
}

// FuncAt finds the code symbol that holds vaddr. end is where its code ends: its
// size, or, when it has none, the next symbol or the end of the section.
func (sy *symbolTable) FuncAt(vaddr uint64) (s Symbol, end uint64, ok bool) {
	idx, t := sy.codeIndex(), &sy.syms
	i := sort.Search(len(idx), func(i int) bool { return t.raw[idx[i]].value > vaddr })
	next := sy.sectionEnd(vaddr)
	if i < len(idx) {
		next = min(next, t.raw[idx[i]].value)
	}
	// Walk back over symbols that are nested in a larger one.
	for n := 0; i > 0 && n < 64; n++ {
		i--
		base := t.raw[idx[i]].value
		for i > 0 && t.raw[idx[i-1]].value == base {
			i--
		}
		r := &t.raw[idx[i]]
		if r.size == 0 {
			if n == 0 && vaddr < next && sy.sectionEnd(base) == sy.sectionEnd(vaddr) {
				return t.symbol(r), next, true
			}
			continue
		}
		if vaddr-base < r.size {
			return t.symbol(r), base + r.size, true
		}
	}
	return Symbol{}, 0, false
}

// TypedFuncs calls fn with the bounds of every symbol of a function (not an untyped
// one) that holds vaddr. One without a size ends as FuncAt says.
func (sy *symbolTable) TypedFuncs(vaddr uint64, fn func(lo, hi uint64)) {
	idx, t := sy.codeIndex(), &sy.syms
	i := sort.Search(len(idx), func(i int) bool { return t.raw[idx[i]].value > vaddr })
	for n := 0; i > 0 && n < 64; n++ {
		i--
		r := &t.raw[idx[i]]
		end := r.value + r.size
		if r.size == 0 {
			end = sy.NextFunc(r.value)
		}
		if stdelf.SymType(r.info&15) != stdelf.STT_NOTYPE && vaddr < end {
			fn(r.value, end)
		}
	}
}

// NextFunc is the address of the first code symbol after vaddr, or the end of
// vaddr's section.
func (sy *symbolTable) NextFunc(vaddr uint64) uint64 {
	idx, t := sy.codeIndex(), &sy.syms
	end := sy.sectionEnd(vaddr)
	i := sort.Search(len(idx), func(i int) bool { return t.raw[idx[i]].value > vaddr })
	if i < len(idx) {
		return min(end, t.raw[idx[i]].value)
	}
	return end
}

// CodeSymbols returns the addresses strictly between lo and hi that symbols of code have. Making the index
// takes as long as many scans of all symbols.
func (sy *symbolTable) CodeSymbols(lo, hi uint64) (out []uint64) {
	t := sy.symbols()
	sy.mu.Lock()
	sy.asked++
	indexed := t.byAddr != nil || sy.asked > 16
	sy.mu.Unlock()
	if indexed {
		idx := sy.codeIndex()
		i := sort.Search(len(idx), func(i int) bool { return t.raw[idx[i]].value > lo })
		for ; i < len(idx) && t.raw[idx[i]].value < hi; i++ {
			out = append(out, t.raw[idx[i]].value)
		}
		return slices.Compact(out)
	}
	for i := range t.raw {
		if r := &t.raw[i]; r.value > lo && r.value < hi && sy.isCode(r) {
			out = append(out, r.value)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isCode: a function, or an untyped symbol in an executable section.
func (sy *symbolTable) isCode(r *rawSym) bool {
	switch stdelf.SymType(r.info & 15) {
	case stdelf.STT_FUNC, stdelf.STT_GNU_IFUNC:
		return true
	case stdelf.STT_NOTYPE:
		return sy.codeLabel(false, int(r.shndx))
	}
	return false
}
