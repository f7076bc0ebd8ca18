package sema

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
)

// textPart is what a part of an object leads to: text, or the elements of an array of Fortran or of a container. It is shown in
// place of the part, as GDB does.
type textPart struct {
	at    int64
	of    int         // as MemberText.Of
	in    *ctype.Type // of the part, stripped
	chars *ctype.Type
	limit int64   // bytes
	grid  *grid   // of an array
	text  *repeat // of a string class or container; nil: the part is a pointer to characters, or an array of them without a length
	most  int64   // elements of a container; -1: no bound

	elements bool // of a container
	slot     slotID
	state    slotID
	head     slotID // the extents of the array
}

// Limits of the texts of one field.
const (
	maxTexts     = 48
	maxTextSteps = 1 << 12
	textRoom     = 4096 // bytes in a record
	leastText    = 32   // bytes of one text
)

// texts plans the texts of the parts of object e, in the order in which they are shown. Those beyond the limits are shown
// as pointers. If there are many, each may have fewer characters.
func (co *collector) texts(e expr, letter byte) []*textPart {
	s := shapeOf(e)
	if s.ctx || co.in.NoTexts || letter == 'z' {
		return nil
	}
	if letter == 's' {
		letter = 0
	}
	f := &textFinder{collector: co, whole: e, steps: maxTextSteps, pointers: s.mem, letter: letter}
	f.find(e.Type(), 0, 0)
	if len(f.list) == 0 {
		return nil
	}
	most := max(leastText, textRoom/int64(len(f.list))-countedHeader) &^ 7
	for _, p := range f.list {
		if p.elements {
			p.limit = p.bytes(int64(co.in.RepeatLimit), most)
			continue
		}
		if p.grid != nil {
			size := p.chars.Strip().Size
			p.limit = p.grid.within(int64(co.in.RepeatLimit)*size, max(size, most))
			continue
		}
		width := max(1, int64(ctype.TextOf(p.chars).Width))
		p.limit = min(int64(co.in.StringLimit)*width, most)
	}
	return f.list
}

// bytes is what is taken of the elements of a container: whole ones.
func (p *textPart) bytes(elements, most int64) int64 {
	size := p.chars.Strip().Size
	if p.most >= 0 {
		return min(elements, p.most) * size
	}
	return max(size, min(elements*size, most/size*size))
}

// textFinder goes through the parts of an object, or of one element of a container.
type textFinder struct {
	*collector
	whole expr
	steps int
	list  []*textPart

	of       int   // of the parts
	base     int64 // where the element is
	depth    int   // containers around it
	pointers bool  // the object is in memory: what its pointers lead to is found
	letter   byte
	full     bool // there is no room for all parts
}

func (f *textFinder) find(t *ctype.Type, off int64, depth int) {
	f.steps--
	if f.steps < 0 || depth > maxNesting || len(f.list) >= maxTexts {
		f.full = f.full || len(f.list) >= maxTexts
		return
	}
	switch s := t.Strip(); {
	case f.letter != 0 && !isRecord(s) && s.Kind != ctype.Array:
	case s.Kind == ctype.Pointer && s.Elem != nil && ctype.StringWidth(s.Elem) > 0:
		if !f.pointers {
			return
		}
		f.list = append(f.list, &textPart{at: off, in: s, chars: s.Elem})
	case s.Kind == ctype.Array && s.Elem != nil && s.Count <= 0 && ctype.StringWidth(s.Elem) > 0:
		if !f.pointers {
			return
		}
		f.list = append(f.list, &textPart{at: off, in: s, chars: s.Elem})
	case s.Kind == ctype.Invalid:
		if f.pointers {
			f.array(s, off)
		}
	case s.Kind == ctype.Array && s.Elem != nil && s.Count > 0 && s.Elem.Strip().Size > 0:
		for i := range s.Count {
			n := len(f.list)
			f.find(s.Elem, off+i*s.Elem.Strip().Size, depth+1)
			if n == len(f.list) {
				return // nor has the next element any
			}
		}
	case isRecord(s) && !s.Incomplete:
		if f.class(s, off) {
			return
		}
		for _, m := range s.Fields() {
			if m.Type != nil && m.BitSize == 0 && !m.Virtual {
				f.find(m.Type, off+m.BitOffset/8, depth+1)
			}
		}
	}
}

// class adds an object of a string class or a container. Those whose text or elements cannot be found are left as they are, with
// their pointers.
func (f *textFinder) class(s *ctype.Type, off int64) bool {
	name := className(s)
	if !stringClasses[name] || f.letter != 0 {
		return !stringClasses[name] && s.Name != "" && f.elements(s, off)
	}
	_ = f.try(func() {
		part := &sub{typed: typed{s, f.whole.Span()}, x: f.whole, bitOff: 8 * off}
		if r := f.contentAsText(part, 0); r != nil {
			f.list = append(f.list, &textPart{at: f.base + off, of: f.of, in: s, chars: r.x.Type(), text: r, most: -1})
		}
	})
	return true
}

// array adds an array of Fortran. Those whose elements cannot be found are left out.
func (f *textFinder) array(s *ctype.Type, off int64) {
	_ = f.try(func() {
		g := f.gridOf(&sub{typed: typed{s, f.whole.Span()}, x: f.whole, bitOff: 8 * off})
		if g == nil || g.from.Elem.Strip().Size > textRoom {
			return
		}
		f.arrays.whole(g)
		f.list = append(f.list, &textPart{at: off, in: s, chars: g.from.Elem, grid: g})
	})
}

// textsSize is the room that texts take in the record.
func textsSize(list []*textPart) (n int64) {
	for _, p := range list {
		n += countedHeader + p.limit
		if p.grid != nil {
			n += gridHead(p.grid)
		}
	}
	return n
}

// takeTexts takes the texts of the object at an address, whose bytes are in the slot of fs. A fault leaves out that text.
func (l *lowerer) takeTexts(list []*textPart, object sym, fs *fieldSlots) {
	outer := l.traps
	for _, p := range list {
		l.traps = &traps{}
		if p.grid != nil {
			taken := l.takeGrid(p.grid, p.limit)
			p.slot, p.head = taken.value, taken.grid
		} else if p.text != nil {
			taken := l.takeRepeat(p.text, p.limit/p.text.x.Type().Strip().Size)
			p.slot = taken.value
		} else {
			l.takePointed(p, object, fs)
		}
		l.endField("text", []failing{{l.traps, p.slot, &p.state}})
	}
	l.traps = outer
}

// takePointed takes the text at a pointer in the object. The object's bytes get the pointer that the text is of: other
// threads may have changed it. In a process a pointer that cannot lead to memory of a program leads to no fault: a fault
// takes microseconds, and members that are not set are common.
func (l *lowerer) takePointed(p *textPart, object sym, fs *fieldSlots) {
	at := object.plus(p.at)
	at.trust = noTrust
	p.slot = l.rec.add(slot{size: countedHeader + p.limit, align: 8})
	var v ir.Value
	if p.in.Kind == ctype.Array {
		v = l.word(at)
	} else if v = l.loadWord(at, 8); fs.skip == 0 && p.at+8 <= fs.size {
		l.put(v, 8, fs.value.imm(p.at))
	}
	if l.in.Kernel == nil && p.in.Kind != ctype.Array {
		const first, end = 4096, 1 << 47
		bad := l.b.Bin(ir.ULt, 8, l.b.Const(end-first-1), l.b.Bin(ir.Sub, 8, v, l.b.Const(first)))
		next := l.b.NewBlock("pointer")
		l.b.BranchTo(bad, ir.Edge{To: l.traps.at(l.emitter, trapUnreadable), Args: []ir.Value{v}}, ir.Edge{To: next}, true)
		l.b.Start(next)
	}
	l.b.Emit(ir.Instr{
		Op: ir.CopyStr, W: uint8(max(1, ctype.TextOf(p.chars).Width)), Dst: ir.None, A: v, B: ir.None,
		Imm: p.slot.imm(0), Aux: p.limit, Fault: l.traps.at(l.emitter, trapUnreadable),
	})
}

// textsOf are the schema's entries for texts.
func (r *record) textsOf(list []*textPart) (out []event.MemberText) {
	for _, p := range list {
		if p.slot == 0 {
			continue
		}
		var elements *event.Grid
		if p.grid != nil {
			elements = r.gridOf(p.grid, p.head)
		}
		out = append(out, event.MemberText{
			Grid: elements, In: p.in, At: p.at, Chars: p.chars, Content: p.text != nil, Elements: p.elements, Of: p.of,
			Offset: r.offset(p.slot), Size: int(countedHeader + p.limit), StatusOffset: r.offset(p.state),
		})
	}
	return out
}
