package printk

import (
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// arrayHelper computes a value from a dynamic array's bytes, which are size bytes at off in the record.
type arrayHelper func(c *arrayCall, e *env, off, size int) value

// arrayHelpers are the functions that take the name of a dynamic array.
var arrayHelpers map[string]arrayHelper

func init() {
	arrayHelpers = map[string]arrayHelper{}
	for _, rel := range []string{"", "rel_"} {
		arrayHelpers["__get_"+rel+"str"] = arrayPointer
		arrayHelpers["__get_"+rel+"dynamic_array"] = arrayPointer
		arrayHelpers["__get_"+rel+"dynamic_array_len"] = func(_ *arrayCall, _ *env, _, size int) value {
			return integer(ctype.UIntT, uint64(size))
		}
		arrayHelpers["__get_"+rel+"sockaddr"] = arrayPointer
		arrayHelpers["__get_"+rel+"bitmask"] = arrayBitmask
		arrayHelpers["__get_"+rel+"cpumask"] = arrayBitmask
	}
	arrayHelpers["__print_dynamic_array"] = printDynamicArray
}

// arrayCall is a helper applied to the dynamic array whose word is at off.
type arrayCall struct {
	fn   arrayHelper
	off  int
	rel  bool
	elem *ctype.Type
	args []node
}

func (n *arrayCall) eval(e *env) value {
	word, ok := load(e.rec.b, n.off, 4)
	if !ok {
		return failed(beyond)
	}
	if len(e.seq.b) > maxText {
		return failed("the text is too long")
	}
	off, size := int(word&0xffff), int(word>>16)
	if n.rel {
		off += n.off + 4
	}
	if off > len(e.rec.b) {
		return failed(beyond)
	}
	return n.fn(n, e, off, size)
}

func (n *arrayCall) fixed() bool { return false }

func arrayPointer(n *arrayCall, e *env, off, _ int) value {
	return value{typ: pointerTo(n.elem), blk: &e.rec, off: off}
}

// arrayBitmask prints as %*pb.
func arrayBitmask(_ *arrayCall, e *env, off, size int) value {
	if size > len(e.rec.b)-off {
		return failed(beyond)
	}
	out := e.here()
	e.seq.b = appendBitmap(e.seq.b, e.rec.b[off:off+size], size*8)
	return e.made(out)
}

// printDynamicArray is __print_dynamic_array(field, sizeof an element).
func printDynamicArray(n *arrayCall, e *env, off, size int) value {
	if len(n.args) != 1 {
		return failed("__print_dynamic_array() with %d arguments", len(n.args)+1)
	}
	el := n.args[0].eval(e)
	if el.fail != "" {
		return el
	}
	if el.n == 0 || !el.isInt() {
		return failed("division by zero")
	}
	return arrayText(e, arrayPointer(n, e, off, size), uint64(size)/el.n, el.n)
}

// bytesAt returns size bytes at p.
func bytesAt(p value, size uint64) ([]byte, value) {
	switch p = decay(p); {
	case p.fail != "":
		return nil, p
	case p.blk == nil:
		return nil, failed("memory at %#x", p.n)
	case p.off > len(p.blk.b) || size > uint64(len(p.blk.b)-p.off):
		return nil, failed(beyond)
	}
	return p.blk.b[p.off : p.off+int(size)], value{}
}

// evalArgs evaluates a call's arguments; no is the first one without a value.
func evalArgs(c *call, e *env) (out []value, no value) {
	for _, a := range c.args {
		v := decay(a.eval(e))
		if v.fail != "" {
			return nil, v
		}
		out = append(out, v)
	}
	return out, value{}
}

// printHex is __print_hex and __print_hex_str: bytes in hexadecimal, with and
// without spaces between them.
func printHex(c *call, e *env) value {
	a, no := evalArgs(c, e)
	if no.fail != "" {
		return no
	}
	// The length is an int.
	data, no := bytesAt(a[0], uint64(max(int32(a[1].n), 0)))
	if no.fail != "" {
		return no
	}
	out := e.here()
	for i, x := range data {
		if i > 0 && c.name == "__print_hex" {
			e.seq.b = append(e.seq.b, ' ')
		}
		e.seq.b = hex.AppendEncode(e.seq.b, []byte{x})
	}
	return e.made(out)
}

// printArray is __print_array(array, count, sizeof an element).
func printArray(c *call, e *env) value {
	a, no := evalArgs(c, e)
	if no.fail != "" {
		return no
	}
	return arrayText(e, a[0], uint64(max(int32(a[1].n), 0)), a[2].n)
}

func arrayText(e *env, p value, count, size uint64) value {
	if size != 1 && size != 2 && size != 4 && size != 8 {
		return failed("an array of elements of %d bytes", size)
	}
	data, no := bytesAt(p, count*size)
	if no.fail != "" {
		return no
	}
	out := e.here()
	e.seq.b = append(e.seq.b, '{')
	for i := 0; i < len(data); i += int(size) {
		if i > 0 {
			e.seq.b = append(e.seq.b, ',')
		}
		n, _ := load(data, i, int64(size))
		e.seq.b = append(e.seq.b, "0x"...)
		e.seq.b = strconv.AppendUint(e.seq.b, n, 16)
	}
	e.seq.b = append(e.seq.b, '}')
	return e.made(out)
}

// printHexDump is __print_hex_dump(prefix, prefix type, row size, group size,
// data, length, ASCII): lines as print_hex_dump() makes them.
func printHexDump(c *call, e *env) value {
	a, no := evalArgs(c, e)
	if no.fail != "" {
		return no
	}
	data, no := bytesAt(a[4], a[5].n)
	if no.fail != "" {
		return no
	}
	prefix := ""
	if a[0].blk != nil {
		prefix = string(cString(a[0]))
	}
	row := 16
	if a[2].n == 32 {
		row = 32
	}
	out := e.here()
	e.seq.b = append(e.seq.b, '\n')
	for i := 0; i < len(data); i += row {
		line := data[i:min(i+row, len(data))]
		e.seq.b = append(e.seq.b, prefix...)
		switch a[1].n {
		case 1:
			e.seq.b = append(e.seq.b, "(address): "...)
		case 2:
			e.seq.b = fmt.Appendf(e.seq.b, "%.8x: ", i)
		}
		e.seq.b = dumpLine(e.seq.b, line, row, int(a[3].n), a[6].n != 0)
		e.seq.b = append(e.seq.b, '\n')
	}
	return e.made(out)
}

// dumpLine is hex_dump_to_buffer: groups of bytes as little-endian numbers, then
// the characters in a column of their own.
func dumpLine(dst, line []byte, row, group int, ascii bool) []byte {
	if group != 2 && group != 4 && group != 8 || len(line)%group != 0 {
		group = 1
	}
	start := len(dst)
	for i := 0; i < len(line); i += group {
		if i > 0 {
			dst = append(dst, ' ')
		}
		n, _ := load(line, i, int64(group))
		dst = fmt.Appendf(dst, "%0*x", group*2, n)
	}
	if !ascii {
		return dst
	}
	for column := row*2 + row/group + 1; len(dst)-start < column; {
		dst = append(dst, ' ')
	}
	for _, x := range line {
		if x < ' ' || x > '~' {
			x = '.'
		}
		dst = append(dst, x)
	}
	return dst
}
