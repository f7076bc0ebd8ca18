package printk

import (
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// helper implements a function that print formats call. The number of arguments has been checked.
type helper struct {
	min, max int // arguments; max -1: any number
	eval     func(c *call, e *env) value
}

// same is a function that returns its first argument.
var same = helper{1, 2, func(c *call, e *env) value { return c.args[0].eval(e) }}

// helpers are the functions by name, except those for dynamic arrays.
var helpers map[string]helper

func init() {
	helpers = map[string]helper{
		"__print_flags":        {2, -1, printFlags},
		"__print_flags_u64":    {2, -1, printFlags},
		"__print_symbolic":     {1, -1, printSymbolic},
		"__print_symbolic_u64": {1, -1, printSymbolic},
		"__print_hex":          {2, 2, printHex},
		"__print_hex_str":      {2, 2, printHex},
		"__print_array":        {3, 3, printArray},
		"__print_hex_dump":     {7, 7, printHexDump},
		"__print_ns_to_secs":   {1, 1, printNsToSecs},
		"__print_ns_without_secs": {1, 1, func(c *call, e *env) value {
			return overInt(c, e, func(n uint64) uint64 { return n % 1e9 }, ctype.UIntT)
		}},
		"__builtin_expect":     same,
		"likely":               same,
		"unlikely":             same,
		"__builtin_constant_p": {1, 1, func(*call, *env) value { return boolean(false) }},
		"trace_seq_buffer_ptr": {1, 1, func(_ *call, e *env) value { return e.here() }},
		"trace_seq_printf":     {2, -1, traceSeqPrintf},
		"mc_event_error_type":  {1, 1, memoryError},
		"jiffies_to_msecs":     {1, 1, func(c *call, e *env) value { return fromJiffies(c, e, 1000) }},
		"jiffies_to_usecs":     {1, 1, func(c *call, e *env) value { return fromJiffies(c, e, 1000000) }},
	}
	for name, size := range map[string]int64{
		"16": 2, "32": 4, "64": 8,
	} {
		for _, n := range []string{"be" + name + "_to_cpu", "__be" + name + "_to_cpu", "cpu_to_be" + name, "__fswab" + name, "__builtin_bswap" + name} {
			helpers[n] = swapper(size)
		}
	}
	// Page table entries are numbers wrapped in structs.
	for _, level := range []string{"pgd", "p4d", "pud", "pmd", "pte"} {
		helpers[level+"_val"], helpers["native_make_"+level] = same, same
	}
	helpers["ntohs"], helpers["htons"] = swapper(2), swapper(2)
	helpers["ntohl"], helpers["htonl"] = swapper(4), swapper(4)
}

// call is a call of a function by name. A call of an unknown function has no value.
type call struct {
	name  string
	fn    helper
	args  []node
	tmpl  []directive // of trace_seq_printf
	table atomic.Pointer[table]
}

func newCall(c *call) (node, error) {
	if c.fn.eval == nil {
		return c, nil
	}
	if len(c.args) < c.fn.min || c.fn.max >= 0 && len(c.args) > c.fn.max {
		return nil, fmt.Errorf("%s() with %d arguments", c.name, len(c.args))
	}
	if c.name == "trace_seq_printf" {
		l, ok := c.args[1].(*lit)
		if !ok || l.v.blk == nil {
			return nil, fmt.Errorf("%s() without a format", c.name)
		}
		c.tmpl = parseTemplate(string(l.v.blk.b[:len(l.v.blk.b)-1]))
	}
	return c, nil
}

func (c *call) eval(e *env) value {
	if c.fn.eval == nil {
		return failed("%s() is a kernel function", c.name)
	}
	if len(e.seq.b) > maxText {
		return failed("the text is too long")
	}
	return c.fn.eval(c, e)
}

func (c *call) fixed() bool { return false }

// here returns a pointer to the beginning of the next text.
func (e *env) here() value {
	return value{typ: pointerTo(ctype.UCharT), blk: &e.seq, off: len(e.seq.b)}
}

// made terminates the text that begins at start and returns a pointer to it.
func (e *env) made(start value) value {
	e.seq.b = append(e.seq.b, 0)
	return start
}

// entry is one line of a table: { mask, "name" }. No name ends the table.
type entry struct {
	mask uint64
	name string
	fail string
}

// table is a table of __print_flags or __print_symbolic, with names from one resolver.
type table struct {
	by      *Resolver
	entries []entry
}

// entries evaluates the table once for each resolver, because its lines are constants.
func (c *call) entries(e *env, args []node) []entry {
	if t := c.table.Load(); t != nil && t.by == e.r {
		return t.entries
	}
	keep := true
	var out []entry
	for _, a := range args {
		b, ok := a.(*braces)
		if !ok || len(b.list) < 2 {
			continue
		}
		keep = keep && b.fixed()
		mask, name := b.list[0].eval(e), decay(b.list[1].eval(e))
		if name.fail == "" && name.blk == nil {
			break
		}
		entry := entry{mask: mask.n, fail: mask.fail}
		if name.fail != "" {
			entry.fail = name.fail
		} else {
			entry.name = string(cString(name))
		}
		out = append(out, entry)
	}
	if keep {
		c.table.Store(&table{e.r, out})
	}
	return out
}

// printFlags names the bits of a value: trace_print_flags_seq.
func printFlags(c *call, e *env) value {
	v, delim := c.args[0].eval(e), decay(c.args[1].eval(e))
	if v.fail != "" {
		return v
	}
	var between []byte
	if delim.fail == "" && delim.blk != nil {
		between = cString(delim)
	}
	lines := c.entries(e, c.args[2:])
	out, first, flags := e.here(), true, v.n
	unknown := ""
	add := func(s string) {
		if !first {
			e.seq.b = append(e.seq.b, between...)
		}
		first = false
		e.seq.b = append(e.seq.b, s...)
	}
	for _, x := range lines {
		switch {
		case flags == 0:
		case x.fail != "":
			unknown = x.fail
		case flags&x.mask == x.mask:
			flags &^= x.mask
			add(x.name)
		}
	}
	if flags != 0 {
		add("0x" + strconv.FormatUint(flags, 16))
		if unknown != "" {
			e.seq.b = append(e.seq.b, " ("+unknown+")"...)
		}
	}
	return e.made(out)
}

// printSymbolic names a value: trace_print_symbols_seq.
func printSymbolic(c *call, e *env) value {
	v := c.args[0].eval(e)
	if v.fail != "" {
		return v
	}
	lines := c.entries(e, c.args[1:])
	out := e.here()
	unknown := ""
	for _, x := range lines {
		if x.fail != "" {
			unknown = " (" + x.fail + ")"
			continue
		}
		if x.mask == v.n {
			e.seq.b = append(e.seq.b, x.name...)
			break
		}
	}
	if len(e.seq.b) == out.off {
		e.seq.b = append(e.seq.b, "0x"+strconv.FormatUint(v.n, 16)+unknown...)
	}
	return e.made(out)
}

// traceSeqPrintf appends to the current text without terminating it.
func traceSeqPrintf(c *call, e *env) value {
	text := appendTemplate(nil, c.tmpl, c.args[2:], e)
	e.seq.b = append(e.seq.b, text...)
	return value{typ: ctype.VoidT}
}

// memoryErrors are the names that the kernel's mc_event_error_type() returns.
var memoryErrors = []string{"Corrected", "Uncorrected", "Deferred", "Fatal"}

func memoryError(c *call, e *env) value {
	v := c.args[0].eval(e)
	if v.fail != "" {
		return v
	}
	out, name := e.here(), "Info"
	if n := uint32(v.n); n < uint32(len(memoryErrors)) {
		name = memoryErrors[n]
	}
	e.seq.b = append(e.seq.b, name...)
	return e.made(out)
}

// fromJiffies implements jiffies_to_msecs and similar functions for the kernel's HZ.
func fromJiffies(c *call, e *env, unit uint64) value {
	v := c.args[0].eval(e)
	switch {
	case v.fail != "":
		return v
	case e.r == nil || e.r.HZ == 0:
		return failed("%d jiffies", v.n)
	case unit%e.r.HZ == 0:
		return integer(ctype.UIntT, unit/e.r.HZ*v.n)
	}
	return integer(ctype.UIntT, v.n*unit/e.r.HZ)
}

// overInt applies f to an integer argument.
func overInt(c *call, e *env, f func(uint64) uint64, t *ctype.Type) value {
	v := c.args[0].eval(e)
	if v.fail == "" && !v.isInt() {
		return failed("%s() of a value that is not an integer", c.name)
	}
	if v.fail != "" {
		return v
	}
	return integer(t, f(v.n))
}

func printNsToSecs(c *call, e *env) value {
	return overInt(c, e, func(n uint64) uint64 { return n / 1e9 }, ctype.ULLongT)
}

// swapper reverses the bytes of a number of the given size.
func swapper(size int64) helper {
	return helper{1, 1, func(c *call, e *env) value {
		return overInt(c, e, func(n uint64) uint64 {
			var out uint64
			for i := range size {
				out |= n >> (8 * i) & 0xff << (8 * (size - 1 - i))
			}
			return out
		}, intType(size, false))
	}}
}
