package dwarf

import "strings"

// Names with scopes: namespaces and classes around an entry.

// parents returns the names of the scopes around an entry, outermost first:
// namespaces and classes. C has none.
func (d die) parents() []string {
	if o, ok := d.origin(); ok { // the declaration is where the scopes are
		if d.u != o.u || d.off != o.off {
			return o.parents1(1)
		}
	}
	return d.parents1(0)
}

func (d die) parents1(n int) []string {
	if o, ok := d.origin(); ok && n < 8 {
		return o.parents1(n + 1)
	}
	if d.u.isC() {
		return nil
	}
	var names []string
	for _, sp := range d.u.scopeSpans() {
		if sp.lo >= d.off {
			break
		}
		if d.off < sp.hi && len(names) < maxDepth {
			names = append(names, sp.name)
		}
	}
	return names
}

// scopeSpan is a namespace or class and where its entries are.
type scopeSpan struct {
	lo, hi uint64
	name   string
}

// scopeSpans lists the unit's namespaces and classes in file order, so that an
// outer one comes before those in it.
func (u *unit) scopeSpans() []scopeSpan {
	u.spanOnce.Do(func() {
		root, ok := u.rootDie()
		if !ok {
			return
		}
		var open []struct{ span, depth int }
		root.walk(func(e die, depth int) bool {
			for n := len(open); n > 0 && open[n-1].depth >= depth; n-- {
				u.spans[open[n-1].span].hi = e.off
				open = open[:n-1]
			}
			switch e.ab.tag {
			case tagNamespace, tagStructType, tagClassType, tagUnionType, tagInterfaceType, tagModule, tagEnumerationType:
			default:
				return false
			}
			name := e.name()
			if name == "" && e.ab.tag == tagNamespace {
				name = "(anonymous namespace)"
			}
			if e.ab.children {
				open = append(open, struct{ span, depth int }{len(u.spans), depth})
				u.spans = append(u.spans, scopeSpan{e.off, u.end, name})
			}
			return e.ab.tag != tagEnumerationType
		})
	})
	return u.spans
}

// qualified is the entry's name with its scopes: ns::Class::f.
func (d die) qualified() string {
	return strings.Join(append(d.parents(), d.name()), "::")
}

// splitName cuts a::b<c::d>::e into its components.
func splitName(s string) []string {
	var out []string
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<', '(':
			depth++
		case '>', ')':
			depth--
		case ':':
			if depth == 0 && i+1 < len(s) && s[i+1] == ':' {
				out = append(out, s[from:i])
				i++
				from = i + 1
			}
		}
	}
	return append(out, s[from:])
}

// inScopes tells whether the entry's scopes end in the wanted ones.
func (d die) inScopes(want []string) bool {
	if len(want) > 0 && want[0] == "" { // ::f
		want = want[1:]
	}
	if len(want) == 0 {
		return true
	}
	have := d.parents()
	if len(have) < len(want) {
		return false
	}
	have = have[len(have)-len(want):]
	for i := range want {
		if have[i] != want[i] && string(bareName([]byte(have[i]))) != want[i] {
			return false
		}
	}
	return true
}
