package dwarf

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// Unwind finds the rule for vaddr. The error says that the module has no call
// frame information there.
func (m *Module) Unwind(vaddr uint64) (rule *frame.Rule, err error) {
	defer m.guard(&err)()
	if rule, ok := m.rules.get(vaddr); ok {
		return rule, nil
	}
	if rule, err = m.unwind(vaddr); err == nil {
		m.rules.put(vaddr, rule)
	}
	return rule, err
}

func (m *Module) unwind(vaddr uint64) (*frame.Rule, error) {
	f := m.frames().Find(vaddr)
	if f == nil {
		return nil, fmt.Errorf("no call frame information for address %#x of %s", vaddr, m.path)
	}
	return f.Rule(vaddr)
}

// UnwindTable is the compact form of the module's call frame information, made when it is first
// asked for; nil where there is none.
func (m *Module) UnwindTable() *unwind.Table {
	defer m.guard(nil)()
	if !m.walkHas {
		m.walkHas = true
		m.walk = unwind.Compile(m.frames())
	}
	return m.walk
}

// frames is the module's call frame information: .eh_frame is in the module itself,
// .debug_frame may be in the separate debug file.
func (m *Module) frames() *frame.Table {
	if m.cfi != nil {
		return m.cfi
	}
	src := frame.Sources{Read: m.file.ReadVaddr}
	if s, ok := m.file.Section(".eh_frame"); ok && !s.NoBits {
		if b, err := m.file.Bytes(".eh_frame"); err == nil {
			src.EHFrame, src.EHFrameVaddr = b, s.Vaddr
		}
	}
	src.HeaderVaddr, src.Header = m.file.EhFrameHdr()
	debug := m.file
	if m.dbg != nil {
		debug = m.dbg
	}
	if b, err := debug.Bytes(".debug_frame"); err == nil {
		src.DebugFrame = b
	}
	m.cfi = frame.New(src)
	return m.cfi
}
