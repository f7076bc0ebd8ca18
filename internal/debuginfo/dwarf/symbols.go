package dwarf

import (
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// ImportedAs are the symbols by which the module takes a function from others: its name,
// or in C++ and Rust those of the functions that have it.
func (m *Module) ImportedAs(name string) (symbols []string) {
	all, err := m.file.Imported()
	if err != nil {
		return nil
	}
	for s := range all {
		mangled := strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R")
		if s == name || mangled && demangle.Filter(s, demangle.NoParams) == name {
			symbols = append(symbols, s)
		}
	}
	return symbols
}

// File is the module's ELF file, open until Close.
func (m *Module) File() *elf.File { return m.file }

// Lookup returns the symbols of that raw name, of the module or, when it is
// stripped, of its separate debug file.
func (m *Module) Lookup(name string) (out []elf.Symbol) {
	defer m.guard(nil)()
	return m.lookupSymbols(name)
}
