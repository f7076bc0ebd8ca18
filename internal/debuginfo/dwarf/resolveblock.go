package dwarf

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// inBlock looks a name up among a block's own; an object hides a type. Declarations after the place are
// considered later. No block has a variable and an enumerator of one name: if it seems so, the compiler has
// not described an inner block, and it is not known which of them is meant.
func (r *search) inBlock(b *block, name string) (list []meaning) {
	add := func(m meaning) {
		if r.s.declaredLater(m.decl) {
			r.late = append(r.late, m)
		} else {
			list = append(list, m)
		}
	}
	if r.want == anything {
		if d, ok := b.declares(name); ok {
			add(meaning{d: d, block: b, decl: d})
		}
		for _, t := range b.types {
			if t.ab.tag == tagTemplateValue && t.name() == name {
				add(meaning{d: t})
			}
		}
		if d, t, ok := r.enumerator(b.types, name); ok {
			add(meaning{d: d, decl: t})
		}
	}
	for _, e := range b.imports {
		if d, ok := e.imported(); ok && e.ab.tag == tagImportedDecl && r.want.accepts(d.ab.tag) {
			if own := e.name(); own == name || own == "" && sameName(d.name(), name) {
				add(meaning{d: d}) // gcc gives a using-declaration the function's last line
			}
		}
	}
	for _, t := range b.types {
		if t.ab.tag != tagTemplateValue && r.want.accepts(t.ab.tag) && !(r.s.u.isC() && r.isTag(t)) && sameName(t.name(), name) {
			add(meaning{d: t, decl: t})
		}
	}
	return list
}

// isTag: in C the names of structs, unions and enumerations are apart from others.
func (r *search) isTag(d die) bool {
	switch d.ab.tag {
	case tagStructType, tagClassType, tagUnionType, tagEnumerationType:
		return r.want == anything
	}
	return false
}

// enumerator finds a constant of the unscoped enumerations among types.
func (r *search) enumerator(types []die, name string) (c, enum die, ok bool) {
	for _, t := range types {
		if t.ab.tag != tagEnumerationType || t.flag(atEnumClass) {
			continue
		}
		for c := range t.children() {
			if c.ab.tag == tagEnumerator && c.name() == name {
				return c, t, true
			}
		}
	}
	return die{}, die{}, false
}

// inFunctionAround looks a name up in the blocks of a function that contains a class: its local objects
// have no value in the class's functions, unless they are static.
func (r *search) inFunctionAround(fn die, blocks []die, name string) ([]meaning, error) {
	path := map[uint64]bool{}
	for _, d := range blocks {
		path[d.off] = true
	}
	for _, d := range blocks {
		b := &block{d: d}
		for c := range d.children() {
			b.add(c)
		}
		found := r.inBlock(b, name)
		if len(found) == 0 {
			r.directives = append(r.directives, r.s.blockDirectives(b)...)
			continue
		}
		m, err := r.one(name, found)
		if err != nil {
			return nil, err
		}
		if r.inOtherBlock(fn, path, name) {
			return nil, unknownBlock(fn, name)
		}
		if m.block != nil && !m.d.fixed() {
			if v, ok := r.s.staticOf(fn, name); ok {
				m.d = v
			} else if at, ok := r.s.throughLink(fn, m.d); ok {
				m.at = at
			} else if !isConstant(m.d) {
				m.why = "it is a local variable of " + fn.funcName() + ", to which this function has no access"
			}
		}
		m.block = nil
		return []meaning{m}, nil
	}
	if r.inOtherBlock(fn, path, name) {
		return nil, unknownBlock(fn, name)
	}
	return nil, nil
}

func unknownBlock(fn die, name string) error {
	return &debuginfo.MisusedError{Name: name, Why: quote(name) + " may be a name of a block of " + fn.funcName() +
		": which of its blocks is around this function, the debug information does not say"}
}

// isConstant: a variable that a local class's functions may use, since it is declared const
// with a value that is known. gcc gives a value to others too when it optimises.
func isConstant(d die) bool {
	if _, known := d.deep(atConstValue); !known {
		return false
	}
	v, _ := d.deep(atType)
	t, ok := v.die()
	for n := 0; ok && n < 8 && t.ab.tag == tagTypedef; n++ {
		t, ok = t.ref(atType)
	}
	return ok && t.ab.tag == tagConstType
}

// inOtherBlock: a block of fn that is not around the class declares the name before
// the place. Compilers put local classes at the top of the function.
func (r *search) inOtherBlock(fn die, path map[uint64]bool, name string) (found bool) {
	fn.walk(func(e die, _ int) bool {
		switch e.ab.tag {
		case tagLexicalBlock, tagTryBlock, tagCatchBlock:
			if !path[e.off] && !found {
				b := &block{d: e}
				for c := range e.children() {
					b.add(c)
				}
				late := len(r.late)
				found = len(r.inBlock(b, name)) > 0
				r.late = r.late[:late]
			}
			return true
		}
		return false
	})
	return found
}

// staticOf finds a static variable in the code made of an abstract function.
func (s *scope) staticOf(fn die, name string) (die, bool) {
	for _, f := range fn.u.functions().fns {
		if f.d.off == fn.off || f.d.declaration().key() != fn.declaration().key() {
			continue
		}
		if d, ok := f.tree().anywhere(name); ok && d.fixed() {
			return d, true
		}
	}
	return die{}, false
}
