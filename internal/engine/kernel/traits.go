package kernel

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/patch"
)

// traits are what a file has to do with that a uretprobe disturbs.
type traits struct {
	isGo, throws bool
	switches     string
}

func (f *files) traits(m *dwarf.Module) traits {
	if t, ok := f.known[m]; ok {
		return t
	}
	var t traits
	for _, sec := range m.Sections() {
		t.throws = t.throws || sec.Name == ".gcc_except_table"
	}
	t.isGo = m.IsGo()
	imported := map[string]bool{}
	imports, _ := m.File().Imports() // unreadable: its own traits count
	for _, im := range imports {
		imported[im.Name] = true
	}
	for _, name := range switchers {
		if defined := m.Lookup(name); (imported[name] || len(defined) > 0) && m.Name() != "libc.so.6" && t.switches == "" {
			t.switches = name
		}
	}
	for _, name := range []string{"__cxa_throw", "_Unwind_RaiseException", "_Unwind_Resume", "__gxx_personality_v0", "rust_eh_personality"} {
		t.throws = t.throws || imported[name] || len(m.Lookup(name)) > 0
	}
	if f.known == nil {
		f.known = map[*dwarf.Module]traits{}
	}
	f.known[m] = t
	return t
}

// codeOf is the code around an address.
func (f *files) codeOf(m *dwarf.Module, whole dwarf.Extent, vaddr uint64) (*codeAt, error) {
	key := codeKey{m, whole.Lo, whole.Hi}
	if c := f.code[key]; c != nil {
		return c, nil
	}
	if whole.Hi-whole.Lo > maxCode {
		return nil, fmt.Errorf("the function at %#x is larger than %d MiB: where its instructions begin is not looked at", whole.Lo, maxCode>>20)
	}
	read := func(addr uint64, n int) ([]byte, error) {
		b, err := m.Text(addr, n)
		if err == nil && len(b) < n {
			err = fmt.Errorf("the file ends within %#x", addr)
		}
		return b, err
	}
	b, err := read(whole.Lo, int(whole.Hi-whole.Lo))
	if err != nil {
		return nil, fmt.Errorf("reading the code at %#x: %w", whole.Lo, err)
	}
	c := &codeAt{Code: &patch.Code{Lo: whole.Lo, Hi: whole.Hi, Bytes: b, Entries: whole.Starts, ReadMem: read}}
	if fn, ok := m.FunctionAt(vaddr); ok {
		c.LandingPads, _ = m.LandingPads(fn) // a damaged table: its targets may not be code
	}
	c.flow = c.Flow(m.Rows(vaddr, whole.Lo, whole.Hi))
	c.rseq, _ = m.RseqRanges()
	own := debuginfo.Range{Lo: whole.Lo, Hi: whole.Hi}
	within := func(vaddr uint64) bool { return vaddr >= own.Lo && vaddr < own.Hi }
	aborts, _ := m.MadeAborts() // damaged data describe no sequences
	for _, a := range aborts {
		if slices.ContainsFunc(a.Near, within) || patch.LeadsInto(a.At, m.Text, within) {
			c.abort = a.At
		}
	}
	f.code[key] = c
	return c, nil
}

// codeKey is a range of a file's code.
type codeKey struct {
	m      *dwarf.Module
	lo, hi uint64
}
