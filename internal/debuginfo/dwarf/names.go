package dwarf

import (
	"slices"
	"sort"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
)

// Names with scopes: namespaces and classes around an entry.

// declContext is an entry with what is around it: namespaces, classes, enumerations, functions.
type declContext struct{ die }

// context gives access to what is around the entry.
func (d die) context() declContext { return declContext{d} }

// names returns the names of the scopes around an entry, outermost first:
// namespaces and classes. C has none.
func (d declContext) names() []string {
	if o, ok := d.origin(); ok { // the declaration is where the scopes are
		if d.u != o.u || d.off != o.off {
			return o.context().namesAfter(1)
		}
	}
	return d.namesAfter(0)
}

func (d declContext) namesAfter(n int) []string {
	if o, ok := d.origin(); ok && n < 8 {
		return o.context().namesAfter(n + 1)
	}
	if d.u.isC() {
		return nil
	}
	var names []string
	for _, sp := range d.spans() {
		unnamed := sp.name == "" && sp.d.ab.tag == tagEnumerationType // its constants are where it is
		if sp.d.ab.tag != tagSubprogram && !unnamed && len(names) < maxDepth {
			names = append(names, sp.name)
		}
	}
	return names
}

// scopeSpan is a namespace, class, enumeration or function, with the range of its entries. Functions are
// not entered: a declaration in a function has the function as its innermost span.
type scopeSpan struct {
	hi   uint64
	name string
	d    die
	up   int // index of the span around it, -1 for none
}

// anonymousName is the name of a namespace without one.
const anonymousName = "(anonymous namespace)"

// scopeSpans lists the unit's spans in file order.
func (n *unitNames) scopeSpans() []scopeSpan {
	n.spanOnce.Do(func() {
		root, ok := n.u.rootDie()
		if !ok {
			return
		}
		var open []struct{ span, depth int }
		root.walk(func(e die, depth int) bool {
			for k := len(open); k > 0 && open[k-1].depth >= depth; k-- {
				n.spans[open[k-1].span].hi = e.off
				open = open[:k-1]
			}
			switch e.ab.tag {
			case tagNamespace, tagStructType, tagClassType, tagUnionType, tagInterfaceType, tagModule, tagEnumerationType:
			case tagSubprogram:
				if !e.ab.children {
					return false
				}
			default:
				return false
			}
			sp := scopeSpan{hi: e.off + 1, d: e, up: -1}
			if e.ab.tag != tagSubprogram {
				sp.name = e.name()
			}
			if sp.name == "" && e.ab.tag == tagNamespace {
				sp.name = anonymousName
			}
			if len(open) > 0 {
				sp.up = open[len(open)-1].span
			}
			if e.ab.children {
				open = append(open, struct{ span, depth int }{len(n.spans), depth})
				sp.hi = n.u.end
			}
			n.spans = append(n.spans, sp)
			return e.ab.tag != tagEnumerationType && e.ab.tag != tagSubprogram
		})
	})
	return n.spans
}

// spans lists the spans that an entry lies in, outermost first. A type that is
// defined outside of the scope that declares it (in a type unit they all are) lies in
// that scope.
func (d declContext) spans() []*scopeSpan {
	var out []*scopeSpan
	for range 8 {
		if decl, ok := d.ref(atSpecification); ok && isTypeTag(d.ab.tag) {
			d.die = decl
		}
		list := d.u.scopeSpans()
		i := sort.Search(len(list), func(i int) bool { return list[i].d.off >= d.off }) - 1
		for ; i >= 0; i = list[i].up {
			if d.off < list[i].hi {
				out = append(out, &list[i])
			}
		}
		if len(out) == 0 || d.key() == out[len(out)-1].d.key() || !out[len(out)-1].d.ab.has(atSpecification) {
			break
		}
		d.die = out[len(out)-1].d
	}
	slices.Reverse(out)
	return out
}

// qualified is the entry's name with its scopes: ns::Class::f.
func (d declContext) qualified() string {
	return strings.Join(append(d.names(), d.name()), "::")
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

// endIn reports whether the entry's scopes end in the requested ones.
func (d declContext) endIn(want []string) bool {
	if len(want) > 0 && want[0] == "" { // ::f
		want = want[1:]
	}
	if len(want) == 0 {
		return true
	}
	have := d.names()
	if len(have) < len(want) {
		return false
	}
	have = have[len(have)-len(want):]
	for i := range want {
		if !sameName(have[i], want[i]) && string(index.Bare([]byte(have[i]))) != want[i] {
			return false
		}
	}
	return true
}
