package printk

import (
	"bytes"
	"fmt"
	"strconv"
)

// maxText limits the text of a record, including the text made by helpers. The kernel's limit is 8 KiB.
const maxText = 1 << 16

// appendTemplate formats the arguments as vsprintf() does.
func appendTemplate(dst []byte, tmpl []directive, args []node, e *env) []byte {
	start := len(dst)
	next := func() value {
		if len(args) == 0 {
			return failed("no argument")
		}
		v := decay(args[0].eval(e))
		args = args[1:]
		return v
	}
	for i := range tmpl {
		if len(dst)-start > maxText {
			return append(dst[:start+maxText], " (the text is too long)"...)
		}
		d := &tmpl[i]
		if d.conv == 0 {
			dst = append(dst, d.text...)
			continue
		}
		s := d.spec
		if d.starWidth {
			v := next()
			s.setWidth(int32(v.n))
		}
		if d.starPrec {
			v := next()
			s.prec = min(max(int(int32(v.n)), 0), maxWidth)
		}
		dst = appendValue(dst, d, s, next(), e)
	}
	return dst
}

// appendValue formats one argument.
func appendValue(dst []byte, d *directive, s spec, v value, e *env) []byte {
	if v.fail != "" {
		return reason(dst, v.fail)
	}
	switch d.conv {
	case 's':
		return appendString(dst, s, v, e)
	case 'p':
		return appendPointer(dst, d.ext, s, v, e)
	}
	if v.blk != nil || v.list != nil {
		return reason(dst, "the address of recorded data")
	}
	if d.conv == 'c' {
		return pad(dst, spec{left: s.left, width: s.width, prec: -1}, []byte{byte(v.n)})
	}
	base := uint64(10)
	switch d.conv {
	case 'x':
		base = 16
	case 'o':
		base = 8
	}
	signed := d.conv == 'd' || d.conv == 'i'
	return appendNumber(dst, s, extend(v.n, intType(int64(d.size), signed)), base, signed)
}

// reason returns the text that replaces a missing value.
func reason(dst []byte, why string) []byte {
	dst = append(dst, '(')
	dst = append(dst, why...)
	return append(dst, ')')
}

const (
	lowerDigits = "0123456789abcdef"
	upperDigits = "0123456789ABCDEF"
)

// appendNumber is number() of lib/vsprintf.c. Unlike C's printf it also pads with zeros if a precision is
// given, and also writes 0x before a zero.
func appendNumber(dst []byte, s spec, n, base uint64, signed bool) []byte {
	width, sign := s.width, byte(0)
	if signed {
		switch {
		case int64(n) < 0:
			sign, n = '-', -n
		case s.plus:
			sign = '+'
		case s.space:
			sign = ' '
		}
	}
	if sign != 0 {
		width--
	}
	prefix := ""
	switch {
	case !s.alt || base == 10:
	case base == 16 && s.upper:
		prefix = "0X"
	case base == 16:
		prefix = "0x"
	case n != 0:
		prefix = "0"
	}
	width -= len(prefix)
	var tmp [24]byte
	digits := strconv.AppendUint(tmp[:0], n, int(base))
	if s.upper {
		digits = bytes.ToUpper(digits)
	}
	prec := max(s.prec, len(digits))
	width -= prec
	if !s.zero && !s.left {
		dst = repeat(dst, ' ', width)
		width = 0
	}
	if sign != 0 {
		dst = append(dst, sign)
	}
	dst = append(dst, prefix...)
	if !s.left {
		dst = repeat(dst, '0', width)
		width = 0
	}
	dst = repeat(dst, '0', prec-len(digits))
	dst = append(dst, digits...)
	return repeat(dst, ' ', width)
}

func repeat(dst []byte, c byte, n int) []byte {
	for ; n > 0; n-- {
		dst = append(dst, c)
	}
	return dst
}

// pad appends text cut to the precision and padded to the width: string_nocheck().
func pad(dst []byte, s spec, text []byte) []byte {
	if s.prec >= 0 && len(text) > s.prec {
		text = text[:s.prec]
	}
	if !s.left {
		dst = repeat(dst, ' ', s.width-len(text))
	}
	dst = append(dst, text...)
	if s.left {
		dst = repeat(dst, ' ', s.width-len(text))
	}
	return dst
}

// complaint returns the kernel's text for a pointer that it does not follow; "" for others.
func complaint(addr uint64) string {
	const page = 4096
	switch {
	case addr == 0:
		return "(null)"
	case addr < page || addr > ^uint64(0)-page:
		return "(efault)"
	}
	return ""
}

func appendString(dst []byte, s spec, v value, e *env) []byte {
	switch {
	case v.list != nil:
		return reason(dst, "an array of values")
	case v.blk != nil:
		return pad(dst, s, cString(v))
	}
	if text := complaint(v.n); text != "" {
		return pad(dst, s, []byte(text))
	}
	if text, ok := e.r.text(v.n); ok {
		return pad(dst, s, []byte(text))
	}
	return reason(dst, fmt.Sprintf("string at %#x", v.n))
}

// cString returns the bytes at v up to a NUL or the end of the block.
func cString(v value) []byte {
	b := v.blk.b[min(v.off, len(v.blk.b)):]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i]
	}
	return b
}
