package kernel

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf"
	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
)

// known has the kernel's types; nil if there is no BTF: then scopes have no types.
func (s *facts) known() *btf.Kernel {
	b, err := s.btf()
	if err != nil {
		return nil
	}
	return b
}

// entryScope has the parameters of a function at its entry, by BTF; without BTF only the registers.
func (s *facts) entryScope(f kallsyms.Symbol) debuginfo.Scope {
	return s.known().EntryScope(f.Name, f.Module)
}

// returnScope has the result of a function at its return.
func (s *facts) returnScope(f kallsyms.Symbol) debuginfo.Scope {
	return s.known().ReturnScope(f.Name, f.Module)
}

// plainScope has the kernel's types and globals, and no variables.
func (s *facts) plainScope() debuginfo.Scope { return s.known().GlobalScope() }

// recordScope is what names mean in the record of an event.
func (s *facts) recordScope(ev *tracefs.Event) debuginfo.Scope {
	return s.known().RecordScope(ev.System+":"+ev.Name, ev.Record())
}
