package raw

import (
	"hash/maphash"
	"slices"
)

// table finds numbers by names: a hash of heads of chains. Numbers are kept with 1 added.
type table struct{ heads, next []uint32 }

var seed = maphash.MakeSeed()

// newTable is for the names of 0 to n-1; nothing is found by an empty one.
func newTable(n int, name func(i int) string) *table {
	size := 1
	for size < n {
		size *= 2
	}
	t := &table{heads: make([]uint32, size), next: make([]uint32, n)}
	for i := n - 1; i >= 0; i-- { // so chains go upwards
		if s := name(i); s != "" {
			h := &t.heads[maphash.String(seed, s)&uint64(size-1)]
			t.next[i], *h = *h, uint32(i+1)
		}
	}
	return t
}

// chain begins the chain that the numbers of a name are in.
func (t *table) chain(name string) uint32 {
	return t.heads[maphash.String(seed, name)&uint64(len(t.heads)-1)]
}

// few lookups compare the names of all types; more than few are worth a table, which
// takes as long to make as these.
const few = 8

func (x *BTF) makeNamed() *table {
	return newTable(len(x.names), func(i int) string {
		if x.names[i] == 0 {
			return ""
		}
		return x.str(x.names[i])
	})
}

// is reports whether the string at an offset is name.
func (x *BTF) is(off uint32, name string) bool {
	b := x.strings
	if x.base != nil {
		if off < uint32(len(x.base.strings)) {
			return x.base.is(off, name)
		}
		off -= uint32(len(x.base.strings))
	}
	end := uint64(off) + uint64(len(name))
	return end < uint64(len(b)) && b[end] == 0 && string(b[off:end]) == name
}

// Named returns the named types of this BTF only (not of its base), in the order of the BTF, of the given
// kinds; of all kinds if none is given.
func (x *BTF) Named(name string, kinds ...Kind) []Type {
	if name == "" {
		return nil
	}
	var out []Type
	for _, i := range x.withName(name) {
		if len(kinds) == 0 || slices.Contains(kinds, x.kinds[i]) {
			out = append(out, x.Type(x.first+ID(i)))
		}
	}
	return out
}

// withName are the numbers of the types of a name. What was found before is found again without a search: a few structures are asked for
// again and again.
func (x *BTF) withName(name string) (list []uint32) {
	if known, ok := x.known.Load(name); ok {
		return known.([]uint32)
	}
	if x.asked.Add(1) <= few {
		for i, off := range x.names {
			if off != 0 && x.is(off, name) {
				list = append(list, uint32(i))
			}
		}
		x.known.Store(name, list)
		return list
	}
	t := x.named()
	for n := t.chain(name); n != 0; n = t.next[n-1] {
		if x.is(x.names[n-1], name) {
			list = append(list, n-1)
		}
	}
	return list
}

// List returns the names of the types of the given kinds for which keep returns true, of this BTF only (not
// of its base), sorted, without duplicates.
func (x *BTF) List(keep func(string) bool, kinds ...Kind) []string {
	var out []string
	for i, name := range x.names {
		if name == 0 || !slices.Contains(kinds, x.kinds[i]) {
			continue
		}
		if s := x.str(name); s != "" && keep(s) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
