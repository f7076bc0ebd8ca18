package sema

import "github.com/jalon-trace/jalon/internal/ir"

// branch makes the code that goes to yes when e is not zero and to no when it
// is. && || ! and ?: become control flow; no 0 or 1 is made.
func (l *lowerer) branch(e expr, yes, no ir.BlockID) {
	switch e := e.(type) {
	case *not:
		l.branch(e.x, no, yes)
		return
	case *logic:
		mid := l.b.NewBlock("condition")
		if e.and {
			l.branch(e.x, mid, no)
		} else {
			l.branch(e.x, yes, mid)
		}
		l.b.Start(mid)
		l.branch(e.y, yes, no)
		return
	case *condExpr:
		a, b := l.b.NewBlock("condition"), l.b.NewBlock("condition")
		l.branch(e.c, a, b)
		l.b.Start(a)
		l.branch(e.a, yes, no)
		l.b.Start(b)
		l.branch(e.b, yes, no)
		return
	case *comma:
		l.discard(e.x)
		l.branch(e.y, yes, no)
		return
	}
	l.b.Branch(l.truth(e), yes, no)
}

// truth is a value that is zero in all 64 bits exactly when e is zero.
func (l *lowerer) truth(e expr) ir.Value {
	switch e.(type) {
	case *compare, *textEq, *intConst:
		return l.value(e)
	}
	if isFloat(e.Type()) || e.Type().Strip().Size == 4 {
		return l.isNonZero(e)
	}
	return l.value(e)
}

// bool is the 0 or 1 of a && or || whose value is used.
func (l *lowerer) bool(e expr) ir.Value {
	yes, no, join := l.b.NewBlock("true"), l.b.NewBlock("false"), l.b.NewBlock("joined", ir.I64)
	l.branch(e, yes, no)
	l.b.Start(yes)
	l.b.Jump(join, l.b.Const(1))
	l.b.Start(no)
	l.b.Jump(join, l.b.Const(0))
	l.b.Start(join)
	return l.b.Param(join, 0)
}

// either evaluates a or b by make, as c says, and joins the results.
func (l *lowerer) either(c expr, make func(expr) ir.Value, a, b expr, class ir.Class) ir.Value {
	yes, no, join := l.b.NewBlock("then"), l.b.NewBlock("else"), l.b.NewBlock("joined", class)
	l.branch(c, yes, no)
	l.b.Start(yes)
	l.b.Jump(join, make(a))
	l.b.Start(no)
	l.b.Jump(join, make(b))
	l.b.Start(join)
	return l.b.Param(join, 0)
}

// textEq compares text; see checker.textEqual for what e.x is.
func (l *lowerer) textEq(e *textEq) ir.Value {
	n := int64(len(e.lit))
	switch {
	case e.bound >= 0 && n > e.bound:
		return l.b.Const(0)
	case e.array:
		return l.arrayEq(e, n)
	case e.bound == n: // the text stops at the limit: no NUL is looked for
		return l.bytesEq(l.address(e.x), e.lit, 1)
	}
	return l.strEq(l.address(e.x), e.lit)
}

func (l *lowerer) strEq(addr sym, lit string) ir.Value {
	base, off := l.split(addr)
	return l.b.Def(ir.I64, ir.Instr{Op: ir.StrEq, A: base, B: ir.None, Imm: off, Data: lit, Fault: l.faultFor(addr)})
}

// maxInline is the longest text that is compared by words instead of StrEq.
const maxInline = 32

// arrayEq compares a char array, which may be filled to its end without a NUL.
func (l *lowerer) arrayEq(e *textEq, n int64) ir.Value {
	if d, ok := e.x.(*dynamic); ok {
		return l.dynamicEq(d, e.lit)
	}
	p := l.place(e.x)
	lit := e.lit
	if n < e.bound {
		if p.mem && (p.addr.trust == noTrust || n >= maxInline) {
			// The object behind a pointer may be shorter than its type says:
			// nothing after the first difference is read.
			return l.strEq(l.byteAddr(p), lit)
		}
		lit += "\x00"
	}
	if p.mem && !p.ctx {
		w := int64(1)
		if p.addr.trust != noTrust {
			w = 8
		}
		return l.bytesEq(l.byteAddr(p), lit, w)
	}
	return l.chunksEq(lit, 8, func(at, n int64) ir.Value {
		q := p
		q.lo += at * 8
		if q.ctx {
			return l.readContext(q, n*8, n, false)
		}
		return l.fit(l.gather(q, n*8), n*8, n, false)
	})
}

// bytesEq compares len(lit) bytes at addr, in words of at most w bytes.
func (l *lowerer) bytesEq(addr sym, lit string, w int64) ir.Value {
	return l.chunksEq(lit, w, func(at, n int64) ir.Value { return l.loadWord(addr.plus(at), uint8(n)) })
}

// chunksEq compares lit with what get reads, chunk by chunk up to the first difference.
func (l *lowerer) chunksEq(lit string, w int64, get func(at, n int64) ir.Value) ir.Value {
	if lit == "" {
		return l.b.Const(1)
	}
	no, join := l.b.NewBlock("text differs"), l.b.NewBlock("joined", ir.I64)
	for at := int64(0); at < int64(len(lit)); {
		n := w
		for at+n > int64(len(lit)) {
			n /= 2
		}
		want := l.b.Const(int64(bitsFrom([]byte(lit[at:at+n]), 0, n*8)))
		next := l.b.NewBlock("text")
		l.b.BranchTo(l.b.Bin(ir.Ne, 8, get(at, n), want), ir.Edge{To: no}, ir.Edge{To: next}, false)
		l.b.Start(next)
		at += n
	}
	l.b.Jump(join, l.b.Const(1))
	l.b.Start(no)
	l.b.Jump(join, l.b.Const(0))
	l.b.Start(join)
	return l.b.Param(join, 0)
}
