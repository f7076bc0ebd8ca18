package pclntab

import (
	"encoding/binary"
	"slices"
)

// Span is a value that holds up to a pc, which is an offset from the first function.
type Span struct {
	Hi    uint64
	Value int64
}

// spans decodes the values of a function at an offset: pairs of changes, of the value and of the pc, up to a zero.
func (t *Table) spans(at uint32, f *Func) (out []Span, err error) {
	if uint64(at) >= uint64(len(t.values)) {
		return nil, ErrDamaged
	}
	b, pc := t.values[at:], f.Lo
	for value := int64(-1); pc < f.Hi; {
		u, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, ErrDamaged
		}
		if u == 0 && len(out) > 0 {
			break
		}
		step, k := binary.Uvarint(b[n:])
		if k <= 0 || step == 0 || u > 1<<32 || step > 1<<32 {
			return nil, ErrDamaged
		}
		b = b[n+k:]
		value += int64(u>>1) ^ -int64(u&1)
		if value < -(1<<31) || value > 1<<31 {
			return nil, ErrDamaged
		}
		pc += step * t.quantum
		out = append(out, Span{pc, value})
	}
	return slices.Clip(out), nil
}

// Taken returns how many bytes a function has taken from the stack pointer, up to which pc; a negative number
// is behind a pop of the return address. nil: it takes none.
func (t *Table) Taken(f *Func) ([]Span, error) {
	if f.taken == 0 {
		return nil, nil
	}
	return t.spans(f.taken, f)
}

// Line is a line of a source file, from one pc to another one.
type Line struct {
	Lo, Hi uint64
	File   string // as the compiler got it: absolute, or below the module's path with -trimpath
	Line   int
}

// File returns the name of a file of the function's unit (runtime/symtab.go, funcfile).
func (t *Table) fileName(f *Func, n int64) string {
	at := 4 * (int64(f.unit) + n)
	if n < 0 || at+4 > int64(len(t.units)) {
		return ""
	}
	return text(t.files, uint64(binary.LittleEndian.Uint32(t.units[at:])), 1<<12)
}

// Lines returns the lines of a function by its code's order. Where the code is inlined into the function, the line is that of the
// inlined function.
func (t *Table) Lines(f *Func) (list []Line, err error) {
	if f.file == 0 || f.line == 0 {
		return nil, nil // it has none
	}
	files, err := t.spans(f.file, f)
	if err != nil {
		return nil, err
	}
	lines, err := t.spans(f.line, f)
	if err != nil {
		return nil, err
	}
	lo, name, known := f.Lo, "", int64(-1)
	for len(files) > 0 && len(lines) > 0 {
		if v := files[0].Value; v != known {
			name, known = t.fileName(f, v), v
		}
		hi := min(files[0].Hi, lines[0].Hi, f.Hi)
		if name != "" && lines[0].Value > 0 && hi > lo {
			list = append(list, Line{Lo: lo, Hi: hi, File: name, Line: int(lines[0].Value)})
		}
		if files[0].Hi <= hi {
			files = files[1:]
		}
		if len(lines) > 0 && lines[0].Hi <= hi {
			lines = lines[1:]
		}
		if lo = hi; lo >= f.Hi {
			break
		}
	}
	return list, nil
}

// Files visits the names of the files that a function has lines of.
func (t *Table) Files(f *Func, visit func(name string)) {
	if f.file == 0 {
		return
	}
	spans, _ := t.spans(f.file, f) // a damaged function has no files
	known := int64(-1)
	for _, s := range spans {
		if s.Value != known {
			known = s.Value
			if name := t.fileName(f, s.Value); name != "" {
				visit(name)
			}
		}
	}
}
