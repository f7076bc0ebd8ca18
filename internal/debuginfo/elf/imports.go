package elf

import (
	stdelf "debug/elf"
	"slices"
	"strings"
)

// Imported are the names of the symbols that the file takes from others.
func (f *File) Imported() (names map[string]bool, err error) {
	defer guard(f.Path, &err)()
	names = map[string]bool{}
	list, err := f.elf.DynamicSymbols()
	if err != nil {
		return names, nil // it has none
	}
	for i := range list {
		if s := &list[i]; s.Section == stdelf.SHN_UNDEF && s.Name != "" {
			name, _, _ := strings.Cut(s.Name, "@")
			names[name] = true
		}
	}
	return names, nil
}

// Exports reports whether the file has a function of that name which others may take.
func (f *File) Exports(name string) (yes bool, err error) {
	defer guard(f.Path, &err)()
	t := f.symbols()
	for i := range t.raw {
		r := &t.raw[i]
		if !r.dyn || !t.isNamed(r, name) {
			continue
		}
		if s := t.symbol(r); !s.Local && f.IsFunc(s) {
			return true, nil
		}
	}
	return false, nil
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
