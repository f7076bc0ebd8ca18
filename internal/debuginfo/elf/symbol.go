package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"slices"
	"sync"
)

// symbolTable is the file's symbols.
type symbolTable struct {
	*image
	*unpacker
	golang  *goTables
	symOnce sync.Once
	syms    symtab
	mu      sync.Mutex // of the indexes by address, and of named
	asked   int        // of CodeSymbols
	named   map[string][]Symbol
}

// maxNamed bounds the names that are remembered.
const maxNamed = 1024

// Symbol is a defined symbol of .symtab or .dynsym.
type Symbol struct {
	Name    string // raw linkage name, a version suffix ("@@GLIBC_2.2.5") removed
	Value   uint64
	Size    uint64
	Func    bool // STT_FUNC or STT_GNU_IFUNC
	IFunc   bool
	Object  bool // STT_OBJECT or STT_COMMON
	TLS     bool
	Local   bool
	Weak    bool
	Section int
}

const symSize = 24

// rawSym is a symbol whose name has not been made a string yet.
type rawSym struct {
	value, size uint64
	name        uint32
	info        uint8
	dyn         bool
	shndx       uint16
}

type symtab struct {
	raw      []rawSym // .symtab, then .dynsym
	str, dyn []byte
	data     []int32 // data symbols, by address; see DataAt
	byAddr   []int32 // functions and untyped code symbols, by address; best name first
}

func (sy *symbolTable) symbols() *symtab {
	sy.symOnce.Do(func() {
		t := &sy.syms
		t.str = sy.loadSyms(stdelf.SHT_SYMTAB, false)
		if !sy.HasSymtab() {
			t.raw, t.str = sy.golang.symbolsOfStripped()
		}
		t.dyn = sy.loadSyms(stdelf.SHT_DYNSYM, true)
	})
	return &sy.syms
}

// loadSyms appends the defined symbols of the table of that type.
func (sy *symbolTable) loadSyms(typ stdelf.SectionType, dyn bool) (str []byte) {
	for _, s := range sy.elf.Sections {
		if s.Type != typ {
			continue
		}
		if int(s.Link) < len(sy.elf.Sections) {
			if l := sy.elf.Sections[s.Link]; l.Type != stdelf.SHT_NOBITS {
				str = slice(sy.data, l.Offset, l.FileSize)
			}
		}
		b := slice(sy.data, s.Offset, s.FileSize)
		if sy.syms.raw == nil {
			sy.syms.raw = make([]rawSym, 0, len(b)/symSize)
		}
		for ; len(b) >= symSize; b = b[symSize:] {
			r := rawSym{
				name: binary.LittleEndian.Uint32(b), info: b[4], dyn: dyn,
				shndx: binary.LittleEndian.Uint16(b[6:]),
				value: binary.LittleEndian.Uint64(b[8:]), size: binary.LittleEndian.Uint64(b[16:]),
			}
			if r.shndx != 0 && r.name != 0 && keepType(r.info&15) {
				sy.syms.raw = append(sy.syms.raw, r)
			}
		}
		return str
	}
	return nil
}

func keepType(t uint8) bool {
	switch stdelf.SymType(t) {
	case stdelf.STT_SECTION, stdelf.STT_FILE:
		return false
	}
	return true
}

func (t *symtab) nameBytes(r *rawSym) []byte {
	s := t.str
	if r.dyn {
		s = t.dyn
	}
	if uint64(r.name) >= uint64(len(s)) {
		return nil
	}
	s = s[r.name:]
	if i := bytes.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	if i := bytes.IndexByte(s, '@'); i > 0 {
		s = s[:i]
	}
	return s
}

// isNamed reports whether nameBytes is name, and does not look for its end.
func (t *symtab) isNamed(r *rawSym, name string) bool {
	s := t.str
	if r.dyn {
		s = t.dyn
	}
	if name == "" || uint64(r.name) >= uint64(len(s)) || s[r.name] != name[0] {
		return false // no symbol without a name is kept
	}
	return string(t.nameBytes(r)) == name
}

func (t *symtab) symbol(r *rawSym) Symbol {
	typ, bind := stdelf.SymType(r.info&15), stdelf.SymBind(r.info>>4)
	return Symbol{
		Name: string(t.nameBytes(r)), Value: r.value, Size: r.size, Section: int(r.shndx),
		Func: typ == stdelf.STT_FUNC || typ == stdelf.STT_GNU_IFUNC, IFunc: typ == stdelf.STT_GNU_IFUNC,
		Object: typ == stdelf.STT_OBJECT || typ == stdelf.STT_COMMON, TLS: typ == stdelf.STT_TLS,
		Local: bind == stdelf.STB_LOCAL, Weak: bind == stdelf.STB_WEAK,
	}
}

// HasSymtab reports whether the full symbol table exists (the file is not stripped).
func (sy *symbolTable) HasSymtab() bool {
	for _, s := range sy.elf.Sections {
		if s.Type == stdelf.SHT_SYMTAB {
			return true
		}
	}
	return false
}

// Lookup returns every defined symbol of that raw name. A name is searched for once: a condition at ten thousand sites
// looks up its names at each.
func (sy *symbolTable) Lookup(name string) []Symbol {
	sy.mu.Lock()
	out, known := sy.named[name]
	sy.mu.Unlock()
	if known {
		return slices.Clone(out)
	}
	out = sy.search(name)
	sy.mu.Lock()
	defer sy.mu.Unlock()
	if len(sy.named) >= maxNamed || sy.named == nil {
		sy.named = map[string][]Symbol{}
	}
	sy.named[name] = out
	return slices.Clone(out)
}

func (sy *symbolTable) search(name string) []Symbol {
	t := sy.symbols()
	var out []Symbol
	for i := range t.raw {
		if r := &t.raw[i]; t.isNamed(r, name) {
			s := t.symbol(r)
			if !hasSame(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

func hasSame(l []Symbol, s Symbol) bool {
	for _, o := range l {
		if o.Value == s.Value && o.TLS == s.TLS {
			return true
		}
	}
	return false
}

// Each calls fn for every defined symbol until it returns false.
func (sy *symbolTable) Each(fn func(Symbol) bool) {
	t := sy.symbols()
	for i := range t.raw {
		if !fn(t.symbol(&t.raw[i])) {
			return
		}
	}
}

// Objects calls fn for every defined symbol of data that has a size.
func (sy *symbolTable) Objects(fn func(Symbol)) {
	t := sy.symbols()
	for i := range t.raw {
		switch r := &t.raw[i]; stdelf.SymType(r.info & 15) {
		case stdelf.STT_OBJECT, stdelf.STT_COMMON:
			if r.size > 0 {
				fn(t.symbol(r))
			}
		}
	}
}

// IsFunc reports whether the symbol is code: a function, or an untyped symbol in an executable section
// (hand-written assembly).
func (sy *symbolTable) IsFunc(s Symbol) bool {
	return s.Func || sy.codeLabel(s.TLS || s.Object, s.Section)
}

func (sy *symbolTable) codeLabel(data bool, shndx int) bool {
	return !data && shndx > 0 && shndx < len(sy.elf.Sections) &&
		sy.elf.Sections[shndx].Flags&stdelf.SHF_EXECINSTR != 0
}

func (sy *symbolTable) codeIndex() []int32 {
	t := sy.symbols()
	sy.mu.Lock()
	defer sy.mu.Unlock()
	if t.byAddr != nil {
		return t.byAddr
	}
	list := make([]keyed, 0, len(t.raw)/2)
	for i := range t.raw {
		if r := &t.raw[i]; sy.isCode(r) {
			list = append(list, keyed{uint64(t.rank(r)), int32(i)})
		}
	}
	list = radixSort(list)
	for i := range list {
		list[i].key = t.raw[list[i].index].value
	}
	list = radixSort(list)
	t.byAddr = make([]int32, len(list))
	for i := range list {
		t.byAddr[i] = list[i].index
	}
	return t.byAddr
}
