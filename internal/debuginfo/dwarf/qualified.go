package dwarf

import (
	"slices"
	"strings"
)

// qualified looks up qualified names such as a::b and ::x.
func (r *search) qualified(parts []string) ([]meaning, error) {
	q := &search{s: r.s, want: scopesOnly}
	if parts[0] == "" {
		return r.inSpace(nil, parts[1:])
	}
	first, err := q.unqualified(parts[0])
	if err != nil {
		return nil, err
	}
	if len(first) > 0 {
		m, err := q.one(parts[0], first)
		if err != nil {
			return nil, err
		}
		return r.inside(m, parts[1:])
	}
	path := r.home()
	for n := len(path); n >= 0; n-- { // namespaces of other units
		list, err := r.pathElsewhere(path[:n], parts)
		if err != nil || len(list) > 0 {
			return list, err
		}
	}
	return nil, nil
}

// home lists the namespaces around the function.
func (r *search) home() (path []string) {
	if chain := r.s.chain(); len(chain) > 0 {
		for _, sp := range chain[len(chain)-1].d.declaration().context().spans() {
			if t := sp.d.ab.tag; t != tagNamespace && t != tagModule {
				break
			}
			path = append(path, sp.name)
		}
	}
	return path
}

// pathElsewhere parses a::b::c as names of other units: first namespaces, then classes.
func (r *search) pathElsewhere(space, parts []string) ([]meaning, error) {
	for k := len(parts) - 1; k >= 0; k-- {
		q := r
		if k < len(parts)-1 {
			q = &search{s: r.s, want: scopesOnly}
		}
		in := append(slices.Clone(space), parts[:k]...)
		found := q.elsewhere(in, parts[k])
		if len(found) == 0 && k == len(parts)-1 && k > 0 {
			found = r.lastResort(parts[k], in)
		}
		if len(found) == 0 {
			continue
		}
		if k == len(parts)-1 {
			return found, nil
		}
		m, err := q.one(parts[k], found)
		if err != nil {
			return nil, err
		}
		return r.inside(m, parts[k+1:])
	}
	return nil, nil
}

// inSpace looks up the rest of a qualified name in a namespace.
func (r *search) inSpace(space, parts []string) ([]meaning, error) {
	q := r
	if len(parts) > 1 {
		q = &search{s: r.s, want: scopesOnly}
	}
	list := q.inSpaceOnly(space, parts[0], map[string]bool{})
	if len(list) == 0 {
		return r.pathElsewhere(space, parts)
	}
	if len(parts) == 1 {
		return list, nil
	}
	m, err := q.one(parts[0], list)
	if err != nil {
		return nil, err
	}
	list, err = r.inside(m, parts[1:])
	if err == nil && len(list) == 0 && m.d.ab.tag == tagNamespace {
		return r.pathElsewhere(space, parts)
	}
	return list, err
}

// inSpaceOnly is namespace.qual: a namespace's own names, else those that its
// using-directives nominate.
func (r *search) inSpaceOnly(space []string, name string, seen map[string]bool) []meaning {
	key := strings.Join(space, "::")
	if seen[key] || len(seen) > 1000 {
		return nil
	}
	seen[key] = true
	list := r.inUnit(space, name, inlineSpaces)
	if len(list) > 0 {
		return list
	}
	list = r.inUnit(space, name, allSpaces) // an unnamed namespace is used by its own
	for _, d := range r.s.unitDirectives() {
		if slices.Equal(d.at, space) {
			list = append(list, r.inSpaceOnly(d.target, name, seen)...)
		}
	}
	return list
}

// inside looks up the rest of a qualified name in a namespace, class or enumeration.
func (r *search) inside(m meaning, parts []string) ([]meaning, error) {
	switch d := m.d; d.ab.tag {
	case tagNamespace, tagModule:
		return r.inSpace(d.context().path(), parts)
	case tagEnumerationType:
		return r.constantOf(d, parts)
	}
	t := r.typeOf(m).Strip()
	d, ok := t.Ref.(die)
	if !ok {
		return nil, nil
	}
	if d.ab.tag == tagEnumerationType {
		return r.constantOf(d, parts)
	}
	q := r
	if len(parts) > 1 {
		q = &search{s: r.s, want: scopesOnly}
	}
	list, err := q.member(t, parts[0])
	if err != nil || len(list) == 0 || len(parts) == 1 {
		return list, err
	}
	return r.inside(list[0], parts[1:])
}

// constantOf finds a constant of an enumeration.
func (r *search) constantOf(d die, parts []string) ([]meaning, error) {
	if len(parts) > 1 || r.want != anything {
		return nil, nil
	}
	for c := range r.s.m.definition(d).children() {
		if c.ab.tag == tagEnumerator && c.name() == parts[0] {
			return []meaning{{d: c}}, nil
		}
	}
	return nil, nil
}
