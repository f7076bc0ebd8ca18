package dwarf

import (
	"sort"
	"strings"
)

// globMatch matches shell patterns: * any text, ? one byte, [a-z] a class. A
// malformed class matches itself literally.
func globMatch(pat, s string) bool {
	pi, si, star, mark := 0, 0, -1, 0
	for si < len(s) {
		if pi < len(pat) && pat[pi] == '*' {
			star, mark = pi, si
			pi++
			continue
		}
		if pi < len(pat) {
			if n, ok := matchOne(pat[pi:], s[si]); ok {
				pi, si = pi+n, si+1
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		pi, si = star+1, mark
	}
	return strings.Trim(pat[pi:], "*") == ""
}

// matchOne matches one pattern element, n bytes long, against c.
func matchOne(pat string, c byte) (n int, ok bool) {
	switch pat[0] {
	case '?':
		return 1, true
	case '[':
		end := strings.IndexByte(pat[1:], ']')
		if end > 0 {
			return end + 2, inClass(pat[1:1+end], c)
		}
	}
	return 1, pat[0] == c
}

func inClass(class string, c byte) bool {
	neg := class[0] == '!' || class[0] == '^'
	if neg {
		class = class[1:]
	}
	found := false
	for i := 0; i < len(class); i++ {
		if i+2 < len(class) && class[i+1] == '-' {
			found = found || class[i] <= c && c <= class[i+2]
			i += 2
			continue
		}
		found = found || class[i] == c
	}
	return found != neg
}

// nearest returns up to n candidates that look like name, best first.
func nearest(name string, candidates []string, n int) []string {
	type scored struct {
		s string
		d int
	}
	limit := max(2, len(name)/3)
	seen := map[string]bool{}
	var list []scored
	for _, c := range candidates {
		if c == "" || seen[c] || abs(len(c)-len(name)) > max(limit, 12) {
			continue
		}
		seen[c] = true
		d := distance(name, c, limit)
		if strings.Contains(strings.ToLower(c), strings.ToLower(name)) && len(name) >= 3 {
			d = min(d, 1+(len(c)-len(name))/4)
		}
		if d <= limit {
			list = append(list, scored{c, d})
		}
	}
	sort.SliceStable(list, func(i, j int) bool {
		if list[i].d != list[j].d {
			return list[i].d < list[j].d
		}
		return list[i].s < list[j].s
	})
	var out []string
	for i := 0; i < len(list) && i < n; i++ {
		out = append(out, list[i].s)
	}
	return out
}

// distance is the edit distance of two names, limit+1 when it is larger.
func distance(a, b string, limit int) int {
	if abs(len(a)-len(b)) > limit || len(a) > 200 {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag, best := row[0], i
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diag
			if a[i-1] != b[j-1] {
				cost++
			}
			diag, row[j] = row[j], min(cost, row[j]+1, row[j-1]+1)
			best = min(best, row[j])
		}
		if best > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
