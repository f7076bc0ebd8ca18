package dwarf

import "strings"

// IsGo reports whether the module has code of Go's compiler, whose run-time system moves
// stacks and preempts goroutines at any instruction.
func (m *Module) IsGo() bool {
	for _, sec := range m.Sections() {
		if strings.HasSuffix(sec.Name, ".gopclntab") || sec.Name == ".go.buildinfo" {
			return true
		}
	}
	return len(m.Lookup("runtime.morestack")) > 0
}
