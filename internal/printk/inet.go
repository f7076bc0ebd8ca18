package printk

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// Address families of struct sockaddr.
const (
	afINET  = 2
	afINET6 = 10
)

// appendAddress is %pI4 %pI6 %pI6c %pIS and the forms with i.
func appendAddress(dst []byte, ext string, s spec, v value, e *env) []byte {
	kind := byte(0)
	if len(ext) > 1 {
		kind = ext[1]
	}
	switch kind {
	case '4':
		b, why := pointee(v, 4)
		if b == nil {
			return append(dst, why...)
		}
		return pad(dst, s, ip4(nil, b, ext[0] == 'i', strings.TrimLeft(ext[2:], "4")))
	case '6':
		b, why := pointee(v, 16)
		if b == nil {
			return append(dst, why...)
		}
		return pad(dst, s, ip6(nil, b, ext[0] == 'I' && strings.HasPrefix(ext[2:], "c"), ext[0] == 'i'))
	case 'S':
		return appendSockaddr(dst, ext, s, v)
	}
	return appendPlain(dst, ext, s, v, e)
}

// ip4 prints four numbers with dots; i pads them to three digits. order is h or l for a little-endian address.
func ip4(dst, b []byte, zeros bool, order string) []byte {
	little := strings.HasPrefix(order, "h") || strings.HasPrefix(order, "l")
	for i := range 4 {
		x := b[i]
		if little {
			x = b[3-i]
		}
		if i > 0 {
			dst = append(dst, '.')
		}
		width := -1
		if zeros {
			width = 3
		}
		dst = appendNumber(dst, spec{zero: true, width: width, prec: -1}, uint64(x), 10, false)
	}
	return dst
}

// ip6 prints eight groups of four digits, with colons unless plain.
func ip6(dst, b []byte, compressed, plain bool) []byte {
	if compressed {
		return ip6Compressed(dst, b)
	}
	for i := range 16 {
		if i > 0 && i%2 == 0 && !plain {
			dst = append(dst, ':')
		}
		dst = append(dst, lowerDigits[b[i]>>4], lowerDigits[b[i]&15])
	}
	return dst
}

// ip6Compressed is RFC 5952: the longest run of zero groups as ::, and the
// address in dots of ::ffff:a.b.c.d and of ISATAP.
func ip6Compressed(dst, b []byte) []byte {
	group := func(i int) uint16 { return binary.BigEndian.Uint16(b[2*i:]) }
	mapped := binary.BigEndian.Uint64(b) == 0 && binary.BigEndian.Uint32(b[8:]) == 0xffff
	isatap := binary.BigEndian.Uint32(b[8:])|0x02000000 == 0x02005efe
	groups := 8
	if mapped || isatap {
		groups = 6
	}
	at, longest := -1, 1
	for i := range groups {
		n := 0
		for i+n < groups && group(i+n) == 0 {
			n++
		}
		if n > longest {
			at, longest = i, n
		}
	}
	colon := false
	for i := 0; i < groups; i++ {
		if i == at {
			if colon || i == 0 {
				dst = append(dst, ':')
			}
			dst = append(dst, ':')
			colon = false
			i += longest - 1
			continue
		}
		if colon {
			dst = append(dst, ':')
		}
		dst = strconv.AppendUint(dst, uint64(group(i)), 16)
		colon = true
	}
	if groups == 6 {
		if colon {
			dst = append(dst, ':')
		}
		dst = ip4(dst, b[12:], false, "")
	}
	return dst
}

// appendSockaddr is %pIS with p (port), f (flow information), s (scope) and c
// (compressed), and h or l for the order of an IPv4 address.
func appendSockaddr(dst []byte, ext string, s spec, v value) []byte {
	b, why := pointee(v, 2)
	if b == nil {
		return append(dst, why...)
	}
	opts := ext[2:]
	switch binary.LittleEndian.Uint16(b) {
	case afINET:
		if b, why = pointee(v, 8); b == nil {
			return append(dst, why...)
		}
		return pad(dst, s, sockaddr4(b, opts, ext[0] == 'i'))
	case afINET6:
		if b, why = pointee(v, 28); b == nil {
			return append(dst, why...)
		}
		return pad(dst, s, sockaddr6(b, opts, ext[0] == 'i'))
	}
	return pad(dst, s, []byte("(einval)"))
}

func sockaddr4(b []byte, opts string, zeros bool) []byte {
	order := ""
	if i := strings.IndexAny(opts, "hlnb"); i >= 0 {
		order = opts[i:]
	}
	text := ip4(nil, b[4:8], zeros, order)
	if strings.Contains(opts, "p") {
		text = append(text, ':')
		text = strconv.AppendUint(text, uint64(binary.BigEndian.Uint16(b[2:])), 10)
	}
	return text
}

func sockaddr6(b []byte, opts string, plain bool) []byte {
	port, flow, scope := strings.Contains(opts, "p"), strings.Contains(opts, "f"), strings.Contains(opts, "s")
	var text []byte
	if port || flow || scope {
		text = append(text, '[')
	}
	text = ip6(text, b[8:24], !plain && strings.Contains(opts, "c"), plain)
	if port || flow || scope {
		text = append(text, ']')
	}
	if port {
		text = append(text, ':')
		text = strconv.AppendUint(text, uint64(binary.BigEndian.Uint16(b[2:])), 10)
	}
	if flow {
		// The label and the class, without the highest four bits.
		text = append(text, '/')
		text = strconv.AppendUint(text, uint64(binary.BigEndian.Uint32(b[4:])&0x0fffffff), 10)
	}
	if scope {
		text = append(text, '%')
		text = strconv.AppendUint(text, uint64(binary.LittleEndian.Uint32(b[24:])), 10)
	}
	return text
}
