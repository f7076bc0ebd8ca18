package dwarf

import "github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"

// attrSpec is one attribute of an abbreviation.
type attrSpec struct {
	at, form uint16
	pos      int32 // offset from the first attribute, -1 if it depends on the data
	implicit int64
}

// abbrev declares the shape of entries: tag, attributes, whether children follow.
type abbrev struct {
	tag      uint16
	children bool
	sibling  bool // has DW_AT_sibling
	fixed    int  // bytes of all attributes together, -1 if it depends on the data
	attrs    []attrSpec
}

func (a *abbrev) has(at uint16) bool {
	for i := range a.attrs {
		if a.attrs[i].at == at {
			return true
		}
	}
	return false
}

// form is the form of an attribute, 0 when absent.
func (a *abbrev) form(at uint16) uint16 {
	for i := range a.attrs {
		if a.attrs[i].at == at {
			return a.attrs[i].form
		}
	}
	return 0
}

// abbrevTable is one unit's abbreviations; codes are nearly always dense.
type abbrevTable struct {
	dense  []*abbrev // by code-1
	sparse map[uint64]*abbrev
}

func (t *abbrevTable) get(code uint64) *abbrev {
	if code-1 < uint64(len(t.dense)) {
		return t.dense[code-1]
	}
	return t.sparse[code]
}

// parseAbbrevs reads the table at off of .debug_abbrev. The readable part of a damaged table is kept;
// entries with unknown codes end their unit.
func parseAbbrevs(sec []byte, off uint64, f raw.Format) *abbrevTable {
	t := &abbrevTable{}
	c := raw.At(sec, off)
	arena := make([]attrSpec, 0, 256)
	for {
		code := c.ULEB()
		if c.Bad || code == 0 {
			return t
		}
		tag := c.ULEB()
		a := &abbrev{tag: uint16(tag), children: c.U8() != 0}
		start := len(arena)
		for {
			at, form := c.ULEB(), c.ULEB()
			if c.Bad {
				return t
			}
			if at == 0 && form == 0 {
				break
			}
			s := attrSpec{at: uint16(min(at, 0xffff)), form: uint16(min(form, 0xffff))}
			if form == raw.FormImplicit {
				s.implicit = c.SLEB()
			}
			arena = append(arena, s)
		}
		a.attrs = arena[start:len(arena):len(arena)]
		a.measure(f)
		if code == uint64(len(t.dense))+1 {
			t.dense = append(t.dense, a)
			continue
		}
		if t.sparse == nil {
			t.sparse = map[uint64]*abbrev{}
		}
		t.sparse[code] = a
	}
}

func (a *abbrev) measure(f raw.Format) {
	for i := range a.attrs {
		s := &a.attrs[i]
		if s.at == atSibling {
			a.sibling = true
		}
		s.pos = int32(a.fixed)
		n := f.Size(s.form)
		if n < 0 || a.fixed < 0 {
			a.fixed = -1
			continue
		}
		a.fixed += n
	}
}
