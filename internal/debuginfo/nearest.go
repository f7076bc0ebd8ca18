package debuginfo

import (
	"sort"
	"strings"
)

// limit is how many letters of a name may be wrong: a third, two at least.
func limit(name string) int { return max(2, len(name)/3) }

// Like is a cheap test that drops most of the names that Nearest would.
func Like(name string) func(string) bool {
	most := limit(name)
	return func(s string) bool {
		d := len(s) - len(name)
		return d <= most && d >= -most || len(name) >= 3 && d <= 12 && strings.Contains(s, name)
	}
}

// Nearest returns up to n of the candidates that name may be a misspelling or a
// part of, best first, then in alphabetical order.
func Nearest(name string, candidates []string, n int) []string {
	type near struct {
		name string
		dist int
	}
	var found []near
	most := limit(name)
	m := newMatcher(name)
	for _, c := range candidates {
		d := m.distance(c)
		if len(name) >= 3 && strings.Contains(c, name) {
			d = min(d, 1+(len(c)-len(name))/4)
		}
		if d <= most && d < max(len(name), len(c)) {
			found = append(found, near{c, d})
		}
	}
	sort.Slice(found, func(i, j int) bool {
		if found[i].dist != found[j].dist {
			return found[i].dist < found[j].dist
		}
		return found[i].name < found[j].name
	})
	var out []string
	for i := 0; i < len(found) && i < n; i++ {
		out = append(out, found[i].name)
	}
	return out
}

// matcher computes edit distances of one name to many, a bit for each of its
// letters (Myers 1999; the first 64 letters count).
type matcher struct {
	len  int
	mask [256]uint64
}

func newMatcher(name string) *matcher {
	name = name[:min(len(name), 64)]
	m := &matcher{len: len(name)}
	for i := range len(name) {
		m.mask[name[i]] |= 1 << i
	}
	return m
}

// distance is the number of letters to insert, delete or replace.
func (m *matcher) distance(s string) int {
	if m.len == 0 {
		return len(s)
	}
	// plus and minus are the differences down a column of the table of distances.
	plus, minus, d, last := ^uint64(0), uint64(0), m.len, uint64(1)<<(m.len-1)
	for i := range len(s) {
		eq := m.mask[s[i]]
		vert := eq | minus
		eq |= ((eq & plus) + plus) ^ plus
		up, down := minus|^(eq|plus), plus&eq
		switch {
		case up&last != 0:
			d++
		case down&last != 0:
			d--
		}
		up = up<<1 | 1
		plus, minus = down<<1|^(vert|up), up&vert
	}
	return d
}
