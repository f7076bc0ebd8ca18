package dwarf

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// index finds top-level entries by name over all units: definitions of
// functions, variables, types, and enumerators. Names are kept as hashes; a hit
// is verified against the entry itself.
type index struct {
	units []*unit
	ents  []indexEntry
	heads []int32 // by hash&mask: 1+ first entry
}

type indexEntry struct {
	off  uint64
	hash uint32
	unit int32
	next int32 // 1+ next entry of the bucket
	tag  uint16
}

// hash is FNV-1a.
func hashName(b []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

// bareName cuts template arguments off: f<int> is found as f.
func bareName(b []byte) []byte {
	if i := bytes.IndexByte(b, '<'); i > 0 && !bytes.HasPrefix(b, []byte("operator")) {
		return b[:i]
	}
	return b
}

// buildIndex scans the top levels of all units, in parallel.
func buildIndex(sets []*data) *index {
	x := &index{}
	for _, d := range sets {
		if d == nil {
			continue
		}
		d.scan()
		for s := range nSections {
			d.sec(s)
		}
		x.units = append(x.units, d.units...)
		x.units = append(x.units, d.tunits...)
	}
	parts := make([][]indexEntry, len(x.units))
	var wg sync.WaitGroup
	var next struct {
		sync.Mutex
		i int
	}
	for range min(runtime.GOMAXPROCS(0), 8, len(x.units)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() { _ = recover() }() // damaged data: names are missing
			for {
				next.Lock()
				i := next.i
				next.i++
				next.Unlock()
				if i >= len(x.units) {
					return
				}
				parts[i] = scanNames(x.units[i].whole(), int32(i))
			}
		}()
	}
	wg.Wait()
	x.link(parts)
	return x
}

func (x *index) link(parts [][]indexEntry) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	x.ents = make([]indexEntry, 0, n)
	for _, p := range parts {
		x.ents = append(x.ents, p...)
	}
	size := 1
	for size < n {
		size *= 2
	}
	x.heads = make([]int32, size)
	for i := len(x.ents) - 1; i >= 0; i-- {
		h := &x.heads[x.ents[i].hash&uint32(size-1)]
		x.ents[i].next, *h = *h, int32(i+1)
	}
}

// scanNames lists the names that one unit defines.
func scanNames(u *unit, id int32) []indexEntry {
	root, ok := u.rootDie()
	if !ok {
		return nil
	}
	scoped := !u.isC()
	var out []indexEntry
	add := func(e die, name []byte) {
		if len(name) > 0 {
			out = append(out, indexEntry{off: e.off, hash: hashName(bareName(name)), unit: id, tag: e.ab.tag})
		}
	}
	root.walk(func(e die, _ int) bool {
		switch e.ab.tag {
		case tagSubprogram:
			if !e.ab.has(atDeclaration) {
				add(e, e.nameBytes())
			}
		case tagVariable:
			if !e.ab.has(atDeclaration) {
				add(e, e.nameBytes())
			}
		case tagEnumerator:
			v, _ := e.attr(atName)
			add(e, v.strBytes())
		case tagEnumerationType:
			if !e.ab.has(atDeclaration) {
				v, _ := e.attr(atName)
				add(e, v.strBytes())
			}
			return true
		case tagStructType, tagClassType, tagUnionType, tagInterfaceType:
			if !e.ab.has(atDeclaration) {
				v, _ := e.attr(atName)
				add(e, v.strBytes())
			}
			return scoped
		case tagTypedef, tagBaseType, tagUnspecifiedType:
			v, _ := e.attr(atName)
			add(e, v.strBytes())
		case tagNamespace, tagModule:
			return true
		}
		return false
	})
	return out
}

// find visits the entries of that bare name whose tag is wanted.
func (x *index) find(name string, want func(tag uint16) bool, visit func(e die) bool) {
	bare := bareName([]byte(name))
	h := hashName(bare)
	if len(x.heads) == 0 {
		return
	}
	for i := x.heads[h&uint32(len(x.heads)-1)]; i != 0; i = x.ents[i-1].next {
		e := &x.ents[i-1]
		if e.hash != h || !want(e.tag) {
			continue
		}
		d, ok := x.units[e.unit].whole().dieAt(e.off)
		if !ok {
			continue
		}
		n := d.nameBytes()
		if string(n) != name && !(len(bare) == len(name) && string(bareName(n)) == name) {
			continue
		}
		if !visit(d) {
			return
		}
	}
}

// each visits all entries whose tag is wanted.
func (x *index) each(want func(tag uint16) bool, visit func(e die)) {
	for i := range x.ents {
		if want(x.ents[i].tag) {
			if d, ok := x.units[x.ents[i].unit].whole().dieAt(x.ents[i].off); ok {
				visit(d)
			}
		}
	}
}

func isFuncTag(t uint16) bool { return t == tagSubprogram }
func isVarTag(t uint16) bool  { return t == tagVariable }

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
