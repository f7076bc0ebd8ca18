package dwarf

import "github.com/jalon-trace/jalon/internal/debuginfo/elf"

// File is the module's ELF file, open until Close.
func (m *Module) File() *elf.File { return m.file }

// Lookup returns the symbols of that raw name, of the module or, when it is
// stripped, of its separate debug file.
func (m *Module) Lookup(name string) (out []elf.Symbol) {
	defer m.guard(nil)()
	return m.lookupSymbols(name)
}
