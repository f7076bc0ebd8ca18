package probe

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
)

// part is a piece of the place's text and where it starts.
type part struct {
	s  string
	lo int
}

func (t part) span() lang.Span { return lang.Span{Lo: t.lo, Hi: t.lo + len(t.s)} }

// cut returns the text before and after byte i.
func (t part) cut(i int) (part, part) {
	return part{t.s[:i], t.lo}, part{t.s[i+1:], t.lo + i + 1}
}

// split cuts at every colon.
func (t part) split() []part {
	var out []part
	for {
		i := strings.IndexByte(t.s, ':')
		if i < 0 {
			return append(out, t)
		}
		var head part
		head, t = t.cut(i)
		out = append(out, head)
	}
}

func (p *parser) kind(k *Kind, rest part) (*Place, error) {
	p.form = k.Form
	place := &Place{Text: strings.TrimSpace(p.text), Kind: k}
	if err := k.parse(p, place, rest); err != nil {
		return nil, err
	}
	return place, nil
}

// failAt points at one part. The default hint is the kind's notation.
func (p *parser) failAt(t part, msg, hint string) error {
	if hint == "" {
		hint = p.form
	}
	return lang.At("place", p.text, t.span(), msg, hint)
}

// parts splits rest into lo to hi parts.
func (p *parser) parts(rest part, lo, hi int) ([]part, error) {
	list := rest.split()
	switch {
	case len(list) > hi:
		last := list[len(list)-1]
		extra := list[hi]
		return nil, p.failAt(part{p.text[extra.lo : last.lo+len(last.s)], extra.lo}, "the place has too many parts", "")
	case len(list) < lo && rest.s != "":
		return nil, p.failAt(rest, "the place has too few parts", "")
	}
	for _, t := range list {
		if t.s == "" {
			return nil, p.fail("a part of the place is missing", p.form)
		}
	}
	return list, nil
}

// name checks that t is a name or a glob of names.
func (p *parser) name(t part, what string) (string, error) {
	if t.s == "" {
		return "", p.fail(what+" is missing", p.form)
	}
	for _, r := range t.s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("_.$-*?[]!^@", r):
		default:
			return "", p.failAt(t, fmt.Sprintf("%s cannot be %s: it holds %s", what, strconv.Quote(t.s), strconv.QuoteRune(r)), "")
		}
	}
	return t.s, nil
}

// plain is name without globs.
func (p *parser) plain(t part, what string) (string, error) {
	if isGlob(t.s) {
		return "", p.failAt(t, what+" cannot be a pattern here", "")
	}
	return p.name(t, what)
}

// number reads a positive number.
func (p *parser) number(t part, what string) (uint64, error) {
	n, err := strconv.ParseUint(t.s, 0, 63)
	if err != nil || n == 0 {
		return 0, p.failAt(t, fmt.Sprintf("%s must be a number from 1 on", what), "")
	}
	return n, nil
}

// oneOf looks up t in a table of names. The hint has the nearest name.
func (p *parser) oneOf(t part, what string, names map[string]string) (string, error) {
	if n, ok := names[t.s]; ok {
		return n, nil
	}
	var all, known []string
	for alias, n := range names {
		all = append(all, alias)
		if alias == n {
			known = append(known, n)
		}
	}
	sort.Strings(known)
	hint := lang.DidYouMean(lang.Nearest(t.s, all, 2))
	if hint == "" {
		hint = "known: " + strings.Join(known, ", ")
	}
	return "", p.failAt(t, fmt.Sprintf("there is no %s %s", what, strconv.Quote(t.s)), hint)
}

// misspelled reports an error for a misspelled kind of place. It ignores names with a dot or a slash, which are
// files, and short names, which resemble too much.
func (p *parser) misspelled(kind string, lead int) error {
	if len(kind) < 4 || strings.ContainsAny(kind, "./'\" *+<>()") {
		return nil
	}
	names := []string{"uprobe"}
	for n := range byWord {
		if len(n) > 3 {
			names = append(names, n)
		}
	}
	near := lang.Nearest(kind, names, 2)
	if len(near) == 0 {
		return nil
	}
	return lang.At("place", p.text, lang.Span{Lo: lead, Hi: lead + len(kind)},
		"there is no kind of place "+strconv.Quote(kind), lang.DidYouMean(near))
}
