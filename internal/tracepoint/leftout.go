package tracepoint

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// LeftOut counts the addresses of a tracepoint that are not traced, by reason.
type LeftOut struct {
	N     int
	First error
	by    map[string]*reason
}

// reason is one cause, as the first address had it.
type reason struct {
	n     int
	text  string
	order int
}

// variable is what differs between addresses with the same cause.
var variable = regexp.MustCompile(`0x[0-9a-f]+|\b[0-9]+\b`)

// Add notes one more address. Reasons that differ in numbers only count as one.
func (l *LeftOut) Add(err error) {
	l.AddText(firstLine(err))
	if l.First == nil {
		l.First = err
	}
}

// AddText is Add for a reason without an error.
func (l *LeftOut) AddText(text string) {
	l.N++
	key := variable.ReplaceAllString(text, "#")
	if l.by == nil {
		l.by = map[string]*reason{}
	}
	r := l.by[key]
	if r == nil {
		r = &reason{text: text, order: len(l.by)}
		l.by[key] = r
	}
	r.n++
}

// shownReasons is how many reasons a message gives.
const shownReasons = 4

// Text says of how many addresses how many are left out, and why: the commonest
// reasons, with the words of the first address that has each.
func (l *LeftOut) Text(of int) string {
	return fmt.Sprintf("%d of %d addresses are left out: ", l.N, of) + l.Reasons()
}

// Reasons are the commonest, with how many addresses have each where there are several.
func (l *LeftOut) Reasons() string {
	list := make([]*reason, 0, len(l.by))
	for _, r := range l.by {
		list = append(list, r)
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].n != list[j].n {
			return list[i].n > list[j].n
		}
		return list[i].order < list[j].order
	})
	if len(list) == 1 {
		return list[0].text
	}
	var parts []string
	rest := l.N
	for i, r := range list {
		if i == shownReasons {
			parts = append(parts, fmt.Sprintf("%d for other reasons (-v names each)", rest))
			break
		}
		parts = append(parts, fmt.Sprintf("%d (%s)", r.n, r.text))
		rest -= r.n
	}
	return strings.Join(parts, ", ")
}

// firstLine is a diagnostic without its excerpt.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, "error: ")
}
