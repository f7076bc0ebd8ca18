package elf

import (
	stdelf "debug/elf"
	"slices"
)

// Import is a symbol that the file takes from others.
type Import struct{ Name, Version string } // Version "": it asks for none

// Imports are the symbols that the file takes from others.
func (f *File) Imports() (list []Import, err error) {
	defer guard(f.Path, &err)()
	f.symbols() // the strings
	index, versions := f.sectionOf(stdelf.SHT_GNU_VERSYM), f.neededVersions()
	for i, s := range f.dynamicSymbols() {
		name := string(f.syms.nameBytes(&s))
		if s.shndx != 0 || name == "" {
			continue
		}
		list = append(list, Import{name, versions[versionOf(index, i)&versionIndex]})
	}
	return list, nil
}

// Exports are the symbols of that name which others may take.
func (f *File) Exports(name string) (list []Versioned, err error) {
	defer guard(f.Path, &err)()
	f.symbols() // the strings
	index, versions := f.sectionOf(stdelf.SHT_GNU_VERSYM), f.versionNames()
	for i, s := range f.dynamicSymbols() {
		if s.shndx == 0 || stdelf.SymBind(s.info>>4) == stdelf.STB_LOCAL || !f.syms.isNamed(&s, name) {
			continue
		}
		v := versionOf(index, i)
		list = append(list, Versioned{f.syms.symbol(&s), versions[v&versionIndex], v&versionHidden == 0})
	}
	return list, nil
}

// Satisfies reports whether the dynamic linker takes an exported symbol for an import of its name.
func (v *Versioned) Satisfies(im Import) bool {
	switch {
	case im.Version == v.Version:
		return true
	case v.Version == "":
		return v.Default // the file, or the symbol, has no versions
	}
	return im.Version == "" && v.Default
}

// Defined are the symbols with one of these names that the file defines; see Lookup.
func (f *File) Defined(names ...string) (list []Symbol, err error) {
	defer guard(f.Path, &err)()
	for _, name := range names {
		list = append(list, f.Lookup(name)...)
	}
	return list, nil
}

// Copy is a copy of what ReadVaddr gives.
func (f *File) Copy(vaddr uint64, n int) (b []byte, err error) {
	defer guard(f.Path, &err)()
	return slices.Clone(f.ReadVaddr(vaddr, n)), nil
}

// Needed are the libraries that the file is linked with, in the order in which the
// dynamic linker looks for symbols; soname is the name by which others are linked with
// it, "" when it has none.
func (f *File) Needed() (needed []string, soname string, err error) {
	defer guard(f.Path, &err)()
	needed, err = f.elf.DynString(stdelf.DT_NEEDED)
	if err != nil {
		return nil, "", nil // a static program
	}
	if own, err := f.elf.DynString(stdelf.DT_SONAME); err == nil && len(own) > 0 {
		soname = own[0]
	}
	return needed, soname, nil
}
