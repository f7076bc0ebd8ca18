package ctf

import (
	"fmt"
	"strings"
)

func (c integerClass) tsdl() (spec, dims string) {
	more := ""
	switch {
	case c.hex:
		more = "base = hex; "
	case c.clock:
		more = "map = clock.monotonic.value; "
	}
	return fmt.Sprintf("integer { size = %d; align = %d; signed = %t; %s}", c.bits, c.align, c.signed, more), ""
}

func (c floatClass) tsdl() (spec, dims string) {
	exponent, mantissa := 11, 53
	if c.size == 4 {
		exponent, mantissa = 8, 24
	}
	return fmt.Sprintf("floating_point { exp_dig = %d; mant_dig = %d; align = 8; }", exponent, mantissa), ""
}

func (c *enumClass) tsdl() (spec, dims string) {
	of, _ := c.of.tsdl()
	rows := make([]string, len(c.labels))
	for i, l := range c.labels {
		name, value := l.name, l.first
		if !c.words {
			name = quote(name)
		}
		if l.last != l.first {
			value += " ... " + l.last
		}
		rows[i] = name + " = " + value
	}
	return fmt.Sprintf("enum : %s { %s }", of, strings.Join(rows, ", ")), ""
}

func (stringClass) tsdl() (spec, dims string) { return "string { encoding = UTF8; }", "" }

func (charClass) tsdl() (spec, dims string) {
	return "integer { size = 8; align = 8; signed = false; encoding = UTF8; }", ""
}

func (uuidClass) tsdl() (spec, dims string) { return uint8Class.name, "[16]" }

func (c *aliasClass) tsdl() (spec, dims string) {
	if c.inline {
		return c.of.tsdl()
	}
	return c.name, ""
}

func (c arrayClass) tsdl() (spec, dims string) {
	spec, dims = c.of.tsdl()
	return spec, fmt.Sprintf("[%d]", c.count) + dims
}

func (c listClass) tsdl() (spec, dims string) {
	spec, dims = c.of.tsdl()
	return spec, "[" + c.count + "]" + dims
}

func (c structClass) tsdl() (spec, dims string) {
	var b strings.Builder
	b.WriteString("struct {")
	for _, m := range c.members {
		if c.lines {
			b.WriteString("\n\t")
		}
		b.WriteString(" " + m.tsdl())
	}
	if c.lines && len(c.members) > 0 {
		b.WriteString("\n\t")
	}
	b.WriteString(" }")
	if c.align > 0 {
		fmt.Fprintf(&b, " align(%d)", c.align)
	}
	return b.String(), ""
}

// tsdl is the declaration of a member.
func (m *member) tsdl() string {
	spec, dims := m.of.tsdl()
	return spec + " " + m.name + dims + ";"
}

func (c *variantClass) tsdl() (spec, dims string) {
	rows := make([]string, len(c.options))
	for i := range c.options {
		rows[i] = c.options[i].tsdl()
	}
	return fmt.Sprintf("variant <%s> { %s }", c.by, strings.Join(rows, " ")), ""
}

// quote makes a string of TSDL.
func quote(s string) string {
	b := []byte{'"'}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7f:
			b = append(b, ' ')
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}
