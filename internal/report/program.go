package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/sema"
)

// program is a condition or a list, compiled for the records of a schema.
type program struct {
	code    *ir.Program
	schema  event.Schema // of what it collects
	machine eval.Machine
	runner  eval.Runner
	memory  memory
}

// condition compiles a filter.
func (sc *scope) condition(c *lang.Condition) (*program, error) {
	x, err := sc.resolve(c.X, c.From)
	if err != nil {
		return nil, err
	}
	return sc.compile(&sema.Input{Cond: &lang.Condition{X: x, From: c.From}})
}

// list compiles a collect list.
func (sc *scope) list(items []lang.Collect) (*program, error) {
	items = slices.Clone(items)
	for i := range items {
		x, err := sc.resolve(items[i].X, items[i].From)
		if err != nil {
			return nil, err
		}
		items[i].X = x
	}
	return sc.compile(&sema.Input{Collect: items})
}

func (sc *scope) compile(in *sema.Input) (*program, error) {
	s := sc.schema
	in.Scope, in.Readable, in.NoTexts = sc, sc.readable, true
	in.SiteID, in.Place, in.Function, in.File, in.Line = s.SiteID, s.Place, s.Function, s.File, s.Line
	in.StringLimit, in.RepeatLimit, in.AggregateLimit = stringLimit, stringLimit, sema.MaxRecordSize/4
	out, err := sema.Compile(in)
	if err != nil {
		return nil, aboutFields(err)
	}
	if err := ir.Optimize(out.Program); err != nil {
		panic("BUG: report: the program of an expression: " + err.Error())
	}
	p := &program{code: out.Program, schema: out.Schema, memory: memory{scope: sc}}
	p.machine.RecordRoom = true
	p.machine.Mem = &p.memory
	return p, nil
}

// aboutFields is an error with the words for fields: they are no variables of a program any more.
func aboutFields(err error) error {
	var list lang.Diagnostics
	if !errors.As(err, &list) {
		return err
	}
	out := make(lang.Diagnostics, len(list))
	for i, d := range list {
		c := *d
		if name, ok := strings.CutPrefix(c.Msg, "no variable "); ok {
			c.Msg = "no field " + name
		}
		if names, ok := strings.CutPrefix(c.Hint, "variables here: "); ok {
			c.Hint = "fields here: " + names
		}
		out[i] = &c
	}
	return out
}

// stringLimit is the largest text or list that an expression takes from a record.
const stringLimit = 4096

// run runs the program on an event of its schema. ok: the condition holds, record has what is collected. unknown: the condition needs
// something that the trace does not have.
func (p *program) run(ev *event.Event) (record []byte, ok, unknown bool) {
	p.memory.set(ev)
	out := p.runner.Run(p.code, &p.machine)
	return out.Record, out.Record != nil, out.Record == nil && (out.Faults > 0 || out.Counters[ring.CounterCondFault] > 0)
}

// resolve gives the parts of an expression the fields that were recorded for them: p->len is the field of that name, and a member of *p
// if that was recorded.
func (sc *scope) resolve(x lang.Expr, from lang.Text) (lang.Expr, error) {
	x, d := lang.Decide(x, sc.isType)
	if d != nil {
		return nil, from.At(d.Span, d.Msg, d.Hint)
	}
	var bad *lang.Diagnostic
	var field func(y lang.Expr) lang.Expr
	field = func(y lang.Expr) lang.Expr {
		if name, ok := sc.forms[lang.String(y)]; ok {
			return lang.NameFor(y, name)
		}
		if list, i := sc.element(y); list != nil {
			return lang.ElementFor(y, list, lang.Replace(i, field))
		}
		switch y := y.(type) {
		case *lang.Unary:
			if y.Op == "&" && bad == nil {
				bad = from.At(y.Span(), "addresses of fields were not recorded", "record &x to have the address of x")
			}
		case *lang.Reg:
			if sc.vars["$"+y.Name] != nil {
				return lang.NameFor(y, "$"+y.Name)
			}
			if bad == nil {
				bad = from.At(y.Span(), fmt.Sprintf("$%s was not recorded at %s", y.Name, sc.schema.Place), sc.recorded())
			}
		case *lang.Member:
			if y.Arrow {
				if name, ok := sc.forms["(*"+lang.String(y.X)+")"]; ok {
					return lang.MemberOf(y, lang.NameFor(y.X, name))
				}
			}
		}
		return nil
	}
	x = lang.Replace(x, field)
	if bad != nil {
		return nil, bad
	}
	return x, nil
}

// element returns the recorded list of which an expression is an element, and its index, nil for the first: p[i], *p and p->x are of *p@n.
func (sc *scope) element(y lang.Expr) (list *lang.Ident, i lang.Expr) {
	p, i := pointed(y)
	if p == nil {
		return nil, nil
	}
	name, ok := sc.elems[lang.String(p)]
	if !ok {
		return nil, nil
	}
	return lang.NameFor(p, name), i
}

// pointed returns the pointer that an expression looks behind, and the index.
func pointed(y lang.Expr) (p, i lang.Expr) {
	switch y := y.(type) {
	case *lang.Index:
		return y.X, y.I
	case *lang.Unary:
		if y.Op == "*" {
			return y.X, nil
		}
	case *lang.Member:
		if y.Arrow {
			return y.X, nil
		}
	}
	return nil, nil
}

// firstOf returns p of *p@n and p[0]@n.
func firstOf(x lang.Expr) lang.Expr {
	r, ok := x.(*lang.Repeat)
	if !ok {
		return nil
	}
	p, i := pointed(r.X)
	if _, arrow := r.X.(*lang.Member); arrow {
		return nil
	}
	if n, ok := i.(*lang.IntLit); i != nil && (!ok || n.Value != 0) {
		return nil
	}
	return p
}

// recorded is a hint that lists the fields.
func (sc *scope) recorded() string { return recordedHint(sc.order) }

func recordedHint(list []*debuginfo.Variable) string {
	const most = 12
	text := ""
	for i, v := range list {
		if i == most {
			text += ", ..."
			break
		}
		if i > 0 {
			text += ", "
		}
		text += v.Name
	}
	if text == "" {
		return "no fields were recorded there; $tid, $pid, $cpu, $comm, $time, $place and $function are known of each event"
	}
	return "recorded fields: " + text
}
