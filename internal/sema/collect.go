package sema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
)

// collector plans the fields of the record.
type collector struct{ *checker }

// mode is how a field is collected.
type mode uint8

const (
	asNothing mode = iota // it has no value here, or is in the header
	asValue               // x is a scalar value
	asBytes               // x is an object: its bytes
	asText                // x is a pointer value: the string there
	asPointer             // x is a char pointer value: itself and its string
	asRepeat              // x is a repeat whose count is known at the hit
	asRegs
	asStack
	asWalk
	asTables
	asUserStack
	asDynamic // x is a dynamic array of the record
	asFrames
	asSData
	asGrid // all elements of grid; limit is in bytes
)

// plan is a checked field, ready to be lowered.
type plan struct {
	event.Field
	mode  mode
	x     expr
	limit int64 // asText, asPointer: bytes of the string; asRepeat: elements
	width int64 // asText, asPointer: bytes of a character
	span  lang.Span
	from  lang.Text
	bases []*basePart // of x and its parts
	texts []*textPart // of the parts of x
	grid  *grid

	item   int   // number in the collect list
	locals []int // that it uses
}

// collect checks a collect list. Each item's error is kept; the others are still checked.
func (co *collector) collect(items []lang.Collect) []*plan {
	var plans []*plan
	for i, it := range items {
		it.Text, co.from, co.used = keyOf(items, i), it.From, nil
		item := func() {
			it.X, co.keptVariables = co.decide(it.X), it.Kept
			for _, p := range co.item(it) {
				if size := p.bytes(co.in); co.in.Own && size > groupLimit {
					p.unsupported(fmt.Sprintf("it takes %d bytes: collect it by name", size))
				}
				p.from, p.item, p.locals = it.From, i, co.used
				plans = append(plans, p)
			}
		}
		switch {
		case co.in.Own:
			if b := co.try(item); b != nil {
				plans = append(plans, co.without(it, b)...)
			}
		case co.in.Lenient:
			if b := co.try(item); b != nil {
				co.missing, co.absentItems = append(co.missing, b.d), append(co.absentItems, i)
				plans = append(plans, co.absent(it, b))
			}
		default:
			co.guard(item)
		}
	}
	return plans
}

// without plans an item of the place's own list that has no value here: a field with the reason, or nothing if the function
// has no result.
func (co *collector) without(it lang.Collect, b *bail) []*plan {
	switch x := co.in.Exit; {
	case x != nil && x.Value == nil && !b.unavailable && isRetval(it.X):
		return nil
	case co.in.Kernel != nil && !co.in.Kernel.User:
		return nil
	}
	return []*plan{co.absent(it, b)}
}

// absent plans an item that has no value here: a field with the reason.
func (co *collector) absent(it lang.Collect, b *bail) *plan {
	p := &plan{span: it.Span}
	p.Name, p.Static, p.Reason = it.Text, event.Unsupported, b.d.Msg
	if b.why != "" {
		p.Reason = b.why
	}
	co.typeOnly(p, it)
	return p
}

func isRetval(x lang.Expr) bool {
	r, ok := x.(*lang.Reg)
	return ok && r.Name == "retval"
}

// typeOnly sets the type of a field that has no value, if it is known.
func (co *collector) typeOnly(p *plan, it lang.Collect) {
	_ = co.try(func() {
		co.uneval++
		p.Type = co.expr(it.X).Type()
	})
	co.uneval = 0
}

// keyOf is the key of an item's value: the expression as written, and its format
// only where an earlier item is the same expression in another one.
func keyOf(items []lang.Collect, i int) string {
	it := items[i]
	for _, earlier := range items[:i] {
		if f := it.Format; earlier.Text == it.Text && earlier.Format != f {
			key := it.Text + "/"
			if f.Count > 1 {
				key += strconv.Itoa(f.Count)
			}
			for _, b := range []byte{f.Letter, f.Size} {
				if b != 0 {
					key += string(rune(b))
				}
			}
			return strings.TrimSuffix(key, "/")
		}
	}
	return it.Text
}

func (co *collector) item(it lang.Collect) []*plan {
	if p := co.bareItem(it); p != nil {
		return p
	}
	if r, ok := it.X.(*lang.Reg); ok {
		if f := co.itemWord(r.Name); f != nil {
			if it.Format.Letter != 0 && r.Name != "args" && r.Name != "locals" {
				co.fail(it.Span, fmt.Sprintf("$%s takes no format", r.Name), "")
			}
			return f(co, it)
		}
	}
	if list, ok := co.entryArgs(it); ok {
		return list
	}
	if list, ok := co.frameGroup(it); ok {
		return list
	}
	p := co.exitField(it)
	if p == nil {
		p = co.itemField(it)
	}
	co.fromStamp(p)
	p.Name, p.span = it.Text, it.Span
	return []*plan{p}
}

// itemField plans an item that is an expression. If the debug information has no value here of a variable in it, the
// field has the reason: the other items, and other addresses of the place, have their values.
func (co *collector) itemField(it lang.Collect) *plan {
	var p *plan
	b := co.try(func() { p = co.field(co.wordAsText(it, co.expr(it.X)), it.Format) })
	switch {
	case b == nil:
		return p
	case !b.undescribed || co.in.Kernel != nil && !co.in.Kernel.User: // another site of the kernel may have it
		panic(b)
	}
	co.missing = append(co.missing, b.d)
	p = &plan{}
	p.Static, p.Reason = event.OptimisedOut, b.why
	if b.otherwise {
		p.Static = event.Unsupported
	}
	co.typeOnly(p, it)
	return p
}

// exitField plans an item at a tail call that needs the return value: the record has the reason why there is
// none. It returns nil for all others.
func (co *collector) exitField(it lang.Collect) *plan {
	if x := co.in.Exit; x == nil || !x.Tail || x.Value == nil {
		return nil
	}
	b := co.try(func() { co.field(co.expr(it.X), it.Format) })
	if b == nil || !b.unavailable || b.why != co.in.Exit.Value.Loc.Unavailable {
		return nil
	}
	p := &plan{}
	p.Type, p.Static, p.Reason = co.in.Exit.Value.Type, event.Unsupported, b.why
	return p
}

// whole is the lowering of an item that is taken as it is.
func whole(kind event.FieldKind, m mode) func(*collector, lang.Collect) []*plan {
	return func(_ *collector, it lang.Collect) []*plan { return special(it, kind, m) }
}

func argsGroup(c *collector, it lang.Collect) []*plan   { return c.group(it, c.in.Scope.Args()) }
func localsGroup(c *collector, it lang.Collect) []*plan { return c.group(it, c.in.Scope.Locals()) }

func special(it lang.Collect, kind event.FieldKind, m mode) []*plan {
	return []*plan{{Field: event.Field{Name: it.Text, Kind: kind}, mode: m, span: it.Span}}
}

func header(_ *collector, it lang.Collect) []*plan {
	it.Text = "$" + dollarWord(it.X.(*lang.Reg).Name).Name // what the reader knows it by
	return special(it, event.Header, asNothing)
}

// groupLimit bounds what $args and $locals together add to a record.
const groupLimit = MaxRecordSize / 2

// groupElements bounds the bytes of the elements of one container in them: a record has the room, also if there are few.
const groupElements = 256

// group expands $args and $locals: a field for each variable. For a variable without a value here the
// schema has the reason; this is no error.
func (co *collector) group(it lang.Collect, vars []*debuginfo.Variable) []*plan {
	if !co.in.Scope.HasDebugInfo() {
		p := &plan{span: it.Span}
		p.Name, p.Static, p.Reason = it.Text, event.Unsupported, "there is no debug information"
		return []*plan{p}
	}
	var plans []*plan
	total := int64(0)
	for _, v := range vars {
		p := co.groupField(v, it)
		if total+p.bytes(co.in) > groupLimit {
			p.texts = nil
		}
		if size := p.bytes(co.in); total+size > groupLimit {
			p.unsupported(fmt.Sprintf("%s collects at most %d bytes in all; collect %s by name", it.Text, groupLimit, v.Name))
		} else {
			total += size
		}
		p.Name, p.Group, p.span = v.Name, it.Text, it.Span
		plans = append(plans, p)
	}
	return plans
}

func (co *collector) groupField(v *debuginfo.Variable, it lang.Collect) *plan {
	var p *plan
	b := co.try(func() {
		p = co.field(co.variable(v, it.Span), it.Format)
		if size := p.Type.Strip().Size; p.mode == asBytes && size > int64(co.in.AggregateLimit) {
			p.unsupported(fmt.Sprintf("%d bytes: %s collects at most %d of one variable; collect %s by name",
				size, it.Text, co.in.AggregateLimit, v.Name))
		}
		for _, t := range p.texts {
			if t.elements {
				t.limit = min(t.limit, t.bytes(int64(co.in.RepeatLimit), groupElements))
			}
		}
		if p.mode == asGrid {
			p.limit = p.grid.within(p.limit, int64(co.in.AggregateLimit))
		}
	})
	if b != nil {
		p = b.plan(v)
	}
	return p
}

// plan is that of a variable for which no code could be made.
func (b *bail) plan(v *debuginfo.Variable) *plan {
	p := &plan{}
	p.Type = v.Type
	p.Static, p.Reason = event.Unsupported, b.d.Msg
	switch {
	case b.otherwise:
		p.Reason = b.why
	case b.unavailable:
		p.Static, p.Reason = event.OptimisedOut, b.why
	}
	return p
}

func (p *plan) unsupported(why string) {
	p.mode, p.Static, p.Reason = asNothing, event.Unsupported, why
}

// bytes estimates what p takes in the record.
func (p *plan) bytes(in *Input) int64 {
	n := int64(16)
	switch p.mode {
	case asBytes:
		n += p.Type.Strip().Size + basesSize(p.bases) + textsSize(p.texts)
	case asGrid:
		n += countedHeader + p.limit + gridHead(p.grid)
	case asText, asPointer:
		n += 16 + p.limit
	case asRepeat, asDynamic:
		n += 16 + p.limit*elemOf(p.Type).Strip().Size
	case asFrames:
		n += countedHeader + framesSize(in)
	case asSData:
		n += countedHeader + sdataSize(in)
	case asRegs:
		n += regsSize
	case asStack, asUserStack:
		n += regsSize + 8 + int64(in.StackLimit)
	case asWalk:
		n += countedHeader + 8*int64(in.StackFrames)
	case asTables:
		n += countedHeader + 8*int64(in.StackFrames) + regsSize + 8 + int64(in.StackLimit)
	}
	return n
}

// tooLarge reports a record above the limit, at its largest field.
func (co *collector) tooLarge(out *Output, plans []*plan) *lang.Diagnostic {
	if out.Schema.RecordSize <= MaxRecordSize {
		return nil
	}
	var worst *plan
	for _, p := range plans {
		if worst == nil || p.bytes(co.in) > worst.bytes(co.in) {
			worst = p
		}
	}
	return worst.from.At(worst.span,
		fmt.Sprintf("the record would have %d bytes; the limit is %d, and this is its largest part", out.Schema.RecordSize, MaxRecordSize),
		"collect less, or lower the limits for strings and the stack")
}
