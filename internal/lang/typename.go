package lang

import (
	"math"
	"sort"
	"strings"
)

// typeParser parses names of types.
type typeParser struct {
	*stream
	inTypes int // nesting of types, see maxTypeNesting
	// inParams counts open parameter lists, in which names can follow types.
	inParams int
}

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
func (tp *typeParser) surelyType(n int) bool {
	t := tp.ahead(n)
	return tp.isTag(n) || t.kind == tokIdent && (qualifiers[t.text] || baseWords[t.text])
}

// typeStarts reports whether the token n places ahead can begin a type name.
func (tp *typeParser) typeStarts(n int) bool {
	_, count := tp.typePath(n)
	return count > 0 || tp.surelyType(n)
}

// isTag reports whether the token n places ahead is struct, union or enum, or class before a name. (A C
// variable may be named class.)
func (tp *typeParser) isTag(n int) bool {
	t := tp.ahead(n)
	return t.kind == tokIdent && tagWords[t.text] && (t.text != "class" || tp.ahead(n+1).kind == tokIdent)
}

// typePath reads a possible name of a typedef or class n tokens ahead, with optional "::" and template
// arguments; count is its number of tokens, or 0.
func (tp *typeParser) typePath(n int) (name string, count int) {
	name, count = tp.path(n)
	if count == 0 || tp.ahead(n+count).is("::") || tp.surelyType(n) || tp.isOperator(n) {
		return "", 0
	}
	if args, k := tp.templateArgs(n + count); k > 0 {
		return name + args, count + k
	}
	return name, count
}

// isOperator reports whether the word n tokens ahead is an operator with the syntax of a function.
func (tp *typeParser) isOperator(n int) bool {
	t := tp.ahead(n)
	r, refused := refusedWords[t.text]
	return t.word("sizeof") || castWords[t.text] || refused && tp.ahead(n+1).is(r.before)
}

// path reads names with "::" between them, n tokens ahead, including template arguments if "::" follows them.
func (tp *typeParser) path(n int) (name string, count int) {
	at := n
	if tp.ahead(at).is("::") {
		name = "::"
		at++
	}
	for tp.ahead(at).kind == tokIdent {
		name += tp.ahead(at).text
		at++
		if args, k := tp.templateArgs(at); k > 0 && tp.ahead(at+k).is("::") {
			name += args
			at += k
		}
		if !tp.ahead(at).is("::") || tp.ahead(at+1).kind != tokIdent {
			return name, at - n
		}
		name += "::"
		at++
	}
	return "", 0
}

// templateArgs reads <...> n tokens ahead as text. count is 0 if the brackets do not match or the content
// cannot be template arguments.
func (tp *typeParser) templateArgs(n int) (text string, count int) {
	open := tp.ahead(n)
	if !open.is("<") {
		return "", 0
	}
	angle, round := 0, 0
	for at := n; ; at++ {
		t := tp.ahead(at)
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
		case t.is("&&") && !tp.ahead(at+1).oneOf("> >> ,"): // the operator, not a reference
			return "", 0
		case t.kind == tokIdent, t.kind == tokLit, t.oneOf(":: , * & && - ..."):
		default:
			return "", 0
		}
		if angle < 0 || round < 0 || at-n > 1000 {
			return "", 0
		}
		if angle == 0 {
			return tp.src[open.span.Lo:t.span.Hi], at - n + 1
		}
	}
}

// typeName parses specifiers and an abstract declarator.
func (tp *typeParser) typeName() (*TypeName, error) {
	ty := &TypeName{Pos: tp.tok().span}
	if err := tp.specifiers(ty); err != nil {
		return nil, err
	}
	derive, err := tp.declarator()
	if err != nil {
		return nil, err
	}
	ty.Derive = derive
	ty.Pos.Hi = tp.ahead(-1).span.Hi
	return ty, tp.checkDerivations(ty)
}

// specifiers reads base words in any order, a tag, or a typedef name, with qualifiers anywhere.
func (tp *typeParser) specifiers(ty *TypeName) error {
	var words []string
	for {
		t := tp.tok()
		_, path := tp.typePath(0)
		named := ty.Name != "" || len(words) > 0
		switch {
		case t.kind == tokIdent && qualifiers[t.text]:
			tp.advance()
		case t.kind == tokIdent && baseWords[t.text]:
			if ty.Name != "" {
				return tp.errorAt(t.span, "", "%q cannot be added to the type %q", t.text, ty.Name)
			}
			words = append(words, t.text)
			tp.advance()
		case tp.isTag(0) && !named:
			if err := tp.tag(ty); err != nil {
				return err
			}
		case path > 0 && !named:
			ty.Name, _ = tp.typePath(0)
			tp.i += path
		case path > 0 && len(words) > 0 && tp.inParams == 0: // it is not a parameter's name
			return tp.errorAt(t.span, "", "%q cannot be added to the type %q", t.text, strings.Join(words, " "))
		default:
			return tp.baseType(ty, words)
		}
	}
}

func (tp *typeParser) tag(ty *TypeName) error {
	word := tp.advance()
	ty.Tag = word.text
	if ty.Tag == "class" {
		ty.Tag = "struct" // class and struct are equivalent
	}
	name, count := tp.path(0)
	if count == 0 {
		t := tp.tok()
		if t.kind == tokError {
			return t.err
		}
		return tp.errorAt(t.span, "", "expected the name of a %s", word.text)
	}
	ty.Name = name
	tp.i += count
	if tp.tok().is("::") {
		tp.advance()
		return tp.errorAt(tp.tok().span, "", "expected the name of a %s", word.text)
	}
	return nil
}

// baseType completes ty after its specifiers.
func (tp *typeParser) baseType(ty *TypeName, words []string) error {
	if ty.Name != "" {
		return nil
	}
	end := tp.ahead(-1).span.Hi
	if len(words) == 0 {
		if tp.tok().kind == tokError {
			return tp.tok().err
		}
		return tp.errorAt(Span{ty.Pos.Lo, end}, "", "a type is missing after the qualifiers")
	}
	sort.Strings(words)
	name, ok := baseTypes[strings.Join(words, " ")]
	if !ok {
		return tp.errorAt(Span{ty.Pos.Lo, end}, "", "there is no type %q in C", tp.src[ty.Pos.Lo:end])
	}
	ty.Name = name
	return nil
}

// declarator reads an abstract declarator and returns its derivations, innermost first.
func (tp *typeParser) declarator() ([]Derivation, error) {
	if tp.inTypes++; tp.inTypes > maxTypeNesting {
		return nil, tp.errorAt(tp.tok().span, "", "the type is nested more than %d levels deep here", maxTypeNesting)
	}
	defer func() { tp.inTypes-- }()
	var derive, nested []Derivation
	for {
		switch t := tp.tok(); {
		case t.is("*"):
			derive = append(derive, Derivation{Pointer: true})
			tp.advance()
			continue
		case t.kind == tokIdent && qualifiers[t.text]:
			tp.advance()
			continue
		case t.oneOf("& &&"):
			return nil, tp.errorAt(t.span, "write *(T *)&x instead of (T &)x", "reference types are not supported in expressions")
		}
		break
	}
	var err error
	if open := tp.tok(); open.is("(") && tp.ahead(1).oneOf("* ( [") {
		tp.advance()
		if nested, err = tp.declarator(); err != nil {
			return nil, err
		}
		if err = tp.closingType(")", open); err != nil {
			return nil, err
		}
	}
	suffixes, err := tp.suffixes()
	if err != nil {
		return nil, err
	}
	for i := len(suffixes) - 1; i >= 0; i-- {
		derive = append(derive, suffixes[i])
	}
	return append(derive, nested...), nil
}

// suffixes reads array bounds and parameter lists in the order of the text.
func (tp *typeParser) suffixes() ([]Derivation, error) {
	var all []Derivation
	for {
		var d Derivation
		var err error
		switch {
		case tp.tok().is("["):
			d, err = tp.bound()
		case tp.tok().is("("):
			d, err = tp.params()
		default:
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
}

func (tp *typeParser) bound() (Derivation, error) {
	open := tp.advance()
	if tp.accept("]") {
		return Derivation{Array: -1}, nil
	}
	t := tp.tok()
	if t.kind == tokError {
		return Derivation{}, t.err
	}
	n, ok := t.lit.(*IntLit)
	if !ok || n.Value > math.MaxInt64 {
		return Derivation{}, tp.errorAt(t.span, "for a computed number of elements use GDB's x@n", "the bound of an array type must be a constant")
	}
	tp.advance()
	return Derivation{Array: int64(n.Value)}, tp.closingType("]", open)
}

// params reads a parameter list. It ignores the names of parameters.
func (tp *typeParser) params() (Derivation, error) {
	d := Derivation{Func: true}
	open := tp.advance()
	if tp.accept(")") {
		return d, nil
	}
	tp.inParams++
	defer func() { tp.inParams-- }()
	for {
		if tp.accept("...") {
			d.Variadic = true
			break
		}
		if !tp.typeStarts(0) {
			if tp.tok().kind == tokError {
				return d, tp.tok().err
			}
			return d, tp.errorAt(tp.tok().span, "", "expected the type of a parameter")
		}
		ty, err := tp.typeName()
		if err != nil {
			return d, err
		}
		if tp.tok().kind == tokIdent {
			tp.advance()
		}
		d.Params = append(d.Params, ty)
		if !tp.accept(",") {
			break
		}
	}
	if len(d.Params) == 1 && !d.Variadic && d.Params[0].isVoid() {
		d.Params = nil
	}
	return d, tp.closingType(")", open)
}

func (ty *TypeName) isVoid() bool { return ty.Tag == "" && ty.Name == "void" && len(ty.Derive) == 0 }

// checkDerivations rejects arrays of functions and functions that return functions or arrays, as C does.
func (tp *typeParser) checkDerivations(ty *TypeName) error {
	if len(ty.Derive) > maxDerivations {
		return tp.errorAt(ty.Pos, "", "the type has more than %d nested pointers, arrays and functions", maxDerivations)
	}
	for i := 1; i < len(ty.Derive); i++ {
		of, by := ty.Derive[i-1], ty.Derive[i]
		switch {
		case of.Func && by.Func:
			return tp.errorAt(ty.Pos, "", "a function cannot return a function")
		case of.Func && !by.Pointer:
			return tp.errorAt(ty.Pos, "", "an array cannot have functions as elements")
		case by.Func && !of.Pointer:
			return tp.errorAt(ty.Pos, "", "a function cannot return an array")
		}
	}
	return nil
}
