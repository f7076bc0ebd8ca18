package dwarf

import "github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"

// The units from which a unit's names may come. A unit imports partial units (DW_TAG_imported_unit). With
// type units (-fdebug-types-section) its types are in separate units, to which it refers only by signature:
// the file has other types of the same names, which belong to other units.

// reach lists the unit itself, those that it imports and the type units that it or
// one of these refers to, in this order.
func (n *unitNames) reach() []*unit {
	n = &n.u.whole().unitNames
	n.reachOnce.Do(func() {
		seen := map[*unit]bool{}
		var enter func(v *unit, depth int)
		enter = func(v *unit, depth int) {
			v = v.whole()
			if seen[v] || depth > maxImports {
				return
			}
			seen[v] = true
			n.reached = append(n.reached, v)
			for _, off := range v.top()[importKey] {
				if d, ok := v.dieAt(off); ok {
					if p, ok := d.ref(atImport); ok {
						enter(p.u, depth+1)
					}
				}
			}
		}
		enter(n.u, 0)
		for i := 0; i < len(n.reached); i++ {
			for _, t := range n.reached[i].typeUnits() {
				if !seen[t] {
					seen[t] = true
					n.reached = append(n.reached, t)
				}
			}
		}
	})
	return n.reached
}

// maxImports bounds chains of units that import one another.
const maxImports = 4096

func (u *unit) isTypeUnit() bool { return u.kind == utType || u.kind == utSplitType }

// typeUnits lists the type units that entries of this one refer to.
func (u *unit) typeUnits() (out []*unit) {
	u.d.scan()
	root, ok := u.rootDie()
	if len(u.d.sigs) == 0 || !ok || !u.abbrevTable().any((*abbrev).signs) {
		return nil
	}
	seen := map[*unit]bool{}
	note := func(e die) {
		if !e.ab.signs() {
			return
		}
		e.each(func(_ uint16, v val) {
			if t := u.d.sigs[v.N]; v.Form == raw.FormRefSig8 && t != nil && !seen[t] {
				seen[t] = true
				out = append(out, t)
			}
		})
	}
	note(root)
	root.walk(func(e die, _ int) bool {
		note(e)
		return true
	})
	return out
}

// signs reports whether such entries have an attribute that is a type's signature.
func (a *abbrev) signs() bool {
	for i := range a.attrs {
		if a.attrs[i].form == raw.FormRefSig8 {
			return true
		}
	}
	return false
}

// any reports whether one of the abbreviations is such.
func (t *abbrevTable) any(is func(*abbrev) bool) bool {
	for _, a := range t.dense {
		if is(a) {
			return true
		}
	}
	for _, a := range t.sparse {
		if is(a) {
			return true
		}
	}
	return false
}
