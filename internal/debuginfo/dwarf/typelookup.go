package dwarf

import (
	"slices"
	"sort"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Types and enumerators by name.

// typeTags are the tags that a kind of type name may have.
func typeTags(kind ctype.Kind, c bool) []uint16 {
	switch kind {
	case ctype.Struct:
		return []uint16{tagStructType, tagClassType, tagInterfaceType}
	case ctype.Union:
		return []uint16{tagUnionType}
	case ctype.Enum:
		return []uint16{tagEnumerationType}
	}
	if c {
		return []uint16{tagTypedef, tagBaseType}
	}
	return []uint16{tagTypedef, tagBaseType, tagTemplateAlias, tagStructType, tagClassType, tagUnionType, tagEnumerationType}
}

// findType finds a type's entry: in the blocks, the unit, then the program;
// complete ones before declarations. Types of other units that differ are ambiguous.
func (fi *finder) findType(kind ctype.Kind, name string) (found die, ok bool, err error) {
	if fi.u == nil {
		return die{}, false, nil
	}
	parts := splitName(name)
	last, scopes := parts[len(parts)-1], parts[:len(parts)-1]
	tags := typeTags(kind, fi.u.isC())
	var decl die
	want := func(d die) bool {
		for _, t := range tags {
			if d.ab.tag == t && d.name() == last && d.context().endIn(scopes) {
				if d.flag(atDeclaration) {
					decl = d
					return false
				}
				return true
			}
		}
		return false
	}
	for _, b := range fi.chain() {
		for _, d := range b.types {
			if want(d) {
				return d, true, nil
			}
		}
	}
	if d, ok := fi.u.lookup(last, want); ok {
		return d, true, nil
	}
	var others []string
	fi.m.names().find(last, func(tag uint16) bool { return true }, func(d die) bool {
		switch {
		case !want(d):
		case !ok:
			found, ok = d, true
		case fi.u.isC() && d.u.isC() && !alike(found, d) && !slices.Contains(others, definedIn(d)):
			others = append(others, definedIn(d))
		}
		return (!ok || fi.u.isC()) && len(others) < maxCandidates
	})
	if len(others) > 0 {
		return found, false, &debuginfo.AmbiguousError{Name: name, Candidates: append([]string{definedIn(found)}, others...)}
	}
	if !ok && decl.ab != nil {
		return decl, true, nil
	}
	return found, ok, nil
}

// maxCandidates bounds the listed meanings of an ambiguous name.
const maxCandidates = 4

// findEnumerator finds a constant and its enumeration.
func (fi *finder) findEnumerator(name string) (d, enum die, ok bool) {
	for _, b := range fi.chain() {
		for _, t := range b.types {
			if t.ab.tag != tagEnumerationType {
				continue
			}
			for c := range t.children() {
				if c.ab.tag == tagEnumerator && c.name() == name {
					return c, t, true
				}
			}
		}
	}
	if fi.u == nil {
		return die{}, die{}, false
	}
	parts := splitName(name)
	last, scopes := parts[len(parts)-1], parts[:len(parts)-1]
	isIt := func(e die) bool { return e.ab.tag == tagEnumerator && e.context().endIn(scopes) }
	if d, ok = fi.u.lookup(last, isIt); !ok {
		fi.m.names().find(last, func(tag uint16) bool { return tag == tagEnumerator }, func(e die) bool {
			if isIt(e) {
				d, ok = e, true
			}
			return !ok
		})
	}
	if !ok {
		return die{}, die{}, false
	}
	enum, ok = d.enclosing(tagEnumerationType)
	return d, enum, ok
}

// enclosing is the innermost entry of that tag around d.
func (d die) enclosing(tag uint16) (out die, ok bool) {
	root, has := d.u.rootDie()
	for n := 0; has && n < maxDepth; n++ {
		var in die
		for c := range root.children() {
			if c.off > d.off {
				break
			}
			in = c
		}
		if in.ab == nil || in.off >= d.off {
			break
		}
		if in.ab.tag == tag {
			out, ok = in, true
		}
		root = in
	}
	return out, ok
}

func (fi *finder) typeNames(kind ctype.Kind) []string {
	if fi.u == nil {
		return nil
	}
	// Every word of an expression is first looked up as a type: at thousands of sites the search would be most
	// of the work.
	if known, ok := fi.u.typeWords.Load(kind); ok {
		return known.([]string)
	}
	tags := typeTags(kind, fi.u.isC())
	var out []string
	for n, offs := range fi.u.top() {
		if d, ok := fi.u.whole().dieAt(offs[0]); ok {
			for _, t := range tags {
				if d.ab.tag == t {
					out = append(out, n)
				}
			}
		}
	}
	sort.Strings(out)
	out = out[:len(out):len(out)]
	fi.u.typeWords.Store(kind, out)
	return out
}

// builtinType understands C's spellings of its own types in any order of words:
// "unsigned long", "long unsigned int", "short".
func builtinType(name string) *ctype.Type {
	n := map[string]int{}
	for _, w := range strings.Fields(name) {
		switch w {
		case "unsigned", "signed", "long", "short", "int", "char", "float", "double", "void", "_Bool", "bool":
			n[w]++
		default:
			return nil
		}
	}
	u := n["unsigned"] > 0
	pick := func(signed, unsigned *ctype.Type) *ctype.Type {
		if u {
			return unsigned
		}
		return signed
	}
	switch {
	case n["void"] > 0:
		return ctype.VoidT
	case n["_Bool"]+n["bool"] > 0:
		return ctype.BoolT
	case n["char"] > 0 && n["signed"] > 0:
		return ctype.SCharT
	case n["char"] > 0:
		return pick(ctype.CharT, ctype.UCharT)
	case n["double"] > 0 && n["long"] > 0:
		return &ctype.Type{Kind: ctype.Float, Name: "long double", Size: 16}
	case n["double"] > 0:
		return ctype.DoubleT
	case n["float"] > 0:
		return ctype.FloatT
	case n["short"] > 0:
		return pick(ctype.ShortT, ctype.UShortT)
	case n["long"] > 1:
		return pick(ctype.LLongT, ctype.ULLongT)
	case n["long"] > 0:
		return pick(ctype.LongT, ctype.ULongT)
	case n["int"]+n["signed"]+n["unsigned"] > 0:
		return pick(ctype.IntT, ctype.UIntT)
	}
	return nil
}
