package lang

import (
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Nearest returns up to max candidates of which name may be a misspelling, best first. The measure is the
// number of edits (a swap of neighbours counts as one); differences in case are free. Equally good candidates
// are in alphabetical order.
func Nearest(name string, candidates []string, max int) []string {
	type near struct {
		name string
		dist int
	}
	// A third of the name may be wrong; of very short names one letter.
	limit := (utf8.RuneCountInString(name) + 2) / 3
	folded := strings.ToLower(name)
	seen := map[string]bool{name: true, "": true}
	var found []near
	for _, c := range candidates {
		if seen[c] {
			continue
		}
		seen[c] = true
		d := distance(name, c, limit)
		if strings.ToLower(c) == folded {
			d = 0
		}
		// A one-letter name with its letter changed is not a misspelling.
		if d <= limit && (d < utf8.RuneCountInString(name) || utf8.RuneCountInString(c) > d) {
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
	for _, n := range found {
		if len(out) == max {
			break
		}
		out = append(out, n.name)
	}
	return out
}

// DidYouMean returns a hint with the names from Nearest; "" for none.
func DidYouMean(names []string) string {
	if len(names) == 0 {
		return ""
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	last := len(quoted) - 1
	if last == 0 {
		return "did you mean " + quoted[0] + "?"
	}
	return "did you mean " + strings.Join(quoted[:last], ", ") + " or " + quoted[last] + "?"
}

// distance is the optimal string alignment distance (insert, delete, replace,
// swap neighbours) of two names in characters, or limit+1 when it is larger.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) > limit || len(y)-len(x) > limit {
		return limit + 1
	}
	before, prev, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		best := i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			d := min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
			best = min(best, d)
		}
		if best > limit {
			return limit + 1
		}
		before, prev, row = prev, row, before
	}
	return prev[len(y)]
}
