package interp

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/plan"
)

// join prints the strings of an array of pointers.
func join(m *library, _ script.Expr, args []script.Expr) val {
	sep, text := " ", ""
	if len(args) > 1 {
		sep = m.expr(args[1]).s
	}
	for i := range plan.JoinStrings {
		part, ok := m.joined(args[0], i)
		if !ok {
			break
		}
		if i > 0 {
			text += sep
		}
		text += part
	}
	if !m.opts.JSON {
		text += "\n"
	}
	m.line("join", text)
	return val{}
}

// joined is a string of an array of pointers; ok is false behind the last one.
func (m *library) joined(array script.Expr, i int) (text string, ok bool) {
	if m.hit == nil {
		b := m.bytesAt(array, m.expr(array).n+uint64(8*i), 8)
		if b == nil || binary.LittleEndian.Uint64(b) == 0 {
			return "", false
		}
		return m.textAt(array, binary.LittleEndian.Uint64(b), plan.JoinLength-1), true
	}
	f, ok := m.hit.Site.Fields[plan.Key{X: array, Turn: plan.Turn(m.turn, i)}]
	if !ok {
		return "", false
	}
	b, _, why := m.hit.Record.Field(f.Index)
	return cstr(string(b)), why == ""
}
