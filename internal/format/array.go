package format

import (
	"bytes"
	"strconv"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// array prints {1, 2, 3}, arrays of characters as strings.
func (p *Printer) array(b []byte, s *ctype.Type, it item, f Fmt) []byte {
	if s.Elem == nil {
		return append(b, "<error type>"...)
	}
	size := s.Elem.Strip().Size
	n := s.Count
	if n <= 0 || size <= 0 {
		return p.unbounded(b, s, it, f)
	}
	if int64(len(it.data)) < size {
		return append(b, "<unavailable>"...)
	}
	n = min(n, int64(len(it.data))/size)
	text := textual(s.Elem, f)
	if text.width > 0 && (!s.Vector || f == 's') && !it.hit(0, 8*n*size) {
		return p.str(b, text, it.data[:n*size], endOfArray)
	}
	if s.Vector && f == 0 {
		f = vectorFmt(s.Elem)
	}
	return p.elements(b, s.Elem, it, n, size, f)
}

// vectorFmt: the small integers of a vector are numbers, not characters.
func vectorFmt(elem *ctype.Type) Fmt {
	switch e := elem.Strip(); {
	case e.Kind != ctype.Char && e.Kind != ctype.Int || e.Size != 1:
		return 0
	case e.Signed:
		return 'd'
	}
	return 'u'
}

// unbounded prints an array of unknown length as its address, like the pointer that it decays to. A value in a
// register has no address.
func (p *Printer) unbounded(b []byte, s *ctype.Type, it item, f Fmt) []byte {
	if !it.placed {
		return append(b, "<unavailable>"...)
	}
	b = p.address(b, it.addr)
	if b, ok := p.arrayText(b, s, it); ok {
		return b
	}
	if e := textual(s.Elem, f); e.width > 0 {
		b = p.pointed(b, e, it.addr)
	}
	return b
}

func (p *Printer) elements(b []byte, elem *ctype.Type, it item, n, size int64, f Fmt) []byte {
	b = append(b, '{')
	limit, threshold := int64(p.elementLimit()), int64(p.repeatLimit())
	shown := int64(0)
	for i := int64(0); i < n; {
		if shown >= limit {
			b = append(b, "..."...)
			break
		}
		if i > 0 {
			b = append(b, ", "...)
		}
		one := it.data[i*size : (i+1)*size]
		reps := int64(1)
		for i+reps < n && !it.hit(8*i*size, 8*(i+reps+1)*size) && bytes.Equal(one, it.data[(i+reps)*size:(i+reps+1)*size]) {
			reps++
		}
		b = p.value(b, elem, it.part(i*size, size), f)
		if reps <= threshold {
			i++
			shown++
			continue
		}
		b = append(b, " <repeats "...)
		b = strconv.AppendInt(b, reps, 10)
		b = append(b, " times>"...)
		i += reps
		shown += threshold
	}
	return append(b, '}')
}

func (p *Printer) elementLimit() int {
	if p.Elements > 0 {
		return p.Elements
	}
	return 200
}

func (p *Printer) repeatLimit() int {
	if p.Repeats > 0 {
		return p.Repeats
	}
	return 10
}
