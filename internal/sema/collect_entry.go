package sema

import (
	"github.com/jalon-trace/jalon/internal/lang"
)

// entryArgs plans @entry($args): the arguments that are numbers and pointers, as they were when the function was entered. ok: it is such
// an item; a function may have none. A pointer to text is shown without the text, which may have changed.
func (co *collector) entryArgs(it lang.Collect) (plans []*plan, ok bool) {
	call, ok := it.X.(*lang.Call)
	if !ok || len(call.Args) != 1 || !isEntry(call.Fn) {
		return nil, false
	}
	if r, ok := call.Args[0].(*lang.Reg); !ok || r.Name != "args" {
		return nil, false
	}
	co.needPair("@entry", it.Span)
	for _, v := range co.in.Exit.Pair.Entry.Scope.Args() {
		p := &plan{}
		b := co.try(func() {
			x, err := lang.Translated("@entry("+v.Name+")", lang.Text{Source: it.From.Source, Whole: it.From.Whole, Span: it.Span})
			if err != nil {
				co.fail(it.Span, "its name is not C's", "")
			}
			p = co.field(co.expr(co.decide(x)), it.Format)
		})
		if b != nil {
			p = b.plan(v)
		}
		if p.mode == asPointer {
			p.mode = asValue
		}
		p.Name, p.Group, p.span = v.Name, it.Text, it.Span
		plans = append(plans, p)
	}
	return plans, true
}

func isEntry(x lang.Expr) bool {
	id, ok := x.(*lang.Ident)
	return ok && id.Name == "@entry"
}
