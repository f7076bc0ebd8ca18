package printk

import (
	"errors"
	"strings"
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
)

// typeName is a type in the format. A name that needs no type information is resolved at once; others by the
// resolver on first use.
type typeName struct {
	name  string // without qualifiers: "struct page", "gfp_t"
	stars int
	fixed *ctype.Type
	bound atomic.Pointer[boundType]
}

// boundType is a resolver's result for a name.
type boundType struct {
	by  *Resolver
	typ *ctype.Type
}

// typ returns the type, or nil if it is unknown.
func (t *typeName) typ(r *Resolver) *ctype.Type {
	if t.fixed != nil {
		return t.fixed
	}
	if b := t.bound.Load(); b != nil && b.by == r {
		return b.typ
	}
	base := r.typ(t.name)
	if base == nil && t.stars > 0 {
		// A pointer's target type matters only for arithmetic.
		base = &ctype.Type{Kind: ctype.Struct, Name: strings.TrimPrefix(t.name, "struct "), Incomplete: true}
	}
	if base != nil {
		base = pointers(base, t.stars)
	}
	t.bound.Store(&boundType{r, base})
	return base
}

func pointers(t *ctype.Type, stars int) *ctype.Type {
	for range stars {
		t = ctype.PointerTo(t)
	}
	return t
}

// typeWords can only begin a type.
var typeWords = map[string]bool{
	"unsigned": true, "signed": true, "char": true, "short": true, "int": true, "long": true,
	"void": true, "_Bool": true, "bool": true, "struct": true, "union": true, "enum": true,
	"const": true, "volatile": true, "static": true, "register": true,
	"__user": true, "__rcu": true, "__percpu": true, "__force": true, "__iomem": true, "__bitwise": true,
}

// silent are the words of a type that do not affect a value.
var silent = map[string]bool{
	"const": true, "volatile": true, "static": true, "register": true, "restrict": true,
	"__user": true, "__rcu": true, "__percpu": true, "__force": true, "__iomem": true, "__bitwise": true,
}

// typeSpec parses the words and stars of a type, which the caller has recognised.
func (p *parser) typeSpec() (*typeName, error) {
	var words []string
	for p.peek().kind == tokIdent {
		w := p.peek().text
		switch {
		case silent[w]:
		case len(words) > 0 && tags[words[0]]:
			if len(words) == 2 {
				return p.stars(words)
			}
			words = append(words, w)
		case typeWords[w]:
			words = append(words, w)
		case len(words) == 0:
			words = append(words, w)
		default:
			return p.stars(words)
		}
		p.i++
	}
	return p.stars(words)
}

var tags = map[string]bool{"struct": true, "union": true, "enum": true}

func (p *parser) stars(words []string) (*typeName, error) {
	if len(words) == 0 {
		return nil, errors.New("expected a type")
	}
	t := &typeName{name: strings.Join(words, " ")}
	for {
		switch {
		case p.accept("*"):
			t.stars++
		case p.peek().kind == tokIdent && silent[p.peek().text]:
			p.i++
		default:
			if base := tracefs.NamedType(t.name); base != nil {
				t.fixed = pointers(base, t.stars)
			} else if base := p.typeOfField(t.name); base != nil {
				t.fixed = pointers(base, t.stars)
			}
			return t, nil
		}
	}
}

// typeOfField finds a typedef by a field that is declared with it.
func (p *parser) typeOfField(name string) *ctype.Type {
	for i := range p.fields {
		f := &p.fields[i]
		if f.Type.Kind == ctype.Typedef && f.Type.Name == name && f.Type.IsInteger() && integers[f.Size][0] != nil {
			return intType(f.Size, f.Signed)
		}
	}
	return nil
}

// cast parses "(TYPE)" if there is one here.
func (p *parser) cast() (*typeName, bool, error) { return p.parenType(false) }

// parenType parses "(TYPE)". For a single unknown name in parentheses the next token decides: before an operand
// it must be a type. sole means that there is no operand (sizeof).
func (p *parser) parenType(sole bool) (*typeName, bool, error) {
	if !p.is("(") || p.toks[p.i+1].kind != tokIdent {
		return nil, false, nil
	}
	start := p.i
	first := p.toks[p.i+1].text
	p.i++
	if !typeWords[first] && !p.isTypedef(first, sole) {
		p.i = start
		return nil, false, nil
	}
	t, err := p.typeSpec()
	if err != nil {
		return nil, false, err
	}
	return t, true, p.expect(")")
}

// isTypedef reports whether the name at p.i, after "(", is a type.
func (p *parser) isTypedef(name string, sole bool) bool {
	for _, l := range p.locals {
		if l == name {
			return false
		}
	}
	if name == "REC" || name == "__entry" {
		return false
	}
	known := tracefs.NamedType(name) != nil || p.typeOfField(name) != nil
	j := p.i + 1
	for p.toks[j].kind == tokPunct && p.toks[j].text == "*" {
		j++
	}
	if p.toks[j].kind != tokPunct || p.toks[j].text != ")" {
		return false
	}
	if known || sole || j > p.i+1 {
		return true
	}
	after := p.toks[j+1]
	switch after.kind {
	case tokIdent, tokInt, tokString:
		return true
	case tokPunct:
		return after.text == "(" || after.text == "~" || after.text == "!"
	}
	return false
}
