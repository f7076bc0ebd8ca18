package kernel

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// entryScope knows the parameters of a function at its entry, by BTF; without BTF
// the registers only.
func (s *facts) entryScope(f function) debuginfo.Scope {
	b, err := s.btf()
	if err != nil {
		b = nil
	}
	return b.EntryScope(f.Name, f.Module)
}

// plainScope knows the kernel's types and globals, and no variables.
func (s *facts) plainScope() debuginfo.Scope {
	b, err := s.btf()
	if err != nil {
		b = nil
	}
	return b.GlobalScope()
}

// symbolAt is Symbol for any address.
func (s *facts) symbolAt(addr uint64) string {
	t, err := s.kallsyms()
	if err != nil {
		return ""
	}
	at, ok := t.At(addr)
	if !ok {
		return ""
	}
	name := at.Name
	if at.Offset != 0 {
		name += fmt.Sprintf("+%#x", at.Offset)
	}
	if at.Module != "" {
		name += " [" + at.Module + "]"
	}
	return name
}
