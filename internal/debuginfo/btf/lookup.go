package btf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
)

// named returns the unit's own types of that name and of some kinds, in the order of the
// BTF; none when the BTF cannot be read.
func (u *unit) named(name string, kinds ...raw.Kind) []raw.Type {
	x, err := u.open()
	if err != nil {
		return nil
	}
	return x.Named(name, kinds...)
}

// tagKinds are the BTF kinds that a type name of a ctype kind may be.
var tagKinds = map[ctype.Kind][]raw.Kind{
	ctype.Struct:  {raw.Struct},
	ctype.Union:   {raw.Union},
	ctype.Enum:    {raw.Enum, raw.Enum64},
	ctype.Typedef: {raw.Typedef, raw.Int, raw.Float},
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
			if t, ok := u.findType(kind, n); ok {
				return k.typeOf(t), nil
			}
		}
	}
	if t := builtin[names[0]]; t != nil && kind == ctype.Typedef {
		return t, nil
	}
	return nil, &debuginfo.NotFoundError{What: kindWords[kind], Name: name, Explain: func(e *debuginfo.NotFoundError) {
		e.Nearest = k.nearest("", name, tagKinds[kind]...)
	}}
}

// findType prefers definitions to declarations.
func (u *unit) findType(kind ctype.Kind, name string) (found raw.Type, ok bool) {
	for _, t := range u.named(name, append(tagKinds[kind][:len(tagKinds[kind]):len(tagKinds[kind])], raw.Fwd)...) {
		whole, is := isKind(&t, kind)
		if whole {
			return t, true
		}
		if is && !ok {
			found, ok = t, true
		}
	}
	return found, ok
}

// isKind reports whether a type is of a kind in the sense of Type, and whether
// it is a definition.
func isKind(t *raw.Type, kind ctype.Kind) (whole, is bool) {
	switch {
	case t.Kind == raw.Fwd && t.Flag:
		return false, kind == ctype.Union
	case t.Kind == raw.Fwd:
		return false, kind == ctype.Struct
	}
	is = slices.Contains(tagKinds[kind], t.Kind)
	return is && (!isEnum(t) || t.Entries() > 0), is
}

// Enumerator finds a constant of the kernel's enumerations; of several of one
// name the first.
func (k *Kernel) Enumerator(name string) (*ctype.Type, int64, bool) {
	return k.enumeratorIn([]*unit{k.base}, name)
}

func (k *Kernel) enumeratorIn(units []*unit, name string) (*ctype.Type, int64, bool) {
	for _, u := range units {
		x, err := u.open()
		if err != nil {
			continue
		}
		t, ok := x.Enumeration(name)
		if !ok {
			continue
		}
		c := k.typeOf(t)
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
		f, at, ok := t.Strip().CMember(name)
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

// notFound makes the error for a name of the kernel.
func (k *Kernel) notFound(what, prefix, name string, kinds ...raw.Kind) *debuginfo.NotFoundError {
	return &debuginfo.NotFoundError{What: what, Name: name, Explain: func(e *debuginfo.NotFoundError) {
		e.Nearest = k.nearest(prefix, name, kinds...)
	}}
}

// nearest are names near to one among the kernel's names of kinds that begin with prefix,
// which is taken off.
func (k *Kernel) nearest(prefix, name string, kinds ...raw.Kind) []string {
	x, err := k.base.open()
	if err != nil {
		return nil
	}
	similar := debuginfo.Like(name)
	list := x.List(func(s string) bool {
		return strings.HasPrefix(s, prefix) && similar(s[len(prefix):])
	}, kinds...)
	for i := range list {
		list[i] = list[i][len(prefix):]
	}
	return debuginfo.Nearest(name, list, 5)
}

// TypeNames lists the names of the kernel's types with a tag (struct, union, enum), sorted.
func (k *Kernel) TypeNames(tag string) ([]string, error) {
	for kind, w := range kindWords {
		if w == tag {
			return k.list([]*unit{k.base}, "", "*", tagKinds[kind]...)
		}
	}
	return nil, fmt.Errorf("%q is not the tag of types", tag)
}
