package dwarf

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// With type units gcc leaves out of a class what it puts elsewhere: a nested type has a
// unit of its own, which says by DW_AT_specification what declares it; static members and
// nested types that a unit uses are below that unit's own declaration of the class.
//
//	type unit Top             type unit of Top::In          unit a.cc
//	  struct Top                struct Top, declaration       struct Top, declaration
//	    member top                struct In, declaration        In, declaration: signature
//	                            struct In: specification        variable st

// members is Module.members with what the unit's own declarations of the class add.
func (fi *finder) members(t *ctype.Type) ([]ctype.Field, []ctype.Name) {
	fields, names := fi.m.members(t)
	d, ok := t.Ref.(die)
	if !ok || !d.u.isTypeUnit() {
		return fields, names
	}
	own := len(names)
	names = names[:own:own]
	for _, c := range fi.u.whole().apart()[d.context().qualified()] {
		for _, n := range fi.m.declared(nil, d, c) {
			same := func(o ctype.Name) bool { return o.Name == n.Name && o.Kind == n.Kind }
			if slices.ContainsFunc(names[:own], same) || n.Kind != ctype.Function && slices.ContainsFunc(names, same) {
				continue
			}
			names = append(names, n)
		}
	}
	return fields, names
}

// apart lists, by the name of the class, what the units that u reaches declare of classes
// outside of their definitions.
func (n *unitNames) apart() map[string][]die {
	n.apartOnce.Do(func() {
		n.aparts = map[string][]die{}
		for _, v := range n.reach() {
			for i := range v.scopeSpans() {
				n.noteApart(v.spans[i].d)
			}
		}
	})
	return n.aparts
}

func (n *unitNames) noteApart(d die) {
	switch d.ab.tag {
	case tagStructType, tagClassType, tagUnionType, tagInterfaceType:
		if d.flag(atDeclaration) {
			name := d.context().qualified()
			n.aparts[name] = slices.AppendSeq(n.aparts[name], d.children())
		}
	case tagEnumerationType:
	default:
		return
	}
	if d.ab.has(atSpecification) {
		if around := d.context().spans(); len(around) > 0 && isTypeTag(around[len(around)-1].d.ab.tag) {
			name := around[len(around)-1].d.context().qualified()
			n.aparts[name] = append(n.aparts[name], d)
		}
	}
}
