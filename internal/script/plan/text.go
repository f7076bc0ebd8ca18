package plan

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// textComparison is == or != of a text and a literal.
func (w *translator) textComparison(x *script.Binary) (string, bool) {
	if x.Op != "==" && x.Op != "!=" {
		return "", false
	}
	a, lit, ok := w.withLiteral(x.X, x.Y)
	if !ok {
		return "", false
	}
	t, ok := w.textAt(a)
	if !ok {
		return "", false
	}
	c, ok := t.equal(lit, x.Op)
	return "(unsigned long)(" + c + ")", ok
}

// strncmp is strncmp(text, literal, n): 0 or 1.
func (w *translator) strncmp(x *script.Call, t *types.Type) (string, bool) {
	n := w.p.Consts[x.Args[2]]
	a, lit, ok := w.withLiteral(x.Args[0], x.Args[1])
	if !ok || n == nil || n.Int == 0 {
		return "", false
	}
	text, ok := w.textAt(a)
	if !ok {
		return "", false
	}
	c := ""
	if n.Int > uint64(len(lit)) { // the end is compared too
		c, ok = text.equal(lit, "!=")
	} else {
		c, ok = text.begins(lit[:n.Int], "!=")
	}
	return wide(c, t), ok
}

// withLiteral is which of two expressions is the text, and the characters of the other one, a literal.
func (w *translator) withLiteral(a, b script.Expr) (text script.Expr, lit string, ok bool) {
	k := w.p.Consts[b]
	if k == nil {
		a, k = b, w.p.Consts[a]
	}
	if k == nil || k.Kind != types.String || w.p.Consts[a] != nil || len(k.Str) > maxLiteral || strings.ContainsFunc(k.Str, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, "", false
	}
	return a, k.Str, true
}

// maxLiteral is the longest text with which sites compare.
const maxLiteral = 256

// siteText is a text that a site can compare: an array of characters with a name in C, or what is at an address.
type siteText struct {
	name, addr string
	limit      int64 // characters
	// marked: what is longer gets a mark at its end, so it is the same as no literal with as many characters.
	marked, dynamic bool
}

// textAt is a text as the site has it.
func (w *translator) textAt(x script.Expr) (siteText, bool) {
	t := w.typeOf(x)
	switch {
	case wordOf(x) == "comm" && len(arguments(x)) == 0: // code in a process has no name of its thread
		return siteText{name: "$comm", limit: commBytes}, w.inKernel()
	case wordOf(x) == "str":
		call, ok := x.(*script.Call)
		if !ok || len(call.Args) > 1 && w.p.Consts[call.Args[1]] == nil {
			return siteText{}, false
		}
		out := siteText{limit: w.characterLimit(call, t), marked: len(call.Args) == 1}
		if name, dynamic := w.dynamic(call.Args[0]); dynamic {
			out.name, out.dynamic = name, true
			return out, true
		}
		out.addr, ok = w.value(call.Args[0])
		return out, ok && w.typeOf(call.Args[0]).Is(types.Int, types.Pointer)
	case t.Kind == types.String && wordOf(x) == "":
		p, ok := w.placeOf(x)
		return siteText{name: p.name, addr: p.addr, limit: t.Size}, ok && p.bits == 0
	}
	return siteText{}, false
}

// equal compares with a text.
func (s siteText) equal(lit, op string) (string, bool) {
	n := int64(len(lit))
	switch {
	case (s.marked || s.dynamic) && n >= s.limit:
		return "", false
	case n > s.limit:
		return map[string]string{"==": "0", "!=": "1"}[op], true
	case s.name != "":
		return s.name + " " + op + " " + strconv.Quote(lit), true
	}
	return s.first(s.limit) + " " + op + " " + strconv.Quote(lit), s.limit > 0
}

// begins compares the first characters with those of a text.
func (s siteText) begins(lit, op string) (string, bool) {
	n := int64(len(lit))
	if n > s.limit && !s.marked {
		return s.equal(lit, op)
	}
	return s.first(n) + " " + op + " " + strconv.Quote(lit), n <= s.limit && !s.dynamic
}

// first is the C of at most n characters.
func (s siteText) first(n int64) string {
	if s.name != "" {
		return fmt.Sprintf("str(%s, %d)", s.name, n)
	}
	return fmt.Sprintf("str((char *)(%s), %d)", s.addr, n)
}
