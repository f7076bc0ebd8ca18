package rsp

import (
	"fmt"
	"reflect"
	"strings"
)

// A layout says how the fields of a struct become a payload and back:
//
//	text         is sent as it is
//	{F}          the field F, in the syntax of its type
//	{F|;}        a list, its elements separated by `;`
//	{F|;.}       a list, each element ended by `;` (the last end may be missing)
//	{F|}         a list without separators
//	{F?a|b}      a flag, sent as a or b; {F?a} is sent as a or not at all
//	{.}          the whole struct, by its own scan and print
//	[...]        there if the last field in it is not nil or empty
//
// Numbers are hexadecimal, uint64 without sign, int64 with; a bool is 0 or 1; a
// pointer is a field that may be missing; the other types are elements (values.go).
type layout struct {
	typ    reflect.Type
	prefix string // the literal it begins with
	pieces []piece
}

// piece is one item of a layout.
type piece struct {
	op       pieceOp
	lit      string // opLiteral; opFlag: true
	other    string // opFlag: false
	field    int
	sep      byte
	endsWith bool // each list element ends with sep
	inGroup  bool // a list that has one element at least
	stop     string
	group    []piece
}

type pieceOp uint8

const (
	opLiteral pieceOp = iota
	opField
	opList
	opFlag
	opWhole
	opGroup
)

// compileLayout reads the layout of a packet. Layouts are part of the program, so a
// wrong one is a bug.
func compileLayout(p Packet) *layout {
	t := reflect.TypeOf(p)
	text := p.Layout()
	pieces, rest := compilePieces(t, text, false)
	if rest != "" {
		panic(fmt.Sprintf("BUG: layout %q of %v: %q is left", text, t, rest))
	}
	l := &layout{typ: t, pieces: pieces}
	if len(pieces) > 0 && pieces[0].op == opLiteral {
		l.prefix = pieces[0].lit
	}
	setStops(pieces, "")
	return l
}

func compilePieces(t reflect.Type, text string, inGroup bool) ([]piece, string) {
	var out []piece
	for text != "" {
		switch text[0] {
		case ']':
			return out, text
		case '[':
			group, rest := compilePieces(t, text[1:], true)
			if !strings.HasPrefix(rest, "]") || len(group) == 0 {
				panic(fmt.Sprintf("BUG: layout of %v: group not closed or empty", t))
			}
			out = append(out, piece{op: opGroup, group: group})
			text = rest[1:]
		case '{':
			body, rest, ok := strings.Cut(text[1:], "}")
			if !ok {
				panic(fmt.Sprintf("BUG: layout of %v: field not closed", t))
			}
			p := compileField(t, body)
			p.inGroup = inGroup
			out = append(out, p)
			text = rest
		default:
			n := strings.IndexAny(text, "{[]")
			if n < 0 {
				n = len(text)
			}
			out = append(out, piece{op: opLiteral, lit: text[:n]})
			text = text[n:]
		}
	}
	return out, ""
}

func compileField(t reflect.Type, body string) piece {
	if body == "." {
		return piece{op: opWhole}
	}
	p := piece{op: opField}
	name := body
	if i := strings.IndexAny(body, "|?"); i >= 0 {
		name = body[:i]
		arg := body[i+1:]
		if body[i] == '?' {
			p.op = opFlag
			p.lit, p.other, _ = strings.Cut(arg, "|")
		} else {
			p.op = opList
			if arg != "" {
				p.sep = arg[0]
				p.endsWith = len(arg) > 1
			}
		}
	}
	f, ok := t.FieldByName(name)
	if !ok {
		panic(fmt.Sprintf("BUG: %v has no field %q", t, name))
	}
	p.field = f.Index[0]
	return p
}

// setStops sets for every field the bytes that may follow it; after has the bytes that may follow the pieces as
// a whole.
func setStops(pieces []piece, after string) {
	for i := len(pieces) - 1; i >= 0; i-- {
		p := &pieces[i]
		switch p.op {
		case opLiteral:
			after = p.lit[:1]
		case opFlag:
			if p.other == "" {
				after += p.lit[:1]
			} else {
				after = p.lit[:1] + p.other[:1]
			}
		case opGroup:
			setStops(p.group, after)
			if p.group[0].op == opLiteral {
				after += p.group[0].lit[:1]
			}
		case opList:
			p.stop = after
			if p.sep != 0 {
				p.stop += string(p.sep)
			}
		default:
			p.stop = after
		}
	}
}

// scan reads a whole payload into a new struct.
func (l *layout) scan(payload []byte) (Packet, error) {
	s := &scanner{in: payload}
	v := reflect.New(l.typ)
	scanPieces(s, v, l.pieces)
	if s.err == nil && s.pos != len(s.in) {
		s.fail("the end of the packet")
	}
	if s.err != nil {
		return nil, s.err
	}
	return v.Elem().Interface().(Packet), nil
}

func scanPieces(s *scanner, v reflect.Value, pieces []piece) {
	for i := range pieces {
		p := &pieces[i]
		switch p.op {
		case opLiteral:
			s.expect(p.lit)
		case opFlag:
			yes := s.accept(p.lit)
			if !yes && p.other != "" {
				s.expect(p.other)
			}
			v.Elem().Field(p.field).SetBool(yes)
		case opWhole:
			v.Interface().(element).scan(s)
		case opGroup:
			if groupFollows(s, p.group) {
				scanPieces(s, v, p.group)
			}
		case opList:
			scanList(s, v.Elem().Field(p.field), p)
		case opField:
			s.stop = p.stop
			scanValue(s, v.Elem().Field(p.field))
		}
		if s.err != nil {
			return
		}
	}
}

// groupFollows decides by the group's literal; one that begins with a field (a
// number) is there if a digit is.
func groupFollows(s *scanner, group []piece) bool {
	c, ok := s.peek()
	if group[0].op == opLiteral {
		return ok && strings.HasPrefix(string(s.rest()), group[0].lit)
	}
	_, digit := hexValue(c)
	return ok && (digit || c == '-')
}

func scanValue(s *scanner, v reflect.Value) {
	if e, ok := v.Addr().Interface().(element); ok {
		e.scan(s)
		return
	}
	switch v.Kind() {
	case reflect.Uint64:
		v.SetUint(s.number())
	case reflect.Int64:
		v.SetInt(s.signed())
	case reflect.Bool:
		n := s.number()
		if n > 1 {
			s.fail("0 or 1")
		}
		v.SetBool(n == 1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		scanValue(s, v.Elem())
	default:
		panic(fmt.Sprintf("BUG: no syntax for a field of type %v", v.Type()))
	}
}

func scanList(s *scanner, v reflect.Value, p *piece) {
	more := p.inGroup
	for s.err == nil {
		c, ok := s.peek()
		if !more && (!ok || (p.sep == 0 || p.endsWith) && strings.IndexByte(p.stop, c) >= 0 && c != p.sep) {
			return
		}
		before := s.pos
		e := reflect.New(v.Type().Elem()).Elem()
		s.stop = p.stop
		scanValue(s, e)
		v.Set(reflect.Append(v, e))
		switch {
		case p.sep == 0:
			more = false
			if s.pos == before {
				s.fail("an element of a list")
			}
		case p.endsWith:
			more = false
			if !s.accept(string(p.sep)) && s.err == nil && s.pos != len(s.in) {
				s.expect(string(p.sep))
			}
		default:
			if !s.accept(string(p.sep)) {
				return
			}
			more = true
		}
	}
}

// print appends the payload of the struct that v points to.
func (l *layout) print(dst []byte, v reflect.Value) []byte {
	return printPieces(dst, v, l.pieces)
}

func printPieces(dst []byte, v reflect.Value, pieces []piece) []byte {
	for i := range pieces {
		p := &pieces[i]
		switch p.op {
		case opLiteral:
			dst = append(dst, p.lit...)
		case opFlag:
			if v.Elem().Field(p.field).Bool() {
				dst = append(dst, p.lit...)
			} else {
				dst = append(dst, p.other...)
			}
		case opWhole:
			dst = v.Interface().(element).print(dst)
		case opGroup:
			if present(v, p.group) {
				dst = printPieces(dst, v, p.group)
			}
		case opList:
			dst = printList(dst, v.Elem().Field(p.field), p)
		case opField:
			dst = printValue(dst, v.Elem().Field(p.field))
		}
	}
	return dst
}

// present reports whether a group is sent.
func present(v reflect.Value, group []piece) bool {
	for i := len(group) - 1; i >= 0; i-- {
		if p := group[i]; p.op == opField || p.op == opList {
			return !v.Elem().Field(p.field).IsZero()
		}
	}
	panic(fmt.Sprintf("BUG: %v has a group without a field", v.Type()))
}

func printValue(dst []byte, v reflect.Value) []byte {
	if e, ok := v.Addr().Interface().(element); ok {
		return e.print(dst)
	}
	switch v.Kind() {
	case reflect.Uint64:
		return appendNumber(dst, v.Uint())
	case reflect.Int64:
		return appendSigned(dst, v.Int())
	case reflect.Bool:
		if v.Bool() {
			return append(dst, '1')
		}
		return append(dst, '0')
	case reflect.Pointer:
		if v.IsNil() {
			return dst
		}
		return printValue(dst, v.Elem())
	}
	panic(fmt.Sprintf("BUG: no syntax for a field of type %v", v.Type()))
}

func printList(dst []byte, v reflect.Value, p *piece) []byte {
	for i := range v.Len() {
		if i > 0 && p.sep != 0 && !p.endsWith {
			dst = append(dst, p.sep)
		}
		dst = printValue(dst, v.Index(i))
		if p.endsWith {
			dst = append(dst, p.sep)
		}
	}
	return dst
}
