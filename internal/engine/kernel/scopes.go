package kernel

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
)

// entryScope knows the parameters of a function at its entry, by BTF; without BTF
// the registers only.
func (s *facts) entryScope(f kallsyms.Symbol) debuginfo.Scope {
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
