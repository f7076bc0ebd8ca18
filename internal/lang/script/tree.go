// Package script parses scripts in bpftrace's language (0.27) to syntax trees, and prints trees as text. It
// uses no type information: names, types and attach points are kept as written.
//
// Import rule: script imports only lang.
package script

import "github.com/jalon-trace/jalon/internal/lang"

// File is a source text. The positions of all nodes parsed from it point into it.
type File struct {
	Name string // for diagnostics
	Text string
}

// At makes a diagnostic at a part of the file.
func (f *File) At(s lang.Span, msg, hint string) *lang.Diagnostic {
	return lang.At(f.Name, f.Text, s, msg, hint)
}

// Node is any part of a tree. Nodes of one tree may come from several files, because of imports and macros.
type Node interface {
	Span() lang.Span
	File() *File
	levels() int32
}

type node struct {
	span   lang.Span
	file   *File
	height int32 // of the tree including this node; the parser limits it
}

func (n node) Span() lang.Span { return n.span }
func (n node) File() *File     { return n.file }
func (n node) levels() int32   { return n.height }

// Expr is an expression, Stmt a statement of a block, Item a part of a script.
type (
	Expr interface {
		Node
		expr()
	}
	Stmt interface {
		Node
		stmt()
	}
	Item interface {
		Node
		item()
	}
)

type (
	exprNode struct{ node }
	stmtNode struct{ node }
	itemNode struct{ node }
)

func (exprNode) expr() {}
func (stmtNode) stmt() {}
func (itemNode) item() {}

// A script.
type (
	// Script is a whole file. Its parts are in the order of the text.
	Script struct {
		node
		Shebang string // the first line if it begins with #!, without its end
		Preamble
		Config  *Config // nil if it is missing
		Imports []*Import
		Items   []Item
	}
	// Config is config = { key = value; ... }.
	Config struct {
		node
		Settings []*Setting
	}
	// Setting is one assignment of a config block. Value is an Int, Bool or String; a bare word is a String
	// with Bare set.
	Setting struct {
		node
		Key   string
		Value Expr
	}
	// Import is import "path";. It is an item at the start of a script, and a statement in blocks.
	Import struct {
		stmtNode
		Path string
	}
	// Probe is a list of attach points, a predicate (nil if there is none) and a body.
	Probe struct {
		itemNode
		Points    []*Point
		Predicate Expr
		Body      *Block
	}
	// Point is an attach point as written. ParsePlace parses its text.
	Point struct {
		node
		Text string
	}
	// Macro is macro name(args) { ... }. Each argument is a Var, a Map or an Ident.
	Macro struct {
		itemNode
		Name string
		Args []Expr
		Body *Block
	}
	// Function is fn name($a : type, ...) : type { ... }.
	Function struct {
		itemNode
		Name   string
		Params []*Param
		Result *TypeOf
		Body   *Block
	}
	// Param is a parameter of a Function.
	Param struct {
		node
		Var  *Var
		Type *TypeOf
	}
	// MapDecl is let @name = kind(max entries);.
	MapDecl struct {
		itemNode
		Name string // with its @
		Kind string
		Max  uint64
	}
)

// Statements.
type (
	// ExprStmt is an expression whose value is not used.
	ExprStmt struct {
		stmtNode
		X Expr
	}
	// Let is let $v, let $v : type, or one of them with an initial value. Type and Value may be nil.
	Let struct {
		stmtNode
		Var   *Var
		Type  *TypeOf
		Value Expr
	}
	// Assign is an assignment to a Var, Map or Element. Op is "" for =, otherwise the operator before the =.
	Assign struct {
		stmtNode
		Target Expr
		Op     string
		Value  Expr
	}
	// Discard is _ = X.
	Discard struct {
		stmtNode
		X Expr
	}
	// While is while (Cond) { ... }.
	While struct {
		stmtNode
		Cond Expr
		Body *Block
	}
	// Unroll is unroll (Count) { ... }.
	Unroll struct {
		stmtNode
		Count Expr
		Body  *Block
	}
	// For is for ($v : @map) { ... } (Map) or for ($v : from..to) { ... }.
	For struct {
		stmtNode
		Var      *Var
		Map      *Map
		From, To Expr
		Body     *Block
	}
	// Jump is break, continue or return. Value is only for return, and may be nil.
	Jump struct {
		stmtNode
		Word  string
		Value Expr
	}
)

// Expressions.
type (
	// Ident is a bare word: a builtin, a constant, an enumerator, a macro without arguments, a parameter of a
	// macro, a program's variable.
	Ident struct {
		exprNode
		Name string
	}
	// Int is an integer literal; Text is how it is written.
	Int struct {
		exprNode
		Value uint64
		Text  string
	}
	// Float is a floating literal. bpftrace has none.
	Float struct {
		exprNode
		Value float64
	}
	// Bool is true or false.
	Bool struct {
		exprNode
		Value bool
	}
	// String is a string literal, its escapes replaced. Bare marks a word of a config block.
	String struct {
		exprNode
		Value string
		Bare  bool
	}
	// Var is a scratch variable; its name has the $.
	Var struct {
		exprNode
		Name string
	}
	// Map is a map without a key; its name has the @ (which may be all).
	Map struct {
		exprNode
		Name string
	}
	// Element is Map[Key]. Several keys are a Tuple.
	Element struct {
		exprNode
		Map *Map
		Key Expr
	}
	// Positional is $1, $2, ...
	Positional struct {
		exprNode
		N int
	}
	// PositionalCount is $#.
	PositionalCount struct{ exprNode }
	// Call is Name(Args). An argument may be a TypeOf.
	Call struct {
		exprNode
		Name    string
		NamePos lang.Span
		Args    []Expr
	}
	// TypeOf is a type where one is expected, or as an argument of a call: a Type, or the type of X. Written
	// means that it is written typeof(...).
	TypeOf struct {
		exprNode
		Type    *Type
		X       Expr
		Written bool
	}
	// Sizeof is sizeof(type or expression).
	Sizeof struct {
		exprNode
		Of *TypeOf
	}
	// Offsetof is offsetof(type or expression, a.b.c).
	Offsetof struct {
		exprNode
		Of     *TypeOf
		Fields []string
	}
	// Typeinfo is typeinfo(type or expression).
	Typeinfo struct {
		exprNode
		Of *TypeOf
	}
	// Comptime is comptime X: X must be known before the script runs.
	Comptime struct {
		exprNode
		X Expr
	}
	// Unary is one of * ! ~ - +.
	Unary struct {
		exprNode
		Op string
		X  Expr
	}
	// Step is ++ or -- before (Prefix) or after X.
	Step struct {
		exprNode
		Op     string
		Prefix bool
		X      Expr
	}
	// Addr is the address of a Var or Map.
	Addr struct {
		exprNode
		X Expr
	}
	// Binary is one of || && | ^ & == != <= >= < > << >> + - * / %.
	Binary struct {
		exprNode
		Op    string
		OpPos lang.Span
		X, Y  Expr
	}
	// Cond is C ? T : F. T is nil in C ?: F.
	Cond struct {
		exprNode
		C, T, F Expr
	}
	// If is an if with its blocks. Else is nil, a Block or an If.
	If struct {
		exprNode
		Cond Expr
		Then *Block
		Else Expr
	}
	// Block is { statements; value }. Value is nil if the block has none.
	Block struct {
		exprNode
		Stmts []Stmt
		Value Expr
	}
	// Tuple is (a, b), (a,) or ().
	Tuple struct {
		exprNode
		Elems []Expr
	}
	// Record is (name = value, ...).
	Record struct {
		exprNode
		Names  []string
		Values []Expr
	}
	// Field is X.Name or X->Name.
	Field struct {
		exprNode
		X       Expr
		Name    string
		NamePos lang.Span
	}
	// TupleField is X.N.
	TupleField struct {
		exprNode
		X Expr
		N int
	}
	// Index is X[I].
	Index struct {
		exprNode
		X, I Expr
	}
	// Cast is (Type)X.
	Cast struct {
		exprNode
		Type *TypeOf
		X    Expr
	}
)

// Type is a type as written: a name, or a tag such as struct with a name, and suffixes from left to right.
type Type struct {
	node
	Tag      string // struct, union, enum or ""
	Name     string
	Suffixes []Suffix
}

// Suffix is * or [Size]. Size is 0 in [].
type Suffix struct {
	Pointer bool
	Size    uint64
}
