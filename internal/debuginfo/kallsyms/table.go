// Package kallsyms reads the kernel's own symbol table, /proc/kallsyms. Parse is a pure function; Open reads
// the running kernel's table. A Table is immutable and may be used by several goroutines.
//
// Import rule: kallsyms imports debuginfo only.
package kallsyms

import (
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Symbol is one line of the table.
type Symbol struct {
	Name   string
	Addr   uint64
	Type   byte   // as in nm: t T w W code, others data; lower case: local
	Module string // "" for the kernel itself
}

// IsText reports whether the symbol is code. (Weak symbols, w and W, are
// functions in the kernel; weak objects are v and V.)
func (s Symbol) IsText() bool {
	switch s.Type {
	case 't', 'T', 'w', 'W':
		return true
	}
	return false
}

// Location is the symbol for an address.
type Location struct {
	Symbol
	Offset uint64 // of the address from Symbol.Addr
	// Size is the distance to the next symbol, or 0 if unknown (the last symbol of the kernel or of a module).
	Size uint64
}

// Extent is how far At finds the symbol: Size, or where that is unknown the rest of its page.
func (l *Location) Extent() uint64 {
	if l.Size != 0 {
		return l.Size
	}
	return page - l.Addr%page
}

// Table is a symbol table. Symbols are numbered in the order of the file.
type Table struct {
	names   string   // all names, concatenated
	ends    []uint32 // the end of each symbol's name in names
	addrs   []uint64
	types   []byte
	module  []uint16 // index into modules
	modules []string // modules[0] is ""

	order []uint32 // symbols by address; nil: the file is in that order

	searched atomic.Int32 // names
	index    sync.Once
	heads    []uint32 // hash of a name -> number+1 of the last symbol with that hash
	next     []uint32 // number+1 of the previous symbol with the same hash
}

// mostSearches is how many names are searched for in the text of all names. More pay for an index.
const mostSearches = 16

// Len is the number of symbols.
func (t *Table) Len() int { return len(t.addrs) }

// Symbol returns symbol i, 0 <= i < Len, in the order of the file.
func (t *Table) Symbol(i int) Symbol {
	return Symbol{Name: t.name(i), Addr: t.addrs[i], Type: t.types[i], Module: t.modules[t.module[i]]}
}

func (t *Table) name(i int) string {
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.names[start:t.ends[i]]
}

// Lookup returns the symbols of that name in the order of the file. Static functions of different files and
// modules may have the same name.
func (t *Table) Lookup(name string) []Symbol {
	if name == "" || len(t.addrs) == 0 {
		return nil
	}
	if t.searched.Load() < mostSearches {
		t.searched.Add(1)
		return t.search(name)
	}
	t.index.Do(t.makeIndex)
	var out []Symbol
	for n := t.heads[hash(name)&uint32(len(t.heads)-1)]; n != 0; n = t.next[n-1] {
		if i := int(n - 1); t.name(i) == name {
			out = append(out, t.Symbol(i))
		}
	}
	slices.Reverse(out)
	return out
}

// search finds a name in the text of all names.
func (t *Table) search(name string) (out []Symbol) {
	for at := 0; ; at++ {
		i := strings.Index(t.names[at:], name)
		if i < 0 {
			return out
		}
		at += i
		n, starts := slices.BinarySearch(t.ends, uint32(at))
		if starts {
			n++
		}
		if (starts || at == 0) && t.name(n) == name {
			out = append(out, t.Symbol(n))
		}
	}
}

// Addr returns the address of the kernel's symbol of that name, or if the kernel itself has none, a module's.
// It fails if there is no such symbol or there are several.
func (t *Table) Addr(name string) (uint64, bool) {
	var found []Symbol
	all := t.Lookup(name)
	for _, s := range all {
		if s.Module == "" {
			found = append(found, s)
		}
	}
	if found == nil {
		found = all
	}
	for _, s := range found {
		if s.Addr != found[0].Addr {
			return 0, false
		}
	}
	if found == nil {
		return 0, false
	}
	return found[0].Addr, true
}

// KernelHalf is the start of the kernel's addresses. Lower values in the table are numbers: offsets of per-CPU
// variables, sizes.
const KernelHalf = 1 << 63

// page limits the assumed size of the last symbol before a gap of unknown length.
const page = 4096

// At returns the symbol that contains an address. Of several symbols at one address it returns the first, as
// the kernel does in its own messages. The last symbol of the kernel or a module extends only to the end of its
// page.
func (t *Table) At(addr uint64) (Location, bool) {
	n := sort.Search(len(t.addrs), func(i int) bool { return t.addrs[t.at(i)] > addr })
	if n == 0 || addr < KernelHalf {
		return Location{}, false
	}
	first := n - 1
	for first > 0 && t.addrs[t.at(first-1)] == t.addrs[t.at(first)] {
		first--
	}
	loc := Location{Symbol: t.Symbol(t.at(first))}
	if loc.Addr < KernelHalf {
		return Location{}, false
	}
	loc.Offset = addr - loc.Addr
	if n < len(t.addrs) && t.module[t.at(n)] == t.module[t.at(first)] {
		loc.Size = t.addrs[t.at(n)] - loc.Addr
		return loc, true
	}
	return loc, loc.Offset < loc.Extent()
}

// at returns the number of the i-th symbol by address.
func (t *Table) at(i int) int {
	if t.order == nil {
		return i
	}
	return int(t.order[i])
}

// Functions lists the code symbols that match a pattern of path.Match (* ? [a-z]), sorted by name. It omits the
// compiler's labels before functions (__pfx_, __cfi_). The error is path.ErrBadPattern.
func (t *Table) Functions(glob string) ([]Symbol, error) {
	if _, err := path.Match(glob, ""); err != nil {
		return nil, err
	}
	prefix := glob[:len(glob)-len(strings.TrimLeftFunc(glob, func(r rune) bool { return !strings.ContainsRune(`*?[\`, r) }))]
	var out []Symbol
	for i := range t.addrs {
		name := t.name(i)
		if !strings.HasPrefix(name, prefix) || strings.HasPrefix(name, "__pfx_") || strings.HasPrefix(name, "__cfi_") {
			continue
		}
		if s := t.Symbol(i); s.IsText() {
			if ok, _ := path.Match(glob, name); ok {
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Symbol) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// NotFound returns the error for a function that is not in the table, with similar names.
func (t *Table) NotFound(name string) *debuginfo.NotFoundError {
	e := &debuginfo.NotFoundError{What: "function", Name: name}
	if len(t.Lookup(name)) > 0 {
		e.Hint = "the kernel has a symbol of that name, but it is not code"
		return e
	}
	similar := debuginfo.Like(name)
	seen := map[string]bool{}
	var near []string
	for i := range t.addrs {
		if s := t.Symbol(i); similar(s.Name) && s.IsText() && !strings.HasPrefix(s.Name, "__pfx_") && !seen[s.Name] {
			seen[s.Name] = true
			near = append(near, s.Name)
		}
	}
	e.Nearest = debuginfo.Nearest(name, near, 5)
	return e
}

// hash is FNV-1a.
// makeIndex makes the table of hashes.
func (t *Table) makeIndex() {
	size := 1
	for size < len(t.addrs) {
		size *= 2
	}
	t.heads, t.next = make([]uint32, size), make([]uint32, len(t.addrs))
	for i := range t.addrs {
		h := &t.heads[hash(t.name(i))&uint32(size-1)]
		t.next[i], *h = *h, uint32(i+1)
	}
}

func hash[T string | []byte](s T) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h ^ h>>15
}
