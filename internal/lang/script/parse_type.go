package script

import "strings"

// isTag reports the words before the name of a C type.
func isTag(w string) bool { return w == "struct" || w == "union" || w == "enum" }

// baseWords are C's words of which a type can have several.
var baseWords = strings.Fields("unsigned signed long short int char const volatile")

// cNames are the language's names of C's types with several words, in alphabetical order.
var cNames = map[string]string{
	"char": "char", "char signed": "int8", "char unsigned": "uint8",
	"short": "int16", "int short": "int16", "short signed": "int16", "short unsigned": "uint16", "int short unsigned": "uint16",
	"int": "int32", "signed": "int32", "int signed": "int32", "unsigned": "uint32", "int unsigned": "uint32",
	"long": "int64", "int long": "int64", "long signed": "int64", "long unsigned": "uint64", "int long unsigned": "uint64",
	"long long": "int64", "int long long": "int64", "long long unsigned": "uint64", "int long long unsigned": "uint64",
}

// isType are names that are types wherever a type can be.
var isType = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 void min_t max_t sum_t count_t " +
		"avg_t stats_t umin_t umax_t usum_t uavg_t ustats_t timestamp macaddr_t cgroup_path_t string buffer inet username_t") {
		m[w] = true
	}
	for _, w := range baseWords {
		m[w] = true
	}
	return m
}()

// typeName parses a type: a name or a tag with a name, then * and [N] in any order.
func (p *typeParser) typeName() *Type {
	p.layout()
	lo := p.pos
	t := &Type{Name: p.name("the name of a type")}
	switch {
	case isTag(t.Name):
		t.Tag = t.Name
		t.Name = p.name("the name of the " + t.Tag)
	default:
		t.Name = p.baseType(t.Name)
	}
	for {
		if p.accept('*') {
			t.Suffixes = append(t.Suffixes, Suffix{Pointer: true})
			continue
		}
		if p.accept('[') {
			var n uint64
			if p.layout(); p.peek(0) != ']' {
				n, _ = p.integer()
			}
			p.expect(']')
			t.Suffixes = append(t.Suffixes, Suffix{Size: n})
			continue
		}
		break
	}
	if len(t.Suffixes) > 64 {
		p.errorAt(p.since(lo), "", "the type has more than 64 nested pointers and arrays")
	}
	t.node = p.node(lo)
	return t
}

// baseType consumes the further words of a C type that begins with the word w, and returns its name.
func (p *typeParser) baseType(w string) string {
	in := func(w string) bool {
		for _, b := range baseWords {
			if b == w {
				return true
			}
		}
		return false
	}
	if !in(w) {
		return w
	}
	words := []string{}
	lo := p.hi - len(w)
	for {
		switch {
		case w == "const" || w == "volatile":
			if next := p.word(); next != "" && !in(next) && len(words) == 0 {
				p.take(len(next))
				if isTag(next) {
					p.errorAt(p.since(lo), "omit "+w, "%s before %s is not part of a type here", w, next)
				}
				return next
			}
		default:
			words = append(words, w)
		}
		if w = p.word(); !in(w) {
			break
		}
		p.take(len(w))
	}
	sortWords(words)
	name, ok := cNames[strings.Join(words, " ")]
	if !ok {
		p.errorAt(p.since(lo), "", "there is no type %q", p.src[lo:p.hi])
	}
	return name
}

func sortWords(words []string) {
	for i := range words {
		for j := i; j > 0 && words[j] < words[j-1]; j-- {
			words[j], words[j-1] = words[j-1], words[j]
		}
	}
}

// afterType returns the offset behind a type at i, whether it has suffixes and whether its name is certainly
// a type's; -1 if there is no type.
func (p *typeParser) afterType(i int) (end int, suffixes, certain bool) {
	i = p.afterLayout(i)
	if !isWordStart(p.at(i)) {
		return -1, false, false
	}
	j := p.wordEnd(i)
	w := p.src[i:j]
	certain = isType[w]
	if isBuiltin(w) {
		return -1, false, false
	}
	multiple := isTag(w)
	for certain || multiple {
		k := p.afterLayout(j)
		if !isWordStart(p.at(k)) {
			break
		}
		next := p.src[k:p.wordEnd(k)]
		if !multiple && !isType[next] && w != "const" && w != "volatile" {
			break
		}
		certain, multiple = true, false
		w, j = next, k+len(next)
		if isTag(next) {
			multiple = true
		}
	}
	if multiple { // a tag without a name
		return -1, false, false
	}
	for {
		k := p.afterLayout(j)
		switch p.at(k) {
		case '*':
			j = k + 1
		case '[':
			if j = p.balanced(k, '[', ']'); j < 0 {
				return -1, false, false
			}
		default:
			return k, suffixes, certain
		}
		suffixes = true
	}
}

// typeOnly parses typeof(...) or a type.
func (p *typeParser) typeOnly() *TypeOf {
	p.layout()
	lo := p.pos
	if p.word() == "typeof" {
		return p.typeOf()
	}
	t := p.typeName()
	return &TypeOf{p.expr(lo), t, nil, false}
}

// typeOf parses typeof(type or expression).
func (p *typeParser) typeOf() *TypeOf {
	p.layout()
	lo := p.pos
	p.acceptWord("typeof")
	p.expect('(')
	t := p.typeOrExpr(")")
	p.expect(')')
	t.span = p.since(lo)
	t.Written = true
	return t
}

// typeOrExpr parses the operand of sizeof and the like. A name with suffixes is a type, a bare name an
// expression (whose name may turn out to be a type's); ends are the characters that may follow a type.
func (p *typeParser) typeOrExpr(ends string) *TypeOf {
	p.layout()
	lo := p.pos
	if p.word() == "typeof" {
		return p.typeOf()
	}
	if end, suffixes, certain := p.afterType(lo); end >= 0 && (suffixes || certain) && strings.IndexByte(ends, p.at(end)) >= 0 && p.at(end) != 0 {
		t := p.typeName()
		return &TypeOf{p.expr(lo), t, nil, false}
	}
	x := p.expression()
	if x == nil {
		return &TypeOf{p.expr(lo), nil, &Int{exprNode: p.expr(lo)}, false}
	}
	return &TypeOf{p.expr(lo, x), nil, x, false}
}
