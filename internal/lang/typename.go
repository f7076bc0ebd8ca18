package lang

import (
	"math"
	"sort"
	"strings"
)

const (
	maxDerivations = 64 // of one type
	maxTypeNesting = 64 // of declarators and parameter lists
)

var tagWords = map[string]bool{"struct": true, "union": true, "enum": true, "class": true}

// qualifiers are ignored because they do not change a value.
var qualifiers = map[string]bool{
	"const": true, "volatile": true, "restrict": true, "_Atomic": true,
	"__const": true, "__volatile": true, "__restrict": true,
	"__const__": true, "__volatile__": true, "__restrict__": true,
}

var baseWords = map[string]bool{
	"void": true, "char": true, "short": true, "int": true, "long": true, "signed": true, "unsigned": true,
	"float": true, "double": true, "_Bool": true, "bool": true, "_Complex": true, "__int128": true,
}

// baseTypes has the normalised name of each set of base words; the words are in alphabetical order (C17 6.7.2
// paragraph 2).
var baseTypes = map[string]string{
	"void": "void", "_Bool": "_Bool", "bool": "_Bool",
	"char": "char", "char signed": "signed char", "char unsigned": "unsigned char",
	"short": "short", "short signed": "short", "int short": "short", "int short signed": "short",
	"short unsigned": "unsigned short", "int short unsigned": "unsigned short",
	"int": "int", "signed": "int", "int signed": "int",
	"unsigned": "unsigned int", "int unsigned": "unsigned int",
	"long": "long", "long signed": "long", "int long": "long", "int long signed": "long",
	"long unsigned": "unsigned long", "int long unsigned": "unsigned long",
	"long long": "long long", "long long signed": "long long",
	"int long long": "long long", "int long long signed": "long long",
	"long long unsigned": "unsigned long long", "int long long unsigned": "unsigned long long",
	"__int128": "__int128", "__int128 signed": "__int128", "__int128 unsigned": "unsigned __int128",
	"float": "float", "double": "double", "double long": "long double",
	"_Complex float": "_Complex float", "_Complex double": "_Complex double", "_Complex": "_Complex double",
	"_Complex double long": "_Complex long double",
}

// surelyType reports whether the token n places ahead can only begin a type name.
func (p *parser) surelyType(n int) bool {
	t := p.ahead(n)
	return p.isTag(n) || t.kind == tokIdent && (qualifiers[t.text] || baseWords[t.text])
}

// typeStarts reports whether the token n places ahead can begin a type name.
func (p *parser) typeStarts(n int) bool {
	_, count := p.typePath(n)
	return count > 0 || p.surelyType(n)
}

// isTag reports whether the token n places ahead is struct, union or enum, or class before a name. (A C
// variable may be named class.)
func (p *parser) isTag(n int) bool {
	t := p.ahead(n)
	return t.kind == tokIdent && tagWords[t.text] && (t.text != "class" || p.ahead(n+1).kind == tokIdent)
}

// typePath reads a possible name of a typedef or class n tokens ahead, with optional "::" and template
// arguments; count is its number of tokens, or 0.
func (p *parser) typePath(n int) (name string, count int) {
	name, count = p.path(n)
	if count == 0 || p.ahead(n+count).is("::") || p.surelyType(n) || p.isOperator(n) {
		return "", 0
	}
	if args, k := p.templateArgs(n + count); k > 0 {
		return name + args, count + k
	}
	return name, count
}

// isOperator reports whether the word n tokens ahead is an operator with the syntax of a function.
func (p *parser) isOperator(n int) bool {
	t := p.ahead(n)
	r, refused := refusedWords[t.text]
	return t.word("sizeof") || castWords[t.text] || refused && p.ahead(n+1).is(r.before)
}

// path reads names with "::" between them, n tokens ahead, including template arguments if "::" follows them.
func (p *parser) path(n int) (name string, count int) {
	at := n
	if p.ahead(at).is("::") {
		name = "::"
		at++
	}
	for p.ahead(at).kind == tokIdent {
		name += p.ahead(at).text
		at++
		if args, k := p.templateArgs(at); k > 0 && p.ahead(at+k).is("::") {
			name += args
			at += k
		}
		if !p.ahead(at).is("::") || p.ahead(at+1).kind != tokIdent {
			return name, at - n
		}
		name += "::"
		at++
	}
	return "", 0
}

// templateArgs reads <...> n tokens ahead as text. count is 0 if the brackets do not match or the content
// cannot be template arguments.
func (p *parser) templateArgs(n int) (text string, count int) {
	open := p.ahead(n)
	if !open.is("<") {
		return "", 0
	}
	angle, round := 0, 0
	for at := n; ; at++ {
		t := p.ahead(at)
		switch {
		case t.is("<"):
			angle++
		case t.is(">") && round == 0:
			angle--
		case t.is(">>") && round == 0:
			angle -= 2
		case t.oneOf("( ["):
			round++
		case t.oneOf(") ]"):
			round--
		case t.is("&&") && !p.ahead(at+1).oneOf("> >> ,"): // the operator, not a reference
			return "", 0
		case t.kind == tokIdent, t.kind == tokLit, t.oneOf(":: , * & && - ..."):
		default:
			return "", 0
		}
		if angle < 0 || round < 0 || at-n > 1000 {
			return "", 0
		}
		if angle == 0 {
			return p.src[open.span.Lo:t.span.Hi], at - n + 1
		}
	}
}

// typeName parses specifiers and an abstract declarator.
func (p *parser) typeName() (*TypeName, error) {
	ty := &TypeName{Pos: p.tok().span}
	if err := p.specifiers(ty); err != nil {
		return nil, err
	}
	derive, err := p.declarator()
	if err != nil {
		return nil, err
	}
	ty.Derive = derive
	ty.Pos.Hi = p.ahead(-1).span.Hi
	return ty, p.checkDerivations(ty)
}

// specifiers reads base words in any order, a tag, or a typedef name, with qualifiers anywhere.
func (p *parser) specifiers(ty *TypeName) error {
	var words []string
	for {
		t := p.tok()
		_, path := p.typePath(0)
		named := ty.Name != "" || len(words) > 0
		switch {
		case t.kind == tokIdent && qualifiers[t.text]:
			p.advance()
		case t.kind == tokIdent && baseWords[t.text]:
			if ty.Name != "" {
				return p.errorAt(t.span, "", "%q cannot be added to the type %q", t.text, ty.Name)
			}
			words = append(words, t.text)
			p.advance()
		case p.isTag(0) && !named:
			if err := p.tag(ty); err != nil {
				return err
			}
		case path > 0 && !named:
			ty.Name, _ = p.typePath(0)
			p.i += path
		case path > 0 && len(words) > 0 && p.inParams == 0: // it is not a parameter's name
			return p.errorAt(t.span, "", "%q cannot be added to the type %q", t.text, strings.Join(words, " "))
		default:
			return p.baseType(ty, words)
		}
	}
}

func (p *parser) tag(ty *TypeName) error {
	word := p.advance()
	ty.Tag = word.text
	if ty.Tag == "class" {
		ty.Tag = "struct" // class and struct are equivalent
	}
	name, count := p.path(0)
	if count == 0 {
		t := p.tok()
		if t.kind == tokError {
			return t.err
		}
		return p.errorAt(t.span, "", "expected the name of a %s", word.text)
	}
	ty.Name = name
	p.i += count
	if p.tok().is("::") {
		p.advance()
		return p.errorAt(p.tok().span, "", "expected the name of a %s", word.text)
	}
	return nil
}

// baseType completes ty after its specifiers.
func (p *parser) baseType(ty *TypeName, words []string) error {
	if ty.Name != "" {
		return nil
	}
	end := p.ahead(-1).span.Hi
	if len(words) == 0 {
		if p.tok().kind == tokError {
			return p.tok().err
		}
		return p.errorAt(Span{ty.Pos.Lo, end}, "", "a type is missing after the qualifiers")
	}
	sort.Strings(words)
	name, ok := baseTypes[strings.Join(words, " ")]
	if !ok {
		return p.errorAt(Span{ty.Pos.Lo, end}, "", "there is no type %q in C", p.src[ty.Pos.Lo:end])
	}
	ty.Name = name
	return nil
}

// declarator reads an abstract declarator and returns its derivations, innermost first.
func (p *parser) declarator() ([]Derivation, error) {
	if p.inTypes++; p.inTypes > maxTypeNesting {
		return nil, p.errorAt(p.tok().span, "", "the type is nested more than %d levels deep here", maxTypeNesting)
	}
	defer func() { p.inTypes-- }()
	var derive, nested []Derivation
	for {
		switch t := p.tok(); {
		case t.is("*"):
			derive = append(derive, Derivation{Pointer: true})
			p.advance()
			continue
		case t.kind == tokIdent && qualifiers[t.text]:
			p.advance()
			continue
		case t.oneOf("& &&"):
			return nil, p.errorAt(t.span, "write *(T *)&x instead of (T &)x", "reference types are not supported in expressions")
		}
		break
	}
	var err error
	if open := p.tok(); open.is("(") && p.ahead(1).oneOf("* ( [") {
		p.advance()
		if nested, err = p.declarator(); err != nil {
			return nil, err
		}
		if err = p.closingType(")", open); err != nil {
			return nil, err
		}
	}
	suffixes, err := p.suffixes()
	if err != nil {
		return nil, err
	}
	for i := len(suffixes) - 1; i >= 0; i-- {
		derive = append(derive, suffixes[i])
	}
	return append(derive, nested...), nil
}

// suffixes reads array bounds and parameter lists in the order of the text.
func (p *parser) suffixes() ([]Derivation, error) {
	var all []Derivation
	for {
		var d Derivation
		var err error
		switch {
		case p.tok().is("["):
			d, err = p.bound()
		case p.tok().is("("):
			d, err = p.params()
		default:
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
}

func (p *parser) bound() (Derivation, error) {
	open := p.advance()
	if p.accept("]") {
		return Derivation{Array: -1}, nil
	}
	t := p.tok()
	if t.kind == tokError {
		return Derivation{}, t.err
	}
	n, ok := t.lit.(*IntLit)
	if !ok || n.Value > math.MaxInt64 {
		return Derivation{}, p.errorAt(t.span, "for a computed number of elements use GDB's x@n", "the bound of an array type must be a constant")
	}
	p.advance()
	return Derivation{Array: int64(n.Value)}, p.closingType("]", open)
}

// params reads a parameter list. It ignores the names of parameters.
func (p *parser) params() (Derivation, error) {
	d := Derivation{Func: true}
	open := p.advance()
	if p.accept(")") {
		return d, nil
	}
	p.inParams++
	defer func() { p.inParams-- }()
	for {
		if p.accept("...") {
			d.Variadic = true
			break
		}
		if !p.typeStarts(0) {
			if p.tok().kind == tokError {
				return d, p.tok().err
			}
			return d, p.errorAt(p.tok().span, "", "expected the type of a parameter")
		}
		ty, err := p.typeName()
		if err != nil {
			return d, err
		}
		if p.tok().kind == tokIdent {
			p.advance()
		}
		d.Params = append(d.Params, ty)
		if !p.accept(",") {
			break
		}
	}
	if len(d.Params) == 1 && !d.Variadic && d.Params[0].isVoid() {
		d.Params = nil
	}
	return d, p.closingType(")", open)
}

func (ty *TypeName) isVoid() bool { return ty.Tag == "" && ty.Name == "void" && len(ty.Derive) == 0 }

// checkDerivations rejects arrays of functions and functions that return functions or arrays, as C does.
func (p *parser) checkDerivations(ty *TypeName) error {
	if len(ty.Derive) > maxDerivations {
		return p.errorAt(ty.Pos, "", "the type has more than %d nested pointers, arrays and functions", maxDerivations)
	}
	for i := 1; i < len(ty.Derive); i++ {
		of, by := ty.Derive[i-1], ty.Derive[i]
		switch {
		case of.Func && by.Func:
			return p.errorAt(ty.Pos, "", "a function cannot return a function")
		case of.Func && !by.Pointer:
			return p.errorAt(ty.Pos, "", "an array cannot have functions as elements")
		case by.Func && !of.Pointer:
			return p.errorAt(ty.Pos, "", "a function cannot return an array")
		}
	}
	return nil
}
