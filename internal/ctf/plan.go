package ctf

import (
	"fmt"
	"strconv"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// A plan takes the fields of a site's records to the payload of its events and back. It is a function of the schema only, so
// that the writer, the metadata and the reader have the same.
type plan struct {
	schema *event.Schema
	steps  []step
	// plain: the payload is these bytes of each record.
	plain      bool
	from, size int
	least      int // bytes of a payload
	stacks     int // fields that have the number of a stack
	members    []member
	names      names
}

// step is a part of a payload. A step with a tag is absent if the tag is not ok or truncated.
type step struct {
	kind   stepKind
	at     int // of the slot in the record
	size   int // of the slot
	status int // offset of the status byte; -1: none
	moves  []move
	elem   int          // bytes of an element of a sequence
	field  *event.Field // of a stack
	stack  int          // which of the stacks of the schema
	flat   bool         // the value is there, zeros or an empty text, whatever the status is; behind it comes the address that could not be read
}

type stepKind uint8

const (
	stepMoves  stepKind = iota // bytes of the record
	stepTagged                 // a byte with the status, then bytes of the record if there is a value
	stepText                   // a status, then a text up to a NUL, or its length and the text
	stepList                   // a status, then the number of elements and these
	stepStack                  // the number of a stack
	stepCopied                 // a status, then the registers and the number of a stack
	stepStatic                 // a status that is the same in all records
)

// statusLabels are the names of the values of a status.
func statusLabels() []label {
	list := make([]label, len(tagNames))
	for s, name := range tagNames {
		n := strconv.Itoa(s)
		list[s] = label{name, n, n}
	}
	return list
}

var tagNames = []string{
	event.OK: "ok", event.Unreadable: "unreadable", event.DivideByZero: "divide_by_zero", event.OptimisedOut: "optimised_out",
	event.Truncated: "truncated", event.Unsupported: "unsupported", event.BadBounds: "bad_bounds", event.BadIndex: "bad_index",
	event.NoEntry: "no_entry", event.FailedAtEntry: "failed_at_entry",
	event.NotAllocated: "not_allocated", event.NotAssociated: "not_associated",
	event.OtherFrame: "other_frame",
	textWithNUL:      "ok_with_nul", cutTextWithNUL: "truncated_with_nul",
}

// textWithNUL and cutTextWithNUL are the statuses of texts with a NUL inside (a std::string can have one): their length is before them.
const (
	textWithNUL    = event.OtherFrame + 1
	cutTextWithNUL = event.OtherFrame + 2
)

// countedHeader is the length and the flags of a Counted slot.
const countedHeader = 8

func newPlan(s *event.Schema) *plan {
	p := &plan{schema: s}
	for i := range s.Fields {
		p.field(&s.Fields[i])
	}
	p.join()
	for i := range p.steps {
		p.least += p.steps[i].least()
	}
	if p.steps == nil {
		p.plain = true
	}
	if len(p.steps) == 1 && p.steps[0].kind == stepMoves && len(p.steps[0].moves) == 1 {
		m := p.steps[0].moves[0]
		p.plain, p.from, p.size = true, m.from, m.n
	}
	return p
}

// join makes one step of steps of moves one after another, and one move of adjacent ones.
func (p *plan) join() {
	var out []step
	for _, s := range p.steps {
		last := len(out) - 1
		if s.kind != stepMoves || last < 0 || out[last].kind != stepMoves {
			out = append(out, s)
			continue
		}
		for _, m := range s.moves {
			list := out[last].moves
			if k := len(list) - 1; k >= 0 && list[k].from+list[k].n == m.from {
				list[k].n += m.n
			} else {
				out[last].moves = append(list, m)
			}
		}
	}
	p.steps = out
}

// least is a lower bound of the bytes of a step.
func (s *step) least() (n int) {
	switch s.kind {
	case stepMoves:
		for _, m := range s.moves {
			n += m.n
		}
		return n
	case stepStack:
		return 4
	}
	return 1
}

func (p *plan) member(name string, of fieldClass) {
	p.members = append(p.members, member{name: name, of: of})
}

func (p *plan) add(s step) {
	if s.size >= 0 && s.at >= 0 {
		p.steps = append(p.steps, s)
	}
}

// field adds a field of the schema. Headers are in the events' heads.
func (p *plan) field(f *event.Field) {
	if f.Kind == event.Header {
		return
	}
	viewed := fieldName(p.schema, f)
	name := p.names.unique(viewed)
	tag := "_" + name + "_status"
	if f.Static != event.OK {
		p.member(tag, statusClass)
		p.add(step{kind: stepStatic, elem: int(f.Static)})
		return
	}
	switch f.Kind {
	case event.Fixed:
		p.fixed(f, viewed, name, tag)
	case event.Counted:
		p.counted(f, name, tag)
	case event.SData:
		p.list(f.Offset, f.Size, f.StatusOffset, 1, byteClass, name, tag)
	case event.Regs:
		p.tagged(f, registers(), name, tag)
	case event.Stack:
		p.member(tag, statusClass)
		p.variant(tag, structOf(member{name: "_registers", of: registers().class}, member{name: "_stack", of: uint32Class}), name)
		p.add(step{kind: stepCopied, at: f.Offset, size: f.Size, status: f.StatusOffset, field: f, stack: p.stack()})
	case event.KernelFrames, event.UserFrames:
		p.member(name+"_stack", uint32Class)
		p.add(step{kind: stepStack, at: f.Offset, size: f.Size, status: f.StatusOffset, field: f, stack: p.stack()})
	}
}

// stack counts the fields that have stacks.
func (p *plan) stack() int {
	p.stacks++
	return p.stacks - 1
}

// registersSize is the size of them.
var registersSize = 8 * len(host.Processor.Dump)

// registers are the words of the processor's dump.
func registers() typed {
	var c structClass
	for _, r := range host.Processor.Dump {
		c.members = append(c.members, member{name: "_" + host.Processor.Register(r).Name, of: addrClass})
	}
	return typed{class: c, moves: oneMove(0, registersSize), size: registersSize}
}

// fixed adds a value of a fixed size; viewed is its name before names are made unique.
func (p *plan) fixed(f *event.Field, viewed, name, tag string) {
	x := rawBytes(0, f.Size)
	if f.Type != nil && len(f.Gaps) == 0 && f.Type.Strip().Size == int64(f.Size) {
		x = describe(f.Type, f.Size, true)
	}
	p.tagged(f, x, name, tag)
	if f.StrSize > 0 {
		p.text(f.StrOffset, f.StrSize, f.StrStatusOffset, f.Type, p.names.unique(viewed+" string"))
	}
	if f.AddrOffset > 0 {
		p.member(p.names.unique(f.Name+" address"), addrClass)
		p.add(step{kind: stepMoves, moves: oneMove(f.AddrOffset, 8)})
	}
	p.bases(f.Bases, viewed, maxDepth)
	for i := range f.Texts {
		t := &f.Texts[i]
		if t.Grid != nil {
			part := p.names.unique(viewed + " elements")
			p.grid(t.Grid, t.Offset, t.Size, t.StatusOffset, part, "_"+part+"_status")
			continue
		}
		if t.Elements {
			part := p.names.unique(viewed + " elements")
			p.elements(t.Chars, t.Offset, t.Size, t.StatusOffset, part, "_"+part+"_status")
			continue
		}
		p.text(t.Offset, t.Size, t.StatusOffset, t.Chars, p.names.unique(viewed+" text"))
	}
}

// bases adds the slots of virtual bases as bytes.
func (p *plan) bases(list []event.VirtualBase, name string, depth int) {
	for i := range list {
		b := &list[i]
		if b.Again || depth == 0 {
			continue
		}
		p.member(p.names.unique(name+" base"), arrayClass{byteClass, b.Size})
		p.add(step{kind: stepMoves, moves: oneMove(b.Offset, b.Size)})
		if b.StatusOffset >= 0 {
			p.member(p.names.unique(name+" base status"), uint8Class)
			p.add(step{kind: stepMoves, moves: oneMove(b.StatusOffset, 1)})
		}
		p.bases(b.Bases, name, depth-1)
	}
}

// tagged adds a value of a fixed size, with its status if it can fail.
func (p *plan) tagged(f *event.Field, x typed, name, tag string) {
	moves := make([]move, len(x.moves))
	for i, m := range x.moves {
		moves[i] = move{f.Offset + m.from, m.n}
	}
	if f.StatusOffset < 0 {
		p.member(name, x.class)
		p.add(step{kind: stepMoves, moves: moves})
		return
	}
	p.value(tag, x.class, name)
	p.add(step{kind: stepTagged, at: f.Offset, size: f.Size, status: f.StatusOffset, moves: moves, flat: p.schema.Flat})
}

// value declares a value that can fail.
func (p *plan) value(tag string, of fieldClass, name string) {
	p.member(tag, statusClass)
	if !p.schema.Flat {
		p.variant(tag, of, name)
		return
	}
	p.member(name, of)
	p.variant(tag, noClass, "_"+name+"_fault")
}

// variant declares what is there if the status is ok or truncated; if the value could not be read, its address is.
func (p *plan) variant(tag string, value fieldClass, name string) {
	v := &variantClass{by: tag, tag: statusEnum}
	for s, state := range tagNames {
		o := member{name: state, of: noClass}
		switch event.Status(s) {
		case event.OK, event.Truncated:
			o.of = value
		case textWithNUL, cutTextWithNUL:
			if value == (stringClass{}) {
				o.of = listOf(charClass{})
			}
		case event.Unreadable:
			o.of = addrClass
		}
		v.options = append(v.options, o)
	}
	p.member(name, v)
}

// counted adds a string, or the array of p@n.
func (p *plan) counted(f *event.Field, name, tag string) {
	var elem *ctype.Type
	if f.Type != nil {
		switch s := f.Type.Strip(); s.Kind {
		case ctype.Array:
			elem = s.Elem
		case ctype.Pointer, ctype.Reference, ctype.Void, ctype.Invalid, ctype.Func:
		default:
			elem = f.Type
		}
	}
	if g := f.Grid; g != nil {
		p.grid(g, f.Offset, f.Size, f.StatusOffset, name, tag)
		return
	}
	if elem == nil {
		p.textAs(f.Offset, f.Size, f.StatusOffset, f.Type, name, tag)
		return
	}
	p.elements(elem, f.Offset, f.Size, f.StatusOffset, name, tag)
}

// elements adds a sequence of values of a type.
func (p *plan) elements(elem *ctype.Type, at, room, status int, name, tag string) {
	size := int(max(elem.Strip().Size, 1))
	var x fieldClass = byteClass
	if isText(elem) {
		x = charClass{}
	} else if y, ok := (&describer{left: maxMembers}).value(elem, 0, true); ok && y.whole(size) && !isArray(y.class) {
		x = y.class
	} else {
		size = 1
	}
	p.list(at, room, status, size, x, name, tag)
}

// grid adds the bytes of an array's elements and what lies between them, and how the elements lie.
func (p *plan) grid(g *event.Grid, at, size, status int, name, tag string) {
	p.list(at, size, status, 1, byteClass, name, tag)
	p.member(p.names.unique(name+" extents"), arrayClass{integerClass{bits: 64, align: 8, signed: true}, g.Words()})
	p.add(step{kind: stepMoves, moves: oneMove(g.Offset, 8*g.Words())})
}

// list adds a sequence of elements.
func (p *plan) list(at, size, status, elem int, x fieldClass, name, tag string) {
	p.member(tag, statusClass)
	p.variant(tag, listOf(x), name)
	p.add(step{kind: stepList, at: at, size: size, status: status, elem: elem})
}

// listOf is a sequence of elements with their number before them.
func listOf(x fieldClass) structClass {
	return structOf(member{name: "_length", of: uint32Class}, member{name: "_list", of: listClass{x, "_length"}})
}

func (p *plan) text(at, size, status int, t *ctype.Type, name string) {
	p.textAs(at, size, status, t, name, "_"+name+"_status")
}

// textAs adds a string; one of wide characters is a list of these.
func (p *plan) textAs(at, size, status int, t *ctype.Type, name, tag string) {
	if t != nil {
		if s := t.Strip(); s.Elem != nil {
			t = s.Elem
		}
		if width := ctype.TextOf(t).Width; width > 1 {
			p.list(at, size, status, width, integerClass{bits: 8 * width, align: 8}, name, tag)
			return
		}
	}
	p.value(tag, stringClass{}, name)
	p.add(step{kind: stepText, at: at, size: size, status: status, flat: p.schema.Flat})
}

// check reports whether all parts of a plan are in the records: a schema of a file can have any numbers.
func (p *plan) check() error {
	size := p.schema.RecordSize
	inside := func(at, n int) bool { return at >= ring.RecHeader && n >= 0 && at <= size && n <= size-at }
	for i := range p.steps {
		s := &p.steps[i]
		ok := s.kind == stepMoves || s.kind == stepStatic || inside(s.at, s.size)
		for _, m := range s.moves {
			ok = ok && inside(m.from, m.n)
		}
		if s.status >= 0 && (s.kind == stepTagged || s.kind == stepText || s.kind == stepList || s.kind == stepCopied) {
			ok = ok && inside(s.status, 1) && inside(s.at, 8)
		}
		if s.kind == stepCopied {
			ok = ok && s.size >= registersSize
		}
		if !ok {
			return fmt.Errorf("ctf: a field of %s is outside its records of %d bytes", p.schema.Place, size)
		}
	}
	return nil
}
