// Package lang turns source text into a syntax tree: C expressions as GDB users
// write them, collect lists, GDB's tracepoint definition files. It knows no
// types and no programs; its diagnostics point into the text.
//
// Import rule: lang imports nothing of jalon.
package lang

// Span is a half-open interval of byte offsets in the source text.
type Span struct{ Lo, Hi int }

// Expr is an expression. Every node knows the text it came from.
type Expr interface {
	Span() Span
	expr()
	height() int
	isOpen() bool
}

type node struct {
	span  Span
	depth int  // of the tree below and with this node; the parser limits it
	open  bool // there is something for Decide in the tree
}

func (n node) Span() Span   { return n.span }
func (n node) height() int  { return n.depth }
func (n node) isOpen() bool { return n.open }
func (node) expr()          {}

// The expression nodes.
type (
	// Ident is a bare name: variable, enumerator, true/false/NULL are left to sema.
	Ident struct {
		node
		Name string
	}
	// Scoped is 'file.c'::x, f::x or ::x (Scope "").
	Scoped struct {
		node
		Scope string
		Name  string
		File  bool // Scope is, or begins with, the name of a file
	}
	// Reg is $name: a register or one of jalon's words ($rip, $regs, $args, $ret, $tid, ...).
	Reg struct {
		node
		Name string // without the dollar
	}
	// IntLit is an integer constant; Unsigned and Long come from its suffix,
	// Decimal matters to the type that C gives it (C17 6.4.4.1).
	IntLit struct {
		node
		Value    uint64
		Unsigned bool
		Long     int // 0, 1 (l), 2 (ll)
		Decimal  bool
	}
	// FloatLit is a floating constant; Float says that it had the suffix f
	// (Value is then rounded to float), Long that it had the suffix l (Value is
	// only as exact as a double).
	FloatLit struct {
		node
		Value float64
		Float bool
		Long  bool
	}
	// CharLit is a character constant (type int, the value of a signed char).
	CharLit struct {
		node
		Value int64
	}
	// StringLit is a string constant without its NUL; adjacent ones are joined.
	StringLit struct {
		node
		Value string
	}
	// Unary is one of - + ! ~ * &.
	Unary struct {
		node
		Op string
		X  Expr
	}
	// Binary is one of * / % + - << >> < <= > >= == != & ^ | && || and the comma ",".
	Binary struct {
		node
		Op    string
		OpPos Span
		X, Y  Expr
	}
	// Cond is C ? T : F.
	Cond struct {
		node
		C, T, F Expr
	}
	// Cast is (Type)X, or C++'s static_cast<Type>(X) and the like, whose word is Op.
	// Bare says that (Type) is a cast only because an operand follows it: what is in
	// the parentheses could be an object by its form.
	Cast struct {
		node
		Op   string
		Type *TypeName
		X    Expr
		Bare bool
	}
	// Sizeof is sizeof X or sizeof(Type). In sizeof(f) both are set until Decide.
	Sizeof struct {
		node
		X    Expr
		Type *TypeName
	}
	// Index is X[I].
	Index struct {
		node
		X, I Expr
	}
	// Member is X.Name or, with Arrow, X->Name.
	Member struct {
		node
		X       Expr
		Name    string
		NamePos Span
		Arrow   bool
	}
	// Repeat is GDB's X@N: an array of N objects of X's type starting at X.
	Repeat struct {
		node
		X, N Expr
	}
	// Call is a function call: jalon's own functions (str(p), ...) or one that sema refuses.
	Call struct {
		node
		Fn   Expr
		Args []Expr
	}
	// Assign is any assignment, ++ or --: parsed so that sema can refuse it well.
	Assign struct {
		node
		Op   string
		X, Y Expr // Y nil for ++ and --
	}
)

// What C leaves open until types are known. Decide replaces these nodes; nothing of
// them is left in the tree that it returns.
type (
	// Maybe is (X), or the beginning of a cast (Type)... of what follows. It stands
	// where an operand of an Open begins, or as the only argument of such a call.
	Maybe struct {
		node
		X    Expr
		Type *TypeName
	}

	// Open is a row of operands with operators between them, of which some operand
	// begins with a Maybe. In (a)-b*c, (a)(b)->c and (a)*b the structure of the row
	// depends on whether a is a type.
	Open struct {
		node
		row []operand
	}
)

// TypeName is a type as written in a cast or sizeof: specifiers, then a declarator
// made of pointer stars, array bounds and (for function pointers) opaque suffixes.
type TypeName struct {
	Pos  Span
	Tag  string // "struct", "union", "enum" or ""
	Name string // tag, typedef name, or normalised base type ("unsigned long", "char", "_Bool", "double", "void")
	// Derive lists what the declarator makes of it, innermost first.
	Derive []Derivation
}

// Derivation is one step from a type to a derived one: a pointer to it, a
// function returning it, or (neither Pointer nor Func) an array of it.
type Derivation struct {
	Pointer bool
	Array   int64 // elements, -1 for []; valid when !Pointer && !Func
	// Func makes a function type. Params are its parameters as written (empty
	// for both () and (void)), Variadic its "...".
	Func     bool
	Params   []*TypeName
	Variadic bool
}

// Format is GDB's /FMT: an optional count, a letter (x d u o t c a f s z i) and a size letter (b h w g); zero when absent.
type Format struct {
	Count  int
	Letter byte
	Size   byte
}

// Collect is one item of a collect list: an expression with its format and the
// text it was written as (the key of the value in the output).
type Collect struct {
	X      Expr
	Format Format
	Text   string
	Span   Span
	From   Text // the list
}

// Spec is a whole tracepoint as the command line or a file gives it: PLACE [if COND].
type Spec struct {
	Place     string
	PlaceSpan Span
	CondText  string
	CondSpan  Span
}
