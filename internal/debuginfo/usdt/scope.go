package usdt

import (
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// scope is the debuginfo.Scope of a probe: the probe's arguments, then the names from debug information.
type scope struct {
	p     *Probe
	args  []*debuginfo.Variable
	under debuginfo.Scope // nil without debug information
}

// NewScope returns the scope of p: arg0, arg1, ... are the probe's arguments; all other names are looked up in
// the scope under, which describes p.PC and may be nil. executable is true for the program itself and false for
// libraries, because thread-local data are addressed differently.
//
// Args lists the probe's arguments; Locals lists the parameters and locals of
// the function around it.
func NewScope(p *Probe, syms Symbols, executable bool, under debuginfo.Scope) debuginfo.Scope {
	s := &scope{p: p, under: under}
	pl := placer{pc: p.PC, syms: syms, exec: executable}
	if under != nil {
		pl.among = s.among
	}
	for i := range p.Args {
		a := &p.Args[i]
		s.args = append(s.args, &debuginfo.Variable{
			Name: "arg" + strconv.Itoa(i), Type: a.Type, Kind: debuginfo.Param, Loc: pl.location(a),
		})
	}
	return s
}

// among uses debug information to choose, of several static variables of one name, the one visible in the
// probe's function. Symbols of function statics have a number: "n.1234".
func (s *scope) among(name string, of []elf.Symbol) (elf.Symbol, bool) {
	bare, _, _ := strings.Cut(name, ".")
	v, err := s.under.Lookup(bare)
	if err != nil || len(v.Loc.Pieces) != 1 || v.Loc.Pieces[0].Kind != debuginfo.InMemory {
		return elf.Symbol{}, false
	}
	e := v.Loc.Pieces[0].Expr
	if len(e) == 0 {
		return elf.Symbol{}, false
	}
	for _, sym := range of {
		at := len(e) == 1 && e[0].Code == debuginfo.OpAddr && !sym.TLS
		tls := len(e) == 2 && e[1].Code == debuginfo.OpTLS && sym.TLS
		if (at || tls) && e[0].Arg == int64(sym.Value) {
			return sym, true
		}
	}
	return elf.Symbol{}, false
}

func (s *scope) PC() uint64 { return s.p.PC }

func (s *scope) FuncName() string {
	if s.under == nil {
		return ""
	}
	return s.under.FuncName()
}

func (s *scope) HasDebugInfo() bool { return s.under != nil && s.under.HasDebugInfo() }

func (s *scope) CFA() []debuginfo.Op {
	if s.under == nil {
		return nil
	}
	return s.under.CFA()
}

// Lookup finds an argument or a variable of the program.
func (s *scope) Lookup(name string) (*debuginfo.Variable, error) {
	for _, v := range s.args {
		if v.Name == name {
			return v, nil
		}
	}
	if s.under != nil {
		v, err := s.under.Lookup(name)
		if n, ok := err.(*debuginfo.NotFoundError); ok && n.Hint == "" {
			own := *n
			own.Hint = s.hint()
			return nil, &own
		}
		return v, err
	}
	return nil, &debuginfo.NotFoundError{What: "variable", Name: name, Nearest: s.names(), Hint: s.hint()}
}

// Resolve finds an argument, or resolves the name by the rules of the program's language.
func (s *scope) Resolve(name string, types bool) (*debuginfo.Entity, error) {
	if s.under == nil || !types && s.Word(name) {
		return debuginfo.Resolve(plain{s}, name, types)
	}
	e, err := debuginfo.Resolve(s.under, name, types)
	if n, ok := err.(*debuginfo.NotFoundError); ok {
		if own := basic(ctype.Typedef, name); own != nil {
			return &debuginfo.Entity{Type: own}, nil
		}
		if n.Hint == "" {
			with := *n
			with.Hint = s.hint()
			return nil, &with
		}
	}
	return e, err
}

// plain is a scope without its Resolve.
type plain struct{ debuginfo.Scope }

// Member looks a name up in a class.
func (s *scope) Member(class *ctype.Type, name string) (*debuginfo.Entity, error) {
	if s.under == nil {
		return debuginfo.Member(plain{s}, class, name)
	}
	return debuginfo.Member(s.under, class, name)
}

// PackageVariable finds a variable of a Go package.
func (s *scope) PackageVariable(pkg, name string) *debuginfo.Variable {
	return debuginfo.PackageVariable(s.under, pkg, name)
}

func (s *scope) names() (out []string) {
	for _, v := range s.args {
		out = append(out, v.Name)
	}
	return out
}

// hint lists the arguments.
func (s *scope) hint() string {
	probe := "the probe " + s.p.Provider + ":" + s.p.Name
	switch len(s.args) {
	case 0:
		return probe + " has no arguments"
	case 1:
		return probe + " has the argument arg0"
	}
	return probe + " has the arguments arg0 to " + s.args[len(s.args)-1].Name
}

// LookupIn uses only debug information.
func (s *scope) LookupIn(where, name string) (*debuginfo.Variable, error) {
	if s.under == nil {
		return nil, &debuginfo.NotFoundError{What: "variable", Name: where + "::" + name, Hint: "there is no debug information"}
	}
	return s.under.LookupIn(where, name)
}

// Word reports whether name is an argument of the marker, whose note gives it a size but
// no type.
func (s *scope) Word(name string) bool {
	for _, v := range s.args {
		if v.Name == name {
			return true
		}
	}
	return false
}

func (s *scope) Args() []*debuginfo.Variable { return s.args }

func (s *scope) Locals() []*debuginfo.Variable {
	if s.under == nil {
		return nil
	}
	return append(append([]*debuginfo.Variable(nil), s.under.Args()...), s.under.Locals()...)
}

// Type finds the program's types, or without debug information the types of arguments.
func (s *scope) Type(kind ctype.Kind, name string) (*ctype.Type, error) {
	if s.under != nil {
		t, err := s.under.Type(kind, name)
		if err == nil {
			return t, nil
		}
		if own := basic(kind, name); own != nil {
			return own, nil
		}
		return nil, err
	}
	if own := basic(kind, name); own != nil {
		return own, nil
	}
	return nil, &debuginfo.NotFoundError{What: "type", Name: name, Hint: "there is no debug information"}
}

// basic returns types that need no debug information.
func basic(kind ctype.Kind, name string) *ctype.Type {
	if kind != ctype.Typedef {
		return nil
	}
	for _, t := range integers {
		if t.Name == name {
			return t
		}
	}
	return words[name]
}

// words are C's basic types by GCC's spelling and the usual spellings.
var words = map[string]*ctype.Type{
	"void": ctype.VoidT, "_Bool": ctype.BoolT, "bool": ctype.BoolT, "char": ctype.CharT,
	"signed char": ctype.SCharT, "unsigned char": ctype.UCharT,
	"short": ctype.ShortT, "short int": ctype.ShortT, "unsigned short": ctype.UShortT, "short unsigned int": ctype.UShortT,
	"int": ctype.IntT, "unsigned int": ctype.UIntT, "unsigned": ctype.UIntT,
	"long": ctype.LongT, "long int": ctype.LongT, "unsigned long": ctype.ULongT, "long unsigned int": ctype.ULongT,
	"long long": ctype.LLongT, "long long int": ctype.LLongT,
	"unsigned long long": ctype.ULLongT, "long long unsigned int": ctype.ULLongT,
	"float": ctype.FloatT, "double": ctype.DoubleT, "size_t": ctype.ULongT, "ssize_t": ctype.LongT,
}

// Enumerator uses only debug information.
func (s *scope) Enumerator(name string) (*ctype.Type, int64, bool) {
	if s.under == nil {
		return nil, 0, false
	}
	return s.under.Enumerator(name)
}
