package ctype

// Look-up of a member's name in a class and its bases: C++ [class.member.lookup].

// Found is the meaning of a name as a member of a class.
type Found struct {
	// Path leads from the class to the member: base classes, anonymous structs and unions, and, if Name is nil,
	// the data member itself.
	Path []Field
	Name *Name // set if it is not a data member
	In   *Type // the class that declares it
}

// Result is the result of a look-up.
type Result uint8

// The results.
const (
	Absent Result = iota
	Single
	// Ambiguous: the name matches declarations of several classes, or a data member of several sub-objects of
	// one class.
	Ambiguous
)

// maxNesting limits the depth of anonymous members and base classes, maxWork the steps of one look-up. If a
// limit is exceeded, the result is Ambiguous.
const (
	maxNesting = 32
	maxWork    = 1 << 20
)

// Loader returns the members of a class. The zero Loader returns those of the type.
type Loader func(*Type) ([]Field, []Name)

func (l Loader) of(t *Type) ([]Field, []Name) {
	if l != nil {
		return l(t)
	}
	return t.Fields(), t.Names()
}

// Member looks up name in class (or C struct) t. With types, names of objects and functions are ignored. If
// there are several results, Found is the first, and others are the classes of the rest.
func (t *Type) Member(name string, types bool, load Loader) (Found, Result, []*Type) {
	if t = t.Strip(); name == "" || t.Kind != Struct && t.Kind != Union {
		return Found{}, Absent, nil
	}
	s := &search{name: name, types: types, load: load}
	set := s.lookup(subobject{class: t}, 0)
	if s.over {
		return Found{}, Ambiguous, []*Type{t}
	}
	if len(set.subs) == 0 {
		return Found{}, Absent, nil
	}
	first := set.subs[0]
	f, _ := s.declares(first.class)
	f.Path = append(append([]Field(nil), first.path...), f.Path...)
	if f.In == nil {
		f.In = first.class
	}
	if set.ambiguous || len(set.subs) > 1 && f.Name == nil {
		var in []*Type
		for _, o := range set.subs {
			in = append(in, o.class)
		}
		return f, Ambiguous, in
	}
	return f, Single, nil
}

// Base finds the base class of t that is class b and returns the path to it. The result is Ambiguous if
// there are several such sub-objects.
func (t *Type) Base(b *Type, load Loader) (path []Field, res Result) {
	t, b = t.Strip(), b.Strip()
	s := &search{load: load}
	seen := map[string]bool{}
	s.eachBase(subobject{class: t}, 0, func(o subobject) bool {
		if SameClass(o.class, b) && !seen[o.key] {
			seen[o.key] = true
			if len(seen) == 1 {
				path = o.path
			}
		}
		return true
	})
	if s.over {
		return nil, Ambiguous
	}
	switch len(seen) {
	case 0:
		return nil, Absent
	case 1:
		return path, Single
	}
	return path, Ambiguous
}

// SameClass reports whether two types are the same class.
func SameClass(a, b *Type) bool {
	return a == b || a.Class != nil && a.Class == b.Class
}

// subobject is a class within the searched class. Two with equal keys are identical, because a virtual base is
// shared.
type subobject struct {
	class *Type
	path  []Field
	key   string
}

type search struct {
	name  string
	types bool
	load  Loader
	work  int
	over  bool // a limit was exceeded
}

// exhausted counts a step.
func (s *search) exhausted(depth int) bool {
	s.work++
	s.over = s.over || depth > maxNesting || s.work > maxWork
	return s.over
}

// set is S(f,C) of the standard: a declaration set, represented by its class, and the sub-objects in which it
// was found.
type set struct {
	subs      []subobject
	ambiguous bool
}

func (s *search) lookup(o subobject, depth int) set {
	if s.exhausted(depth) {
		return set{}
	}
	if _, ok := s.declares(o.class); ok {
		return set{subs: []subobject{o}}
	}
	var all set
	for _, b := range s.bases(o) {
		all = s.merge(all, s.lookup(b, depth+1))
	}
	return all
}

// merge implements paragraph 6: a set is hidden if each of its sub-objects is a base of a sub-object of the
// other set.
func (s *search) merge(a, b set) set {
	switch {
	case len(b.subs) == 0 || len(a.subs) > 0 && s.allBasesOf(b.subs, a.subs):
		return a
	case len(a.subs) == 0 || s.allBasesOf(a.subs, b.subs):
		return b
	}
	out := set{subs: append([]subobject(nil), a.subs...)}
	for _, o := range b.subs {
		if !has(out.subs, o.key) {
			out.subs = append(out.subs, o)
		}
	}
	out.ambiguous = a.ambiguous || b.ambiguous || !SameClass(a.subs[0].class, b.subs[0].class)
	return out
}

func has(list []subobject, key string) bool {
	for _, o := range list {
		if o.key == key {
			return true
		}
	}
	return false
}

// allBasesOf reports whether each of these is one of those, or a base class sub-object of one.
func (s *search) allBasesOf(these, those []subobject) bool {
	for _, o := range these {
		ok := false
		for _, d := range those {
			ok = ok || d.key == o.key
			if !ok {
				s.eachBase(d, 0, func(b subobject) bool {
					ok = ok || b.key == o.key
					return !ok
				})
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// eachBase visits all base class sub-objects of o, until visit returns false.
func (s *search) eachBase(o subobject, depth int, visit func(subobject) bool) bool {
	if s.exhausted(depth) {
		return false
	}
	for _, b := range s.bases(o) {
		if !visit(b) || !s.eachBase(b, depth+1, visit) {
			return false
		}
	}
	return true
}

// bases lists the direct base classes of o.
func (s *search) bases(o subobject) (out []subobject) {
	fields, _ := s.load.of(o.class)
	for i, f := range fields {
		if !f.Base || f.Type == nil {
			continue
		}
		b := subobject{class: f.Type.Strip(), path: append(append([]Field(nil), o.path...), f)}
		if f.Virtual {
			b.key = "virtual " + className(b.class)
		} else {
			b.key = o.key + "/" + string(rune('0'+i))
		}
		out = append(out, b)
	}
	return out
}

// className distinguishes the virtual bases of a class. Two classes of equal name without linkage can be bases
// of one class only through templates.
func className(t *Type) string { return t.Name }

// declares finds the name among the declarations of class t itself.
func (s *search) declares(t *Type) (Found, bool) {
	fields, names := s.load.of(t)
	if !s.types {
		if path := s.field(fields, 0); path != nil {
			return Found{Path: path}, true
		}
	}
	var typ *Name
	for i := range names {
		n := &names[i]
		if n.Name != s.name {
			continue
		}
		switch {
		case n.Kind == Using:
			if f, ok := s.used(t, n); ok {
				return f, true
			}
		case n.Kind == NestedType:
			typ = n
		case !s.types:
			return Found{Name: n}, true
		}
	}
	if typ != nil { // the name of an object hides that of a type
		return Found{Name: typ}, true
	}
	return Found{}, false
}

// field finds a data member, also in anonymous structs and unions.
func (s *search) field(fields []Field, depth int) []Field {
	for _, f := range fields {
		if f.Name == s.name && !f.Base {
			return []Field{f}
		}
	}
	if depth > maxNesting {
		return nil
	}
	for _, f := range fields {
		if f.Name != "" || f.Base || f.Type == nil {
			continue
		}
		in := f.Type.Strip()
		if in.Kind != Struct && in.Kind != Union {
			continue
		}
		inner, _ := s.load.of(in)
		if path := s.field(inner, depth+1); path != nil {
			return append([]Field{f}, path...)
		}
	}
	return nil
}

// used follows a using-declaration of class t to the base class that it names.
func (s *search) used(t *Type, n *Name) (Found, bool) {
	if n.Of == nil {
		return Found{}, false
	}
	f, ok := s.declares(n.Of)
	if !ok {
		return f, false
	}
	path, res := t.Base(n.Of, s.load)
	if res != Single {
		return f, false
	}
	f.Path = append(append([]Field(nil), path...), f.Path...)
	f.In = n.Of
	return f, true
}
