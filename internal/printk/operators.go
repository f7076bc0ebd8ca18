package printk

import "github.com/jalon-trace/jalon/internal/ctype"

// promote applies C's integer promotions: narrower types become int.
func promote(t *ctype.Type) *ctype.Type {
	if t.Size < 4 {
		return ctype.IntT
	}
	return intType(t.Size, t.Signed && t.Kind != ctype.Bool)
}

// common returns the common type for arithmetic on a and b.
func common(a, b *ctype.Type) *ctype.Type {
	a, b = promote(a), promote(b)
	switch {
	case a.Size > b.Size:
		return a
	case b.Size > a.Size:
		return b
	}
	return intType(a.Size, a.Signed && b.Signed)
}

// binaryOps compute on operands that are already converted to the common type t.
var binaryOps = map[string]func(a, b uint64, t *ctype.Type) (uint64, bool){
	"+": func(a, b uint64, _ *ctype.Type) (uint64, bool) { return a + b, true },
	"-": func(a, b uint64, _ *ctype.Type) (uint64, bool) { return a - b, true },
	"*": func(a, b uint64, _ *ctype.Type) (uint64, bool) { return a * b, true },
	"&": func(a, b uint64, _ *ctype.Type) (uint64, bool) { return a & b, true },
	"|": func(a, b uint64, _ *ctype.Type) (uint64, bool) { return a | b, true },
	"^": func(a, b uint64, _ *ctype.Type) (uint64, bool) { return a ^ b, true },
	"/": divide,
	"%": remainder,
}

func divide(a, b uint64, t *ctype.Type) (uint64, bool) {
	switch {
	case b == 0:
		return 0, false
	case t.Signed:
		return uint64(int64(a) / int64(b)), true
	}
	return a / b, true
}

func remainder(a, b uint64, t *ctype.Type) (uint64, bool) {
	switch {
	case b == 0:
		return 0, false
	case t.Signed:
		return uint64(int64(a) % int64(b)), true
	}
	return a % b, true
}

// comparisons compute their result from a < b and a == b.
var comparisons = map[string]func(less, equal bool) bool{
	"<":  func(less, _ bool) bool { return less },
	"<=": func(less, equal bool) bool { return less || equal },
	">":  func(less, equal bool) bool { return !less && !equal },
	">=": func(less, _ bool) bool { return !less },
	"==": func(_, equal bool) bool { return equal },
	"!=": func(_, equal bool) bool { return !equal },
}

// binaryOp is a OP b. It does not include && and ||, which do not always evaluate b.
func binaryOp(op string, a, b value) value {
	a, b = decay(a), decay(b)
	switch {
	case a.fail != "":
		return a
	case b.fail != "":
		return b
	case isPointer(a) || isPointer(b):
		return pointerOp(op, a, b)
	case !a.isInt() || !b.isInt():
		return failed("%s on a value that is not an integer", op)
	}
	if op == "<<" || op == ">>" {
		return shift(op, a, b)
	}
	t := common(a.typ, b.typ)
	x, y := extend(a.n, t), extend(b.n, t)
	if compare, ok := comparisons[op]; ok {
		less := x < y
		if t.Signed {
			less = int64(x) < int64(y)
		}
		return boolean(compare(less, x == y))
	}
	n, ok := binaryOps[op](x, y, t)
	if !ok {
		return failed("division by zero")
	}
	return integer(t, n)
}

// shift has the left operand's type. As on the processor, the count is taken modulo the width.
func shift(op string, a, b value) value {
	t := promote(a.typ)
	count := b.n & uint64(t.Size*8-1)
	x := extend(a.n, t)
	switch {
	case op == "<<":
		x <<= count
	case t.Signed:
		x = uint64(int64(x) >> count)
	default:
		x >>= count
	}
	return integer(t, x)
}

func isPointer(v value) bool { return v.typ.Kind == ctype.Pointer }

// pointerOp is arithmetic and comparison with at least one pointer.
func pointerOp(op string, a, b value) value {
	if compare, ok := comparisons[op]; ok {
		switch {
		case a.blk == b.blk && a.blk != nil:
			return boolean(compare(a.off < b.off, a.off == b.off))
		case a.blk != nil || b.blk != nil:
			// Recorded data is at an unknown kernel address, which is not 0.
			return boolean(compare(b.blk != nil, false))
		}
		return boolean(compare(a.n < b.n, a.n == b.n))
	}
	if op == "+" && !isPointer(a) {
		a, b = b, a
	}
	switch {
	case !isPointer(a):
	case (op == "+" || op == "-") && b.isInt():
		size := elemSize(a.typ)
		if size == 0 {
			return failed("the size of %s is not known", typeText(a.typ.Elem.Strip()))
		}
		step := int64(b.n) * size
		if op == "-" {
			step = -step
		}
		return advance(a, step)
	case op == "-" && isPointer(b) && a.blk == b.blk:
		size := max(elemSize(a.typ), 1)
		return integer(ctype.LongT, uint64((int64(a.n)-int64(b.n)+int64(a.off)-int64(b.off))/size))
	}
	return failed("%s on pointers", op)
}

// elemSize returns the size of a pointer's target, 0 if unknown. void has size 1, as in GNU C.
func elemSize(p *ctype.Type) int64 {
	e := p.Elem.Strip()
	if e.Kind == ctype.Void || e.Kind == ctype.Func {
		return 1
	}
	if e.Incomplete {
		return 0
	}
	return e.Size
}

// advance moves a pointer by bytes.
func advance(p value, by int64) value {
	if p.blk == nil {
		p.n += uint64(by)
		return p
	}
	to := int64(p.off) + by
	if to < 0 || to > int64(len(p.blk.b)) {
		return failed(beyond)
	}
	p.off = int(to)
	return p
}

// unary is OP a for - + ~ !.
func unary(op string, a value) value {
	a = decay(a)
	if a.fail != "" {
		return a
	}
	if op == "!" {
		is, _ := a.truth()
		return boolean(!is)
	}
	if !a.isInt() {
		return failed("%s on a value that is not an integer", op)
	}
	t := promote(a.typ)
	n := extend(a.n, t)
	switch op {
	case "-":
		n = -n
	case "~":
		n = ^n
	}
	return integer(t, n)
}
