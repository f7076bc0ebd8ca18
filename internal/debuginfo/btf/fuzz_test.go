package btf

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
)

// FuzzParse reads raw BTF of a kernel and a module, and everything in them.
func FuzzParse(f *testing.F) {
	w, m := handmade()
	f.Add(w.bytes(), m.bytes())
	f.Add(m.bytes(), w.bytes())
	f.Add([]byte{}, []byte{0x9f, 0xeb, 1, 0, 24, 0, 0, 0})
	f.Fuzz(func(t *testing.T, base, module []byte) {
		if len(base)+len(module) > 1<<16 {
			return
		}
		k, err := Parse(base, map[string][]byte{"m": module})
		if err != nil {
			return
		}
		everything(k)
	})
}

func everything(k *Kernel) {
	any := func(string) bool { return true }
	var walk func(c *ctype.Type, depth int)
	seen := map[*ctype.Type]bool{}
	walk = func(c *ctype.Type, depth int) {
		if c == nil || depth == 0 || seen[c] {
			return
		}
		seen[c] = true
		walk(c.Strip(), depth-1)
		walk(c.Elem, depth-1)
		for _, f := range c.Fields() {
			walk(f.Type, depth-1)
		}
		for _, p := range c.Params {
			walk(p, depth-1)
		}
		c.Enumerators()
	}
	scope := k.newScope("", k.all()...)
	for _, u := range k.all() {
		x, err := u.open()
		if err != nil {
			continue
		}
		for kind, btfKinds := range tagKinds {
			for _, n := range x.List(any, btfKinds...) {
				if c, err := scope.Type(kind, n); err == nil {
					walk(c, 1000)
				}
				_, _ = k.MemberOffset(n, n+"."+n)
			}
		}
		for _, n := range x.List(any, raw.Func) {
			for _, in := range []string{"", "m"} {
				for _, v := range k.EntryScope(n, in).Args() {
					walk(v.Type, 1000)
				}
				k.ReturnScope(n, in)
				_, _ = k.FexitScope(n, in)
			}
		}
		for id := range raw.ID(x.Len() + 2) {
			if t := x.Type(id); isEnum(&t) {
				for _, v := range t.Values() {
					scope.Enumerator(v.Name)
				}
			}
			walk(k.typeOf(x.Type(id)), 1000)
		}
		for n := range x.PerCPUs() {
			_, _ = scope.Lookup(n)
		}
	}
	names, _ := k.Tracepoints("*")
	for _, n := range names {
		_, _ = k.TracepointScope(n)
	}
}
