package kernel

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf"
	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
)

// known is what the kernel says of its types, nil where it says nothing: scopes of that
// have no types.
func (s *facts) known() *btf.Kernel {
	b, err := s.btf()
	if err != nil {
		return nil
	}
	return b
}

// entryScope knows the parameters of a function at its entry, by BTF; without BTF
// the registers only.
func (s *facts) entryScope(f kallsyms.Symbol) debuginfo.Scope {
	return s.known().EntryScope(f.Name, f.Module)
}

// returnScope knows the result of a function when it returns.
func (s *facts) returnScope(f kallsyms.Symbol) debuginfo.Scope {
	return s.known().ReturnScope(f.Name, f.Module)
}

// plainScope knows the kernel's types and globals, and no variables.
func (s *facts) plainScope() debuginfo.Scope { return s.known().GlobalScope() }

// recordScope is what names mean in the record of an event.
func (s *facts) recordScope(ev *tracefs.Event) debuginfo.Scope {
	return s.known().RecordScope(ev.System+":"+ev.Name, ev.Record())
}
