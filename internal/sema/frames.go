package sema

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// @up(x, n), $args@n and $locals@n are in the frame n up from the place: n times that of the function into which a function
// is inlined, or of its caller. The scope there has locations in the registers of the place, so nothing else differs.

// up runs f with the names of the frame n up.
func (st *site) up(n int, span lang.Span, f func()) {
	in := st.in
	if k := in.Kernel; k != nil && k.Return {
		st.fail(span, "callers are not known at a return in the kernel engine", "FUNCTION%return in a traced process has them")
	}
	framed, ok := in.Scope.(debuginfo.Framed)
	if !ok {
		st.failFrames("there is no DWARF", span)
	}
	scope, err := framed.Up(n)
	var none *debuginfo.NoFrameError
	if errors.As(err, &none) {
		st.failFrames(none.Why, span)
	}
	if err != nil {
		st.fail(span, err.Error(), "")
	}
	there := *in
	there.Scope, there.AtEntry, there.Exit = scope, false, nil
	st.in, st.frame = &there, st.frame+n
	defer func() { st.in, st.frame = in, st.frame-n }()
	f()
}

// failFrames reports that a frame is not known at the place. Others of the same tracepoint may know theirs.
func (st *site) failFrames(why string, span lang.Span) {
	why = "the caller is not known here: " + why
	panic(&bail{d: st.from.At(span, why, "$bt has the stack"), unavailable: true, undescribed: true, otherwise: true, why: why})
}

// upCall is @up(x[, n]).
func upCall(c *checker, x *lang.Call) (e expr) {
	if len(x.Args) < 1 || len(x.Args) > 2 {
		c.fail(x.Span(), "@up needs an expression and an optional number of frames", "@up(x) or @up(x, 2)")
	}
	c.up(framesOf(c, x), x.Span(), func() { e = c.expr(c.decide(x.Args[0])) })
	return e
}

// framesOf is the number of frames that a call of @up names.
func framesOf(c *checker, x *lang.Call) int {
	if len(x.Args) < 2 {
		return 1
	}
	return frameNumber(c, x.Args[1])
}

func frameNumber(c *checker, x lang.Expr) int {
	n := c.value(c.decide(x))
	v, ok := constInt(n)
	if !ok || !isInt(n.Type()) || v != int64(int(v)) {
		c.fail(n.Span(), "the number of frames must be a constant", "@up(x, 2), $args@2")
	}
	return int(v)
}

// own makes sure that a register or word is that of the innermost frame.
func (st *site) own(name string, span lang.Span) {
	if st.frame > 0 && st.uneval == 0 {
		st.fail(span, fmt.Sprintf("$%s is known in the innermost frame only", name), "write it outside of @up(...)")
	}
}

// frameGroup plans $args@n, $locals@n, @up($args, n) and @up($locals, n). ok: it is such an item; a
// frame may have no variables.
func (co *collector) frameGroup(it lang.Collect) (plans []*plan, ok bool) {
	var group *lang.Reg
	var number lang.Expr
	n := 1
	switch x := it.X.(type) {
	case *lang.Repeat:
		group, _ = x.X.(*lang.Reg)
		number = x.N
	case *lang.Call:
		if !lang.OtherFrame(x) || len(x.Args) < 1 || len(x.Args) > 2 {
			return nil, false
		}
		group, _ = x.Args[0].(*lang.Reg)
		if len(x.Args) == 2 {
			number = x.Args[1]
		}
	}
	if group == nil || group.Name != "args" && group.Name != "locals" {
		return nil, false
	}
	if number != nil {
		n = frameNumber(co.checker, number)
	}
	b := co.try(func() {
		co.up(n, it.Span, func() {
			list := co.in.Scope.Args
			if group.Name == "locals" {
				list = co.in.Scope.Locals
			}
			plans = co.group(it, list())
		})
	})
	switch {
	case b == nil:
	case !b.otherwise:
		panic(b)
	default:
		co.missing = append(co.missing, b.d)
		p := &plan{span: it.Span}
		p.Name = it.Text
		p.unsupported(b.why)
		return []*plan{p}, true
	}
	for _, p := range plans {
		if p.Name != it.Text && n > 0 {
			p.Name += "@" + strconv.Itoa(n)
		}
	}
	return plans, true
}
