// Package lang parses source text to syntax trees: C expressions as GDB users write them, collect lists, and
// GDB's tracepoint definition files. It uses no type information. Its diagnostics point into the text.
//
// Import rule: lang imports nothing of jalon.
package lang

// Span is a half-open interval of byte offsets in the source text.
type Span struct{ Lo, Hi int }

// Expr is an expression. Every node has the span of its text.
type Expr interface {
	Span() Span
	expr()
	height() int
	isOpen() bool
}

type node struct {
	span  Span
	depth int  // of the tree including this node; the parser limits it
	open  bool // the tree has a node that Decide must replace
}

func (n node) Span() Span   { return n.span }
func (n node) height() int  { return n.depth }
func (n node) isOpen() bool { return n.open }
func (node) expr()          {}

func (n *node) moveTo(s Span) { n.span = s }

// The expression nodes.
type (
	// Ident is a bare name: a variable, an enumerator, or true, false or NULL; sema decides.
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
	// IntLit is an integer constant. Unsigned and Long come from its suffix; its type also depends on Decimal
	// (C17 6.4.4.1).
	IntLit struct {
		node
		Value    uint64
		Unsigned bool
		Long     int // 0, 1 (l), 2 (ll)
		Decimal  bool
	}
	// FloatLit is a floating constant. Float means suffix f (Value is rounded to float), Long suffix l (Value
	// has only the precision of a double).
	FloatLit struct {
		node
		Value float64
		Float bool
		Long  bool
	}
	// CharLit is a character constant of type int. Value is that of a signed char.
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
	// Cast is (Type)X, or a C++ cast such as static_cast<Type>(X), with its keyword in Op. Bare means that
	// (Type) is a cast only because an operand follows; by its form the content of the parentheses could also
	// be an object.
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
	// Call is a call of one of jalon's functions (str(p), ...); sema refuses all others.
	Call struct {
		node
		Fn   Expr
		Args []Expr
	}
	// Assign is any assignment, ++ or --. Only trace state variables can be assigned to: sema refuses all others.
	Assign struct {
		node
		Op   string
		X, Y Expr // Y nil for ++ and --
	}
)

// Nodes for syntax that is ambiguous until types are known. The tree that Decide returns contains none of them.
type (
	// Maybe is (X), or the beginning of a cast (Type)... of the next operand. It occurs at the beginning of an
	// operand of an Open, or as the only argument of such a call.
	Maybe struct {
		node
		X    Expr
		Type *TypeName
	}

	// Open is a sequence of operands and operators in which at least one operand begins with a Maybe. In
	// (a)-b*c, (a)(b)->c and (a)*b the structure depends on whether a is a type.
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
	// Derive lists the derivations of the declarator, innermost first.
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

// Collect is one item of a collect list: an expression, its format, and its source text (the key of the value
// in the output).
type Collect struct {
	X      Expr
	Format Format
	Text   string
	Span   Span
	From   Text // the list
	// Kept are trace state variables that actions change behind the item, by the numbers of the actions that have kept them.
	Kept map[string]int
}

// Spec is a complete tracepoint from the command line or a file: PLACE [if COND].
type Spec struct {
	Place     string
	PlaceSpan Span
	CondText  string
	CondSpan  Span
}
