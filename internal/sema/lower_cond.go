package sema

import "github.com/jalon-trace/jalon/internal/ir"

// branch makes the code that goes to yes when e is not zero and to no when it
// is. && || ! and ?: become control flow; no 0 or 1 is made.
func (vs *values) branch(e expr, yes, no ir.BlockID) {
	switch e := e.(type) {
	case *not:
		vs.branch(e.x, no, yes)
		return
	case *logic:
		mid := vs.b.NewBlock("condition")
		if e.and {
			vs.branch(e.x, mid, no)
		} else {
			vs.branch(e.x, yes, mid)
		}
		vs.b.Start(mid)
		vs.branch(e.y, yes, no)
		return
	case *condExpr:
		a, b := vs.b.NewBlock("condition"), vs.b.NewBlock("condition")
		vs.branch(e.c, a, b)
		vs.b.Start(a)
		vs.branch(e.a, yes, no)
		vs.b.Start(b)
		vs.branch(e.b, yes, no)
		return
	case *comma:
		vs.discard(e.x)
		vs.branch(e.y, yes, no)
		return
	}
	vs.b.Branch(vs.truth(e), yes, no)
}

// truth is a value that is zero in all 64 bits exactly when e is zero.
func (vs *values) truth(e expr) ir.Value {
	switch e.(type) {
	case *compare, *textEq, *intConst:
		return vs.value(e)
	}
	if isFloat(e.Type()) || e.Type().Strip().Size == 4 {
		return vs.isNonZero(e)
	}
	return vs.value(e)
}

// bool is the 0 or 1 of a && or || whose value is used.
func (vs *values) bool(e expr) ir.Value {
	yes, no, join := vs.b.NewBlock("true"), vs.b.NewBlock("false"), vs.b.NewBlock("joined", ir.I64)
	vs.branch(e, yes, no)
	vs.b.Start(yes)
	vs.b.Jump(join, vs.b.Const(1))
	vs.b.Start(no)
	vs.b.Jump(join, vs.b.Const(0))
	vs.b.Start(join)
	return vs.b.Param(join, 0)
}

// either evaluates a or b by make, depending on c, and joins the results.
func (vs *values) either(c expr, make func(expr) ir.Value, a, b expr, class ir.Class) ir.Value {
	yes, no, join := vs.b.NewBlock("then"), vs.b.NewBlock("else"), vs.b.NewBlock("joined", class)
	vs.branch(c, yes, no)
	vs.b.Start(yes)
	vs.b.Jump(join, make(a))
	vs.b.Start(no)
	vs.b.Jump(join, make(b))
	vs.b.Start(join)
	return vs.b.Param(join, 0)
}

// textEq compares text; see checker.textEqual for what e.x is.
func (vs *values) textEq(e *textEq) ir.Value {
	n := int64(len(e.lit))
	switch {
	case e.bound >= 0 && n > e.bound:
		return vs.b.Const(0)
	case e.array:
		return vs.arrayEq(e, n)
	case e.bound == n: // the text stops at the limit: no NUL is looked for
		return vs.bytesEq(vs.address(e.x), e.lit, 1)
	}
	return vs.strEq(vs.address(e.x), e.lit)
}

func (vs *values) strEq(addr sym, lit string) ir.Value {
	base, off := vs.split(addr)
	return vs.b.Def(ir.I64, ir.Instr{Op: ir.StrEq, A: base, B: ir.None, Imm: off, Data: lit, Fault: vs.faultFor(addr)})
}

// maxInline is the longest text that is compared by words instead of StrEq.
const maxInline = 32

// arrayEq compares a char array, which may be filled to its end without a NUL.
func (vs *values) arrayEq(e *textEq, n int64) ir.Value {
	if d, ok := e.x.(*dynamic); ok {
		return vs.dynamicEq(d, e.lit)
	}
	p := vs.place(e.x)
	lit := e.lit
	if n < e.bound {
		if p.mem && (p.addr.trust == noTrust || n >= maxInline) {
			// The object behind a pointer may be shorter than its type: nothing after the first difference
			// is read.
			return vs.strEq(vs.byteAddr(p), lit)
		}
		lit += "\x00"
	}
	if p.mem && !p.ctx {
		w := int64(1)
		if p.addr.trust != noTrust {
			w = 8
		}
		return vs.bytesEq(vs.byteAddr(p), lit, w)
	}
	return vs.chunksEq(lit, 8, func(at, n int64) ir.Value {
		q := p
		q.lo += at * 8
		if q.ctx {
			return vs.readContext(q, n*8, n, false)
		}
		return vs.fit(vs.gather(q, n*8), n*8, n, false)
	})
}

// bytesEq compares len(lit) bytes at addr, in words of at most w bytes.
func (vs *values) bytesEq(addr sym, lit string, w int64) ir.Value {
	return vs.chunksEq(lit, w, func(at, n int64) ir.Value { return vs.loadWord(addr.plus(at), uint8(n)) })
}

// chunksEq compares lit with what get reads, chunk by chunk up to the first difference.
func (vs *values) chunksEq(lit string, w int64, get func(at, n int64) ir.Value) ir.Value {
	if lit == "" {
		return vs.b.Const(1)
	}
	no, join := vs.b.NewBlock("text differs"), vs.b.NewBlock("joined", ir.I64)
	for at := int64(0); at < int64(len(lit)); {
		n := w
		for at+n > int64(len(lit)) {
			n /= 2
		}
		want := vs.b.Const(int64(bitsFrom([]byte(lit[at:at+n]), 0, n*8)))
		next := vs.b.NewBlock("text")
		vs.b.BranchTo(vs.b.Bin(ir.Ne, 8, get(at, n), want), ir.Edge{To: no}, ir.Edge{To: next}, false)
		vs.b.Start(next)
		at += n
	}
	vs.b.Jump(join, vs.b.Const(1))
	vs.b.Start(no)
	vs.b.Jump(join, vs.b.Const(0))
	vs.b.Start(join)
	return vs.b.Param(join, 0)
}
