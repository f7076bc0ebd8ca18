package btf

import (
	"fmt"
	"strings"

	ebtf "github.com/cilium/ebpf/btf"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// named returns the unit's own types of that name for which want holds, in the
// order of the BTF; none when the BTF cannot be read.
func (u *unit) named(name string, want func(ebtf.Type) bool) (out []ebtf.Type) {
	var err error
	defer guard(&err)
	spec, err := u.spec()
	if err != nil {
		return nil
	}
	var all []ebtf.Type
	if strings.HasPrefix(name, "___") {
		all = u.scan(name)
	} else if all, err = spec.AnyTypesByName(name); err != nil {
		return nil
	}
	for _, t := range all {
		if t.TypeName() == name && want(t) {
			out = append(out, t)
		}
	}
	return out
}

// scan is for names that begin with three underscores. The library takes what
// follows as the mark of a version of a type, and finds none of them; for names
// that have them in the middle it gives others too.
func (u *unit) scan(name string) (out []ebtf.Type) {
	x, err := u.index()
	if err != nil {
		return nil
	}
	for _, id := range x.find(name) {
		if t, err := u.byID(id); err == nil {
			out = append(out, t)
		}
	}
	return out
}

// byID returns a type of the unit.
func (u *unit) byID(id ebtf.TypeID) (t ebtf.Type, err error) {
	defer guard(&err)
	spec, err := u.spec()
	if err != nil {
		return nil, err
	}
	return spec.TypeByID(id)
}

// id is the number of a type in the unit's BTF.
func (u *unit) id(t ebtf.Type) ebtf.TypeID {
	spec, err := u.spec()
	if err != nil {
		panic("BUG: btf: the id of a type of a unit that cannot be read")
	}
	id, err := spec.TypeID(t)
	if err != nil {
		panic("BUG: btf: the id of a type of another unit")
	}
	return id
}

type missKey struct {
	what ctype.Kind
	name string
}

// tagKinds are the BTF kinds that a type name of a ctype kind may be.
var tagKinds = map[ctype.Kind][]kind{
	ctype.Struct:  {kindStruct},
	ctype.Union:   {kindUnion},
	ctype.Enum:    {kindEnum, kindEnum64},
	ctype.Typedef: {kindTypedef, kindInt, kindFloat},
}

var kindWords = map[ctype.Kind]string{
	ctype.Struct: "struct", ctype.Union: "union", ctype.Enum: "enum", ctype.Typedef: "type",
}

// Type finds a type of the kernel: kind is Struct, Union or Enum for tags,
// Typedef for names of typedefs and base types. Of several types of one name
// (the kernel has some in different files) it is the first. The error is a
// *debuginfo.NotFoundError.
func (k *Kernel) Type(kind ctype.Kind, name string) (*ctype.Type, error) {
	return k.typeIn([]*unit{k.base}, kind, name)
}

func (k *Kernel) typeIn(units []*unit, kind ctype.Kind, name string) (*ctype.Type, error) {
	names := []string{name}
	if kind == ctype.Typedef {
		names = spellings(name)
	}
	for _, u := range units {
		for _, n := range names {
			if t := u.findType(kind, n); t != nil {
				return k.typeOf(u, t), nil
			}
		}
	}
	if t := builtin[names[0]]; t != nil && kind == ctype.Typedef {
		return t, nil
	}
	return nil, &debuginfo.NotFoundError{What: kindWords[kind], Name: name, Nearest: k.nearestTypes(kind, name)}
}

// findType prefers definitions to declarations.
func (u *unit) findType(kind ctype.Kind, name string) ebtf.Type {
	if name == "" {
		return nil
	}
	var declared ebtf.Type
	found := u.named(name, func(t ebtf.Type) bool {
		whole, is := isKind(t, kind)
		if is && !whole && declared == nil {
			declared = t
		}
		return whole
	})
	if len(found) > 0 {
		return found[0]
	}
	return declared
}

// isKind reports whether a type is of a kind in the sense of Type, and whether
// it is a definition.
func isKind(t ebtf.Type, kind ctype.Kind) (whole, is bool) {
	switch t := t.(type) {
	case *ebtf.Struct:
		is = kind == ctype.Struct
	case *ebtf.Union:
		is = kind == ctype.Union
	case *ebtf.Enum:
		is = kind == ctype.Enum
		return is && len(t.Values) > 0, is
	case *ebtf.Fwd:
		return false, kind == ctype.Struct && t.Kind == ebtf.FwdStruct || kind == ctype.Union && t.Kind == ebtf.FwdUnion
	case *ebtf.Typedef, *ebtf.Int, *ebtf.Float:
		is = kind == ctype.Typedef
	}
	return is, is
}

// nearestTypes lists names of the kernel's types that look like name. Every word
// of an expression is asked for as a type first, so answers are kept.
func (k *Kernel) nearestTypes(kind ctype.Kind, name string) []string {
	key := missKey{kind, name}
	k.mu.Lock()
	known, ok := k.misses[key]
	k.mu.Unlock()
	if ok {
		return known
	}
	var near []string
	if x, err := k.base.index(); err == nil {
		near = debuginfo.Nearest(name, x.list(debuginfo.Like(name), tagKinds[kind]...), 5)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.misses) > 10_000 {
		clear(k.misses)
	}
	k.misses[key] = near
	return near
}

// Enumerator finds a constant of the kernel's enumerations; of several of one
// name the first.
func (k *Kernel) Enumerator(name string) (*ctype.Type, int64, bool) {
	return k.enumeratorIn([]*unit{k.base}, name)
}

func (k *Kernel) enumeratorIn(units []*unit, name string) (*ctype.Type, int64, bool) {
	for _, u := range units {
		x, err := u.index()
		if err != nil {
			continue
		}
		id, ok := x.enums[name]
		if !ok {
			continue
		}
		t, err := u.byID(id)
		e, isEnum := t.(*ebtf.Enum)
		if err != nil || !isEnum {
			continue
		}
		c := k.typeOf(u, e)
		for _, v := range c.Enumerators() {
			if v.Name == name {
				return c, v.Value, true
			}
		}
	}
	return nil, 0, false
}

// Named finds a type by what C writes for it: "struct page", "enum pid_type",
// "gfp_t", "unsigned long"; nil when there is none.
func (k *Kernel) Named(name string) *ctype.Type {
	kind := ctype.Typedef
	if tag, rest, ok := strings.Cut(name, " "); ok {
		for c, w := range kindWords {
			if w == tag {
				kind, name = c, strings.TrimSpace(rest)
			}
		}
	}
	t, err := k.typeIn([]*unit{k.base}, kind, name)
	if err != nil {
		return nil
	}
	return t
}

// EnumValue is the value of an enumeration constant of the kernel.
func (k *Kernel) EnumValue(name string) (int64, bool) {
	_, v, ok := k.Enumerator(name)
	return v, ok
}

// MemberOffset returns the offset in bytes of a member of a struct or union of
// the kernel. Path is a list of members joined by dots ("thread.fsbase");
// members of anonymous structs and unions count as their owner's. Bit-fields
// have no such offset.
func (k *Kernel) MemberOffset(tag, path string) (int64, error) {
	t, err := k.Type(ctype.Struct, tag)
	if err != nil {
		if t, err = k.Type(ctype.Union, tag); err != nil {
			return 0, err
		}
	}
	off := int64(0)
	for _, name := range strings.Split(path, ".") {
		f, at, ok := member(t, name, 0)
		switch {
		case !ok:
			return 0, &debuginfo.NotFoundError{What: "member", Name: path, Hint: fmt.Sprintf("struct %s has no such member here", tag)}
		case f.BitSize != 0:
			return 0, fmt.Errorf("member %q of struct %s is a bit-field", path, tag)
		}
		off += at / 8
		t = f.Type
	}
	return off, nil
}

func member(t *ctype.Type, name string, depth int) (f ctype.Field, bits int64, ok bool) {
	for _, f := range t.Strip().Fields() {
		if f.Name == name && name != "" {
			return f, f.BitOffset, true
		}
		if f.Name == "" && depth < 32 {
			if g, at, ok := member(f.Type, name, depth+1); ok {
				return g, f.BitOffset + at, true
			}
		}
	}
	return f, 0, false
}

// notFound makes the error for a name of the kernel: nearest is found among the
// names of kinds that begin with prefix, in the kernel and the modules read so far.
func (k *Kernel) notFound(what, prefix, name string, kinds ...kind) *debuginfo.NotFoundError {
	e := &debuginfo.NotFoundError{What: what, Name: name}
	x, err := k.base.index()
	if err != nil {
		return e
	}
	similar := debuginfo.Like(name)
	list := x.list(func(s string) bool {
		return strings.HasPrefix(s, prefix) && similar(s[len(prefix):])
	}, kinds...)
	for i := range list {
		list[i] = list[i][len(prefix):]
	}
	e.Nearest = debuginfo.Nearest(name, list, 5)
	return e
}
