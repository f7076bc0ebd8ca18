package tracepoint

import (
	"fmt"
	"sort"
	"strings"

	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// Skipped counts the skipped addresses of a tracepoint, by reason.
type Skipped struct {
	N     int
	First error
	by    map[string]*reason
}

// reason is one cause, in the words for the first address.
type reason struct {
	n     int
	text  string
	order int
}

// variable matches the parts that differ between addresses with the same cause.
var variable = lazyregexp.New(`0x[0-9a-f]+|\b[0-9]+\b`)

// Add counts one more address. Reasons that differ only in numbers count as one.
func (l *Skipped) Add(err error) {
	l.AddText(firstLine(err))
	if l.First == nil {
		l.First = err
	}
}

// AddText is Add for a reason without an error.
func (l *Skipped) AddText(text string) {
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

// shownReasons is the number of reasons in a message.
const shownReasons = 4

// Text returns a message with the numbers of all and of skipped addresses, and the most frequent reasons, each
// in the words for its first address.
func (l *Skipped) Text(of int) string {
	return fmt.Sprintf("%d of %d addresses are skipped: ", l.N, of) + l.Reasons()
}

// Reasons returns the most frequent reasons, with the number of addresses for each if there are several
// reasons.
func (l *Skipped) Reasons() string {
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
			parts = append(parts, fmt.Sprintf("%d for other reasons (-v lists all)", rest))
			break
		}
		parts = append(parts, fmt.Sprintf("%d (%s)", r.n, r.text))
		rest -= r.n
	}
	return strings.Join(parts, ", ")
}

// firstLine returns a diagnostic without its excerpt.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, "error: ")
}
