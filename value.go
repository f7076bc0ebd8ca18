package jalon

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
)

// Value is the value of a field in an event. It is right, or Err reports why it is unavailable.
type Value struct {
	e *Event
	v event.Value
}

// Unavailable reports why a value could not be collected.
type Unavailable struct {
	Field  string
	Reason string // "unreadable address 0x10", "optimised out", ...
}

func (u *Unavailable) Error() string { return fmt.Sprintf("%s: %s", u.Field, u.Reason) }

// Err returns an *Unavailable, or nil. For a struct or array of which the compiler has removed a part, the
// reason is "partly optimised out"; if a virtual base of C++ could not be read, it is "partly unavailable: ...".
// String shows the other parts.
func (v Value) Err() error {
	if why := v.v.Explain(); why != "" {
		return &Unavailable{v.v.Field.Name, why}
	}
	if v.e == nil {
		return nil
	}
	if why := format.Partly(&v.v, v.e.t.symbol); why != "" {
		return &Unavailable{v.v.Field.Name, why}
	}
	return nil
}

// Truncated reports whether the value was longer than the part that was collected.
func (v Value) Truncated() bool { return v.v.Truncated || v.v.Str != nil && v.v.Str.Truncated }

// Bytes returns the value as it was in memory, little-endian.
func (v Value) Bytes() []byte { return v.v.Data }

// Uint64 returns an integer, a character, a truth value, the value of an enumeration, or an address. A
// negative number is sign-extended.
func (v Value) Uint64() (n uint64, ok bool) {
	if v.v.Status != event.OK {
		return 0, false
	}
	if v.v.Field.Kind == event.Header {
		n, _, text := format.HeaderValue(&v.e.ev, v.v.Field.Name)
		return uint64(n), !text
	}
	t := v.v.Field.Type
	if t == nil || v.v.Field.Kind != event.Fixed {
		return 0, false
	}
	t = t.Strip()
	switch t.Kind {
	case ctype.Bool, ctype.Char, ctype.Int, ctype.Enum, ctype.Pointer, ctype.Reference:
	default:
		return 0, false
	}
	if len(v.v.Data) == 0 || len(v.v.Data) > 8 {
		return 0, false
	}
	var b [8]byte
	if t.Signed && v.v.Data[len(v.v.Data)-1]&0x80 != 0 {
		b = [8]byte{255, 255, 255, 255, 255, 255, 255, 255}
	}
	copy(b[:], v.v.Data)
	return binary.LittleEndian.Uint64(b[:]), true
}

// Int64 is Uint64 as a signed number. It is not ok for an unsigned number above its range.
func (v Value) Int64() (n int64, ok bool) {
	u, ok := v.Uint64()
	if !ok || int64(u) < 0 && v.v.Field.Type != nil && !v.v.Field.Type.Strip().Signed {
		return 0, false
	}
	return int64(u), true
}

// Float64 returns a float or a double.
func (v Value) Float64() (f float64, ok bool) {
	if v.v.Status != event.OK || v.v.Field.Kind != event.Fixed || v.v.Field.Type == nil || v.v.Field.Type.Strip().Kind != ctype.Float {
		return 0, false
	}
	switch len(v.v.Data) {
	case 4:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v.v.Data))), true
	case 8:
		return math.Float64frombits(binary.LittleEndian.Uint64(v.v.Data)), true
	}
	return 0, false
}

// Text returns the string that a char pointer points to, or an array of characters up to its first NUL,
// byte by byte.
func (v Value) Text() (text string, ok bool) {
	if v.v.Status != event.OK {
		return "", false
	}
	if v.v.Field.Kind == event.Header {
		_, s, text := format.HeaderValue(&v.e.ev, v.v.Field.Name)
		return s, text
	}
	if s := v.v.Str; s != nil {
		return string(s.Data), s.Status == event.OK
	}
	t := v.v.Field.Type
	if t == nil {
		return "", false
	}
	if t = t.Strip(); len(v.v.Field.Gaps) > 0 || t.Kind != ctype.Array || t.Elem.Strip().Kind != ctype.Char || t.Elem.Strip().Size != 1 {
		return "", false
	}
	b := v.v.Data
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
	}
	return string(b), true
}

// String returns the value as "jalon trace" prints it: structs with their members, enumerations by name,
// "<unreadable address 0x10>".
func (v Value) String() string {
	if v.e == nil {
		return "<no value>"
	}
	p := format.Printer{Symbol: v.e.t.symbol}
	switch {
	case v.v.Status != event.OK:
	case isTrace(v.v.Field):
		return fmt.Sprint(v.Frames())
	case v.v.Field.Kind == event.Regs:
		return fmt.Sprint(v.Registers())
	}
	return string(p.AppendField(nil, &v.e.ev, &v.v))
}

func isTrace(f *event.Field) bool {
	return f.Kind == event.Stack || f.Kind == event.KernelFrames || f.Kind == event.UserFrames
}

// Frame is one function of a stack trace.
type Frame struct {
	PC       uint64
	Function string // "" if not known; so are File and Module
	Offset   uint64 // of PC from the start of Function
	File     string
	Line     int
	Module   string // the file of the code
	Inlined  bool   // the next frame has the same PC
	// Cut, of the last frame, is why its callers are not known; "" if it is the outermost.
	Cut string
}

func (f Frame) String() string {
	s := fmt.Sprintf("%#x", f.PC)
	if f.Function != "" {
		s = fmt.Sprintf("%s+%d", f.Function, f.Offset)
	}
	if f.File != "" {
		s += fmt.Sprintf(" (%s:%d)", f.File, f.Line)
	}
	return s
}

// Frames returns the stack trace of $bt or $ubt, innermost frame first.
func (v Value) Frames() (out []Frame) {
	if v.e == nil || v.v.Status != event.OK || !isTrace(v.v.Field) {
		return nil
	}
	if r := v.e.t.recorded; r != nil {
		for _, f := range r.t.Unwind(&v.e.ev, &v.v) {
			out = append(out, Frame{PC: f.PC, Function: f.Function, Offset: f.Offset, File: f.File, Line: f.Line, Module: f.Module, Inlined: f.Inlined, Cut: f.Cut})
		}
		return out
	}
	v.e.t.lookUp(func() {
		for _, f := range v.e.t.s.Unwind(&v.e.ev, &v.v) {
			out = append(out, Frame{PC: f.PC, Function: f.Function, Offset: f.Offset, File: f.File, Line: f.Line, Module: f.Module, Inlined: f.Inlined, Cut: f.Cut})
		}
	})
	return out
}

// Registers returns the general registers of $regs, rip and eflags by name; nil for other fields.
func (v Value) Registers() map[string]uint64 {
	if v.v.Status != event.OK || v.v.Field.Kind != event.Regs {
		return nil
	}
	return format.Registers(&v.v)
}

// Symbol names a run-time address of the traced program or kernel: "main+4", or "" if not known.
func (t *Trace) Symbol(addr uint64) string { return t.symbol(addr) }

func (t *Trace) symbol(addr uint64) (name string) {
	if t.recorded != nil {
		return t.recorded.symbol(addr)
	}
	t.lookUp(func() { name = t.s.Symbol(addr) })
	return name
}
