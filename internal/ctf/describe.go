package ctf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// move is a run of bytes that is copied from a value to the payload.
type move struct{ from, n int }

// typed is a C type in CTF: the moves take the bytes that the class describes, in its order.
type typed struct {
	class fieldClass
	moves []move
	size  int // of the payload
}

// Limits of what is described by its parts. Larger values are bytes.
const (
	maxDepth   = 12
	maxMembers = 1 << 10
)

// describer describes the parts of one value.
type describer struct {
	left int // members that it may still describe
	text bool
}

// describe returns a type in CTF. What CTF has no class for is an array of bytes. text: arrays of char are text.
func describe(t *ctype.Type, size int, text bool) typed {
	d := &describer{left: maxMembers, text: text}
	if x, ok := d.value(t, 0, false); ok && x.fits(size) {
		return x
	}
	return rawBytes(0, size)
}

func (x *typed) fits(size int) bool {
	for _, m := range x.moves {
		if m.from < 0 || m.n < 0 || m.from > size || m.n > size-m.from {
			return false
		}
	}
	return true
}

// whole reports whether the payload has the bytes of the value as they are in memory.
func (x *typed) whole(size int) bool {
	return size == 0 && len(x.moves) == 0 || len(x.moves) == 1 && x.moves[0] == move{x.moves[0].from, size} && x.size == size
}

func rawBytes(at, n int) typed {
	return typed{class: arrayClass{byteClass, n}, moves: oneMove(at, n), size: n}
}

func oneMove(at, n int) []move {
	if n == 0 {
		return nil
	}
	return []move{{at, n}}
}

// value describes a value at an offset. padded: bytes between members are described too, so that there is one move.
func (d *describer) value(t *ctype.Type, at int, padded bool) (typed, bool) {
	if t == nil || d.left <= 0 {
		return typed{}, false
	}
	d.left--
	s := t.Strip()
	if s.Size < 0 || s.Size > 1<<24 {
		return typed{}, false
	}
	size := int(s.Size)
	scalar := func(c fieldClass) (typed, bool) {
		return typed{class: c, moves: oneMove(at, size), size: size}, true
	}
	switch s.Kind {
	case ctype.Bool, ctype.Char, ctype.Int, ctype.Pointer, ctype.Reference, ctype.Enum:
		if !slices.Contains([]int{1, 2, 4, 8}, size) {
			return rawBytes(at, size), true
		}
		switch {
		case s.Kind == ctype.Pointer || s.Kind == ctype.Reference:
			return scalar(integerClass{bits: 8 * size, align: 8, hex: true})
		case s.Kind == ctype.Enum:
			return scalar(enumeration(s, integerClass{bits: 8 * size, align: 8, signed: s.Signed}))
		}
		return scalar(integerClass{bits: 8 * size, align: 8, signed: s.Signed && s.Kind != ctype.Bool})
	case ctype.Float:
		if size == 4 || size == 8 {
			return scalar(floatClass{size})
		}
	case ctype.Array:
		return d.array(s, at)
	case ctype.Struct:
		if s.Variants() == nil && !s.Incomplete {
			return d.structure(s, at, padded)
		}
	case ctype.Union:
		if !padded && !s.Incomplete {
			return d.union(s, at)
		}
	}
	return rawBytes(at, size), true
}

// isText reports whether an array of this type is shown as text.
func isText(t *ctype.Type) bool {
	s := t.Strip()
	return s.Kind == ctype.Char && s.Size == 1 && s.Name == "char"
}

func (d *describer) array(s *ctype.Type, at int) (typed, bool) {
	size := int(s.Size)
	if s.Elem == nil || s.Fortran || s.Count <= 0 || s.Count > 1<<20 {
		return rawBytes(at, max(size, 0)), true
	}
	elem := int(s.Elem.Strip().Size)
	if elem <= 0 || elem*int(s.Count) != size {
		return rawBytes(at, max(size, 0)), true
	}
	if d.text && isText(s.Elem) {
		return typed{class: arrayClass{charClass{}, int(s.Count)}, moves: oneMove(at, size), size: size}, true
	}
	x, ok := d.value(s.Elem, 0, true)
	if !ok || !x.whole(elem) {
		return rawBytes(at, size), true
	}
	return typed{class: arrayClass{x.class, int(s.Count)}, moves: oneMove(at, size), size: size}, true
}

// enumeration is an enum; where it has no enumerators, its integer.
func enumeration(s *ctype.Type, container integerClass) fieldClass {
	e := &enumClass{of: container}
	seen := map[string]bool{}
	for _, x := range s.Enumerators() {
		if seen[x.Name] || len(e.labels) == maxMembers {
			continue
		}
		seen[x.Name] = true
		value := fmt.Sprint(x.Value)
		if !s.Signed && x.Value < 0 {
			value = fmt.Sprint(uint64(x.Value) & (1<<(8*min(uint64(s.Size), 7)) - 1))
			if s.Size == 8 {
				value = fmt.Sprint(uint64(x.Value))
			}
		}
		e.labels = append(e.labels, label{x.Name, value, value})
	}
	if len(e.labels) == 0 {
		return container
	}
	return e
}

// union describes each member: their bytes are in the payload one after another.
func (d *describer) union(s *ctype.Type, at int) (typed, bool) {
	b := structBuilder{d: d, at: at}
	for _, f := range s.Fields() {
		if f.BitSize != 0 || f.BitOffset != 0 {
			return rawBytes(at, int(s.Size)), true
		}
		if !b.member(f, false) {
			return rawBytes(at, int(s.Size)), true
		}
	}
	if b.size > 4*int(s.Size)+16 || len(b.members) == 0 {
		return rawBytes(at, int(s.Size)), true
	}
	return b.done(), true
}

// structure describes the members of a struct or class, in the order of their bits.
func (d *describer) structure(s *ctype.Type, at int, padded bool) (typed, bool) {
	size := int(s.Size)
	raw := rawBytes(at, size)
	fields := slices.Clone(s.Fields())
	slices.SortStableFunc(fields, func(a, b ctype.Field) int {
		switch {
		case a.BitOffset != b.BitOffset:
			return int(min(max(a.BitOffset-b.BitOffset, -1), 1))
		}
		return 0
	})
	b := structBuilder{d: d, at: at, padded: padded}
	pos := int64(0) // in bits
	for _, f := range fields {
		bits := f.BitSize
		if f.Virtual || f.Type == nil {
			return raw, true
		}
		if bits == 0 {
			bits = 8 * max(f.Type.Strip().Size, 0)
		}
		if bits == 0 || f.Base && len(f.Type.Strip().Fields()) == 0 && bits == 8 {
			continue // a flexible array, an empty base class
		}
		if f.BitOffset < pos || f.BitOffset+bits > 8*int64(size) || !b.reach(pos, f.BitOffset, f.BitSize > 0) || !b.member(f, padded) {
			return raw, true
		}
		pos = f.BitOffset + bits
	}
	if !b.reach(pos, 8*int64(size), false) || len(b.members) == 0 && size > 0 {
		return raw, true
	}
	return b.done(), true
}

// structBuilder collects the members of a struct.
type structBuilder struct {
	d       *describer
	at      int
	padded  bool
	names   names
	members []member
	moves   []move
	size    int
	pads    int
	bits    int64 // of the last byte that bit-fields have filled; 0: all
}

// reach goes from the end of a member to the start of the next one, in bits.
func (b *structBuilder) reach(from, to int64, bitField bool) bool {
	if b.bits > 0 { // the rest of a byte, or of the gap up to the next bit-field in it
		rest := min(8-b.bits, to-from)
		if rest > 0 {
			b.pad(bitsClass(rest, false))
		}
		from, b.bits = from+rest, (b.bits+rest)&7
	}
	if from&7 != 0 {
		return from == to
	}
	if gap := (to - from) / 8; gap > 0 && b.padded {
		b.pad(arrayClass{integerClass{bits: 8, align: 8}, int(gap)})
		b.add(move{b.at + int(from/8), int(gap)})
		from += 8 * gap
	} else {
		from += 8 * gap
	}
	if rest := to - from; rest > 0 {
		if !bitField {
			return false
		}
		b.pad(bitsClass(rest, false))
		b.add(move{b.at + int(from/8), 1})
		b.bits = rest
	}
	return true
}

// bitsClass is a bit-field.
func bitsClass(n int64, signed bool) integerClass {
	return integerClass{bits: int(n), align: 1, signed: signed}
}

func (b *structBuilder) pad(c fieldClass) {
	b.members = append(b.members, member{name: fmt.Sprintf("__padding%d", b.pads), of: c})
	b.pads++
}

// add appends a move, to the one before it where they are one run.
func (b *structBuilder) add(m move) {
	b.size += m.n
	if last := len(b.moves) - 1; last >= 0 && b.moves[last].from+b.moves[last].n == m.from {
		b.moves[last].n += m.n
		return
	}
	b.moves = append(b.moves, m)
}

func (b *structBuilder) member(f ctype.Field, padded bool) bool {
	if f.BitSize > 0 {
		return b.bitField(f)
	}
	if b.bits != 0 || f.BitOffset&7 != 0 {
		return false
	}
	x, ok := b.d.value(f.Type, b.at+int(f.BitOffset/8), padded)
	if !ok || x.size == 0 {
		return ok
	}
	name := f.Name
	if f.Base && name == "" {
		name = f.Type.Strip().Name
	}
	b.members = append(b.members, member{name: b.names.unique(name), of: x.class})
	for _, m := range x.moves {
		b.add(m)
	}
	return true
}

func (b *structBuilder) bitField(f ctype.Field) bool {
	s := f.Type.Strip()
	if !s.IsInteger() && s.Kind != ctype.Bool && s.Kind != ctype.Enum || f.BitSize > 64 {
		return false
	}
	first, last := f.BitOffset/8, (f.BitOffset+f.BitSize-1)/8
	if f.BitOffset&7 != 0 {
		if b.bits != f.BitOffset&7 {
			return false
		}
		first++ // its first byte is there already
	} else if b.bits != 0 {
		return false
	}
	c := bitsClass(f.BitSize, s.Signed && s.Kind != ctype.Bool)
	if f.Name == "" {
		b.pad(c)
	} else {
		b.members = append(b.members, member{name: b.names.unique(f.Name), of: c})
	}
	if last >= first {
		b.add(move{b.at + int(first), int(last - first + 1)})
	}
	b.bits = (f.BitOffset + f.BitSize) & 7
	return true
}

func (b *structBuilder) done() typed {
	return typed{class: structOf(b.members...), moves: b.moves, size: b.size}
}

// names gives names of fields that TSDL accepts, each once. They begin with an underscore, which readers drop.
type names map[string]bool

func (n *names) unique(text string) string {
	if *n == nil {
		*n = names{}
	}
	name := identifier(text)
	for base, i := name, 2; (*n)[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	(*n)[name] = true
	return name
}

// identifier makes a name of an expression: "p->x + 1" becomes _p_x_1.
func identifier(text string) string {
	b := []byte{'_'}
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' {
			b = append(b, c)
		} else if b[len(b)-1] != '_' {
			b = append(b, '_')
		}
		if len(b) >= 80 {
			break
		}
	}
	name := "_" + strings.Trim(string(b), "_")
	if name == "_" {
		return "_value"
	}
	return name
}
