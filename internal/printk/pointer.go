package printk

import (
	"fmt"
	"strconv"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// extension formats a pointer by the letters after %p, which are in ext.
type extension func(dst []byte, ext string, s spec, v value, e *env) []byte

// extensions are those of Documentation/core-api/printk-formats.rst, by their first letter, that print data in
// the record or an address.
var extensions map[byte]extension

func init() {
	extensions = map[byte]extension{
		'S': appendSymbol, 's': appendSymbol, 'B': appendSymbol, 'F': appendSymbol, 'f': appendSymbol,
		'x': appendPlain, 'K': appendPlain,
		'e': appendErrorName,
		'I': appendAddress, 'i': appendAddress,
		'M': appendMAC, 'm': appendMAC,
		'U': appendUUID,
		'h': appendBytes,
		'b': appendBits,
		'a': appendPhysical,
	}
}

// elsewhere are the extensions for objects in the kernel's memory, which are not in the record, with the kind
// of the object.
var elsewhere = map[byte]string{
	'd': "dentry", 'D': "file", 'g': "block device", 'V': "va_format", 'r': "resource", 'R': "resource",
	'C': "clock", 'N': "net_device features", 'G': "flags", 'O': "device tree node",
	't': "time", 'A': "Rust value", 'E': "escaped string",
}

func appendPointer(dst []byte, ext string, s spec, v value, e *env) []byte {
	if v.list != nil || v.typ.Kind == ctype.Struct || v.typ.Kind == ctype.Union {
		return reason(dst, "no pointer")
	}
	if ext == "" {
		return appendPlain(dst, ext, s, v, e)
	}
	if f := extensions[ext[0]]; f != nil {
		return f(dst, ext, s, v, e)
	}
	if what := elsewhere[ext[0]]; what != "" {
		if v.blk != nil {
			return reason(dst, what)
		}
		return reason(dst, fmt.Sprintf("%s at %#x", what, v.n))
	}
	return appendPlain(dst, ext, s, v, e)
}

// appendPlain prints the address in 16 hexadecimal digits.
func appendPlain(dst []byte, _ string, s spec, v value, _ *env) []byte {
	if v.blk != nil {
		return reason(dst, "the address of recorded data")
	}
	if s.width == -1 {
		s.width, s.zero = 16, true
	}
	return appendNumber(dst, s, v.n, 16, false)
}

// appendSymbol prints name+0xoffset/0xsize [module]; with s and f the name only.
func appendSymbol(dst []byte, ext string, s spec, v value, e *env) []byte {
	if v.blk != nil {
		return reason(dst, "the address of recorded data")
	}
	addr, back := v.n, uint64(0)
	if ext[0] == 'B' {
		// A return address may be the first byte after the caller's last call.
		back = 1
	}
	sym, ok := e.r.symbol(addr - back)
	if !ok {
		return pad(dst, s, strconv.AppendUint([]byte("0x"), addr, 16))
	}
	text := []byte(sym.Name)
	if ext[0] != 's' && ext[0] != 'f' {
		text = fmt.Appendf(text, "+%#x/%#x", sym.Offset+back, sym.Size)
	}
	if sym.Module != "" {
		text = fmt.Appendf(text, " [%s]", sym.Module)
	}
	return pad(dst, s, text)
}

// appendErrorName prints the name of an error pointer, other pointers plainly.
func appendErrorName(dst []byte, ext string, s spec, v value, e *env) []byte {
	if v.blk == nil && v.n > ^uint64(0)-4095 {
		if name := errorName(-int64(v.n)); name != "" {
			return pad(dst, s, []byte("-"+name))
		}
	}
	return appendPlain(dst, ext, s, v, e)
}

// pointee returns the size bytes at v. If there are none, text is the replacement.
func pointee(v value, size int) (b []byte, text string) {
	if v.blk == nil {
		if t := complaint(v.n); t != "" {
			return nil, t
		}
		return nil, fmt.Sprintf("(memory at %#x)", v.n)
	}
	b, no := bytesAt(v, uint64(size))
	if no.fail != "" {
		return nil, "(" + no.fail + ")"
	}
	return b, ""
}

// appendMAC: M with colons, MF with dashes, m without; R from the last byte on.
func appendMAC(dst []byte, ext string, s spec, v value, _ *env) []byte {
	b, why := pointee(v, 6)
	if b == nil {
		return append(dst, why...)
	}
	sep := ":"
	reversed := false
	if len(ext) > 1 {
		reversed = ext[1] == 'R'
		if ext[1] == 'F' {
			sep = "-"
		}
	}
	if ext[0] == 'm' {
		sep = ""
	}
	var text []byte
	for i := range b {
		x := b[i]
		if reversed {
			x = b[5-i]
		}
		if i > 0 {
			text = append(text, sep...)
		}
		text = append(text, lowerDigits[x>>4], lowerDigits[x&15])
	}
	return pad(dst, s, text)
}

// The order of a UUID's bytes, big- and little-endian.
var (
	uuidOrder = [16]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	guidOrder = [16]int{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15}
)

// appendUUID: U or Ub big-endian, Ul little-endian; UB and UL in capitals.
func appendUUID(dst []byte, ext string, s spec, v value, _ *env) []byte {
	b, why := pointee(v, 16)
	if b == nil {
		return append(dst, why...)
	}
	order, digits := &uuidOrder, lowerDigits
	if len(ext) > 1 {
		if ext[1] == 'l' || ext[1] == 'L' {
			order = &guidOrder
		}
		if ext[1] == 'L' || ext[1] == 'B' {
			digits = upperDigits
		}
	}
	var text []byte
	for i, from := range order {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text = append(text, '-')
		}
		text = append(text, digits[b[from]>>4], digits[b[from]&15])
	}
	return pad(dst, s, text)
}

// appendBytes is %*ph: the number of bytes given by the width, at most 64, separated by spaces; C means colons,
// D dashes, N no separator.
func appendBytes(dst []byte, ext string, s spec, v value, _ *env) []byte {
	if s.width == 0 {
		return dst
	}
	n := 1
	if s.width > 0 {
		n = min(s.width, 64)
	}
	b, why := pointee(v, n)
	if b == nil {
		return append(dst, why...)
	}
	sep := " "
	if len(ext) > 1 {
		switch ext[1] {
		case 'C':
			sep = ":"
		case 'D':
			sep = "-"
		case 'N':
			sep = ""
		}
	}
	for i, x := range b {
		if i > 0 {
			dst = append(dst, sep...)
		}
		dst = append(dst, lowerDigits[x>>4], lowerDigits[x&15])
	}
	return dst
}

// appendBits is %*pb and %*pbl: a bitmap with the number of bits given by the width.
func appendBits(dst []byte, ext string, s spec, v value, _ *env) []byte {
	bits := max(s.width, 0)
	b, why := pointee(v, (bits+7)/8)
	if why != "" {
		return append(dst, why...)
	}
	if len(ext) > 1 && ext[1] == 'l' {
		return appendBitList(dst, b, bits)
	}
	return appendBitmap(dst, b, bits)
}

// bit reports whether bit i of b is set.
func bit(b []byte, i int) bool { return b[i/8]>>(i%8)&1 != 0 }

// appendBitmap prints words of 32 bits in hexadecimal, the highest first.
func appendBitmap(dst, b []byte, bits int) []byte {
	for start := (bits+31)/32*32 - 32; start >= 0; start -= 32 {
		n := min(bits-start, 32)
		var word uint64
		for i := range n {
			if bit(b, start+i) {
				word |= 1 << i
			}
		}
		if start+32 < bits {
			dst = append(dst, ',')
		}
		dst = appendNumber(dst, spec{zero: true, width: (n + 3) / 4, prec: -1}, word, 16, false)
	}
	return dst
}

// appendBitList prints the runs of set bits: 0-3,5.
func appendBitList(dst, b []byte, bits int) []byte {
	first := true
	for i := 0; i < bits; i++ {
		if !bit(b, i) {
			continue
		}
		from := i
		for i+1 < bits && bit(b, i+1) {
			i++
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = strconv.AppendInt(dst, int64(from), 10)
		if i > from {
			dst = append(dst, '-')
			dst = strconv.AppendInt(dst, int64(i), 10)
		}
	}
	return dst
}

// appendPhysical is %pa and %pad: the address stored at the argument, with 0x and all digits.
func appendPhysical(dst []byte, _ string, _ spec, v value, _ *env) []byte {
	b, why := pointee(v, 8)
	if b == nil {
		return append(dst, why...)
	}
	n, _ := load(b, 0, 8)
	return appendNumber(dst, spec{alt: true, zero: true, width: 18, prec: -1}, n, 16, false)
}
