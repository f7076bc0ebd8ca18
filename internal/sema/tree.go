package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// expr is a typed expression. Lvalues (varRef, deref, sub, repeat, comma and
// condExpr of aggregates) denote objects; all others are values in one IR value.
type expr interface {
	Type() *ctype.Type
	Span() lang.Span
}

type typed struct {
	t    *ctype.Type
	span lang.Span
}

func (n typed) Type() *ctype.Type { return n.t }
func (n typed) Span() lang.Span   { return n.span }

type (
	// intConst is an integer or pointer constant, extended as its type says.
	// enum is set for a bare enumerator (whose C type is int).
	intConst struct {
		typed
		v    int64
		enum *ctype.Type
	}
	// floatConst is a constant of type float or double.
	floatConst struct {
		typed
		v float64
	}
	// strLit is a string literal, allowed in few places.
	strLit struct {
		typed
		v string
	}

	// varRef is a variable, register or other thing with a location.
	varRef struct {
		typed
		name  string
		loc   debuginfo.Location
		array *debuginfo.Variable // with a number of elements that is computed at run time
	}
	// deref is the object that ptr points to.
	deref struct {
		typed
		ptr expr
	}
	// sub is a part of an object: a member or an element with a constant index.
	sub struct {
		typed
		x       expr
		bitOff  int64 // from the start of x
		bitSize int64 // of a bit-field, else 0
	}
	// repeat is x@n as an array object; n is nil when count (constant) says it.
	repeat struct {
		typed
		x     expr
		n     expr
		count int64
	}

	// load is the value of a scalar object.
	load struct {
		typed
		x expr
	}
	// addrOf is the address of an object (&x, or a decayed array or function).
	addrOf struct {
		typed
		x expr
	}
	// unary is - or ~ on a promoted operand.
	unary struct {
		typed
		op string
		x  expr
	}
	// not is !x; x is any scalar.
	not struct {
		typed
		x expr
	}
	// arith is + - * / % & | ^ on operands of type t, or << >> with a left operand of type t.
	arith struct {
		typed
		op   string
		x, y expr
	}
	// compare is == != < <= > >= on operands of one type.
	compare struct {
		typed
		op   string
		x, y expr
	}
	// logic is && (and) or ||.
	logic struct {
		typed
		and  bool
		x, y expr
	}
	// condExpr is c ? a : b; a and b have type t (or are objects of it).
	condExpr struct {
		typed
		c, a, b expr
	}
	// conv is a conversion between scalar types.
	conv struct {
		typed
		x expr
	}
	// comma is x, y; x is nil when it has no effect that can be seen (it cannot fault).
	comma struct {
		typed
		x, y expr
	}
	// ptrAdd is p + i*scale (or p - i*scale); i is 64 bits wide.
	ptrAdd struct {
		typed
		p, i  expr
		scale int64
		minus bool
	}
	// ptrDiff is (x - y) / size.
	ptrDiff struct {
		typed
		x, y expr
		size int64
	}
	// within is index i, a fault unless it is below n, unsigned.
	within struct {
		typed
		i, n expr
	}
	// text is str(p, limit): the string at pointer value p.
	text struct {
		typed
		p     expr
		limit int64
	}
	// textEq is (x == lit): x is a pointer value (bound -1: a NUL-terminated
	// string; else at most bound bytes of it) or, with array set, a char array object.
	textEq struct {
		typed
		x     expr
		lit   string
		array bool
		bound int64
	}
	// dynamic is a dynamic array of a tracepoint's record: off is where its word
	// is in the context block. Its type is an array without count.
	dynamic struct {
		typed
		off int64
		rel bool
	}
	// dynamicSize is sizeof a dynamic array.
	dynamicSize struct {
		typed
		x *dynamic
	}
	// perCPU is a per-CPU variable on CPU n; n nil is the CPU of the hit.
	perCPU struct {
		typed
		x *varRef
		n expr
	}
	// elapsedExpr is $elapsed; since: the time stamp of the entry in its place.
	elapsedExpr struct {
		typed
		since bool
	}
	// keptExpr is @entry(x): number n of the values that the entry keeps.
	keptExpr struct {
		typed
		n int
	}
	// mapExpr is @map(...): what a map has for a key; has: @has(...), whether it has the key.
	mapExpr struct {
		typed
		m   *Map
		key []keyExpr
		has bool
	}
	// localExpr is @local(n), nsecsExpr @nsecs().
	localExpr struct {
		typed
		n int
	}
	nsecsExpr struct{ typed }
	// signalExpr is @signal(n, thread, ...): sends a signal to the process, or to the thread, that executes the site.
	signalExpr struct {
		typed
		n      expr
		thread bool
	}
	// voidExpr is (void)x.
	voidExpr struct {
		typed
		x expr
	}
)

// isLvalue reports whether e denotes an object.
func isLvalue(e expr) bool {
	switch e := e.(type) {
	case *varRef, *deref, *sub, *repeat, *dynamic, *perCPU:
		return true
	case *condExpr:
		return !isScalar(e.t) && !isVoid(e.t)
	case *comma:
		return isLvalue(e.y)
	}
	return false
}

// bitField returns the width of the bit-field that e denotes, else 0.
func bitField(e expr) int64 {
	switch e := e.(type) {
	case *sub:
		return e.bitSize
	case *load:
		return bitField(e.x)
	case *comma:
		return bitField(e.y)
	}
	return 0
}
