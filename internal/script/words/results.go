package words

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/script/types"
)

var (
	stackModes = []string{"bpftrace", "perf", "raw", "build_id"}
	stackArgs  = []Arg{{Kind: NameArg, Names: stackModes}, {Kind: IntLit}}
	namespaces = []Arg{{Kind: NameArg, Names: []string{"curr_ns", "init"}}}
)

// stackType is the type of kstack and ustack. The mode is the first argument if it is a name.
func stackType(k types.Kind) func(*Call) *types.Type {
	const maxFrames = 1024
	return func(c *Call) *types.Type {
		mode, limit := c.Config.Word("stack_mode"), uint64(127)
		args := c.Lits
		if len(c.Names) > 0 && c.Names[0] != "" {
			mode, args = c.Names[0], args[1:]
		} else if len(args) == 2 {
			c.Fail("the first argument is a mode: %s", strings.Join(stackModes, ", "))
			return types.NoneT
		}
		if len(args) > 0 {
			if !args[0].Known || args[0].Type.Kind != types.Int || args[0].Neg {
				c.Fail("the number of frames must be a literal")
				return types.NoneT
			}
			limit = args[0].Int
		}
		if limit > maxFrames {
			c.Fail("a stack has at most %d frames, not %d", maxFrames, limit)
		}
		if mode == "build_id" && k == types.KStack {
			if len(c.Names) > 0 && c.Names[0] != "" {
				c.Fail("the mode build_id is for ustack only")
			}
			mode = "raw"
		}
		return types.StackOf(k, mode, int64(min(limit, maxFrames)))
	}
}

func commType(c *Call) *types.Type {
	if len(c.Types) == 1 {
		return types.StringOf(64)
	}
	return types.StringOf(16)
}

// argsType and ctxType are what the checker says for a place; outside of one they have no type.
func argsType(c *Call) *types.Type { return types.NoneT }

func ctxType(c *Call) *types.Type {
	if c.Place == nil {
		c.Fail("ctx can be used in probes only")
		return types.NoneT
	}
	switch c.Place.Provider.Name {
	case "tracepoint":
		c.Fail("ctx cannot be used in a tracepoint; use args")
		return types.NoneT
	case "fentry", "fexit":
		c.Fail("ctx cannot be used with %s", c.Place.Provider.Name)
		return types.NoneT
	}
	return types.PointerTo(nil, types.Kernel).WithCtx(true)
}

func funcType(c *Call) *types.Type {
	if c.Place != nil && c.Place.Provider.User {
		return types.USymT
	}
	return types.KSymT
}

// placeText is the type of probe and probetype.
func placeText(c *Call) *types.Type {
	switch {
	case c.Place == nil:
		c.Fail("%s can be used in probes only", c.Word.Name)
		return types.NoneT
	case c.Word.Name == "probetype":
		return types.StringOf(16)
	}
	return types.StringOf(int64(len(c.Place.Point.Text)) + 64)
}

func getoptType(c *Call) *types.Type {
	if len(c.Types) == 1 {
		return types.BoolT
	}
	if !c.Lits[1].Known || !c.Types[1].Is(types.Int, types.String, types.Bool) {
		c.Fail("the default value must be a literal: a string, an integer, true or false")
		return types.NoneT
	}
	if len(c.Lits) == 3 && c.Lits[2].Type.Kind != types.String {
		c.Fail("the description must be a string literal")
	}
	switch c.Types[1].Kind {
	case types.Int:
		if c.Lits[1].Neg {
			return types.Int64
		}
		return types.Uint64
	case types.String:
		return types.StringOf(c.Config.Int("max_strlen"))
	}
	return types.BoolT
}

// length returns the literal length of str and buf: its value, or false if it is not a literal.
func (c *Call) length() (uint64, bool) {
	if len(c.Lits) < 2 || !c.Lits[1].Known {
		return 0, false
	}
	if c.Lits[1].Neg {
		c.Fail("%s() cannot have a negative length", c.Word.Name)
		return 0, false
	}
	return c.Lits[1].Int, true
}

func strType(c *Call) *types.Type {
	if !c.Types[0].Is(types.String, types.Int, types.Pointer, types.Array) {
		c.Fail("str() expects a string, an integer or a pointer, not %s", c.Types[0])
		return types.NoneT
	}
	size := c.Config.Int("max_strlen")
	if n, ok := c.length(); ok {
		if n+1 > uint64(size) {
			c.Warn("the length %d is larger than max_strlen; the string will have %d bytes", n, size)
		} else {
			size = int64(n) + 1
		}
	}
	return types.StringOf(size).In(types.Kernel)
}

func bufType(c *Call) *types.Type {
	t := c.Types[0]
	if !t.Is(types.Int, types.String, types.Pointer, types.Array) {
		c.Fail("buf() expects an integer, a string, a pointer or an array, not %s", t)
		return types.NoneT
	}
	size := c.Config.Int("max_strlen") - 4
	switch n, ok := c.length(); {
	case len(c.Types) == 1 && t.Kind != types.Array:
		c.Fail("buf() expects a length for a value of type %s", t)
		return types.NoneT
	case len(c.Types) == 1:
		size = min(size, t.Size)
	case ok:
		size = int64(min(uint64(size), n))
	}
	return types.BufferOf(size)
}

func lenType(c *Call) *types.Type {
	if t := c.Types[0]; t != nil && !t.Is(types.KStack, types.UStack) {
		c.Fail("len() expects a map or a stack, not %s", t)
	}
	return types.Int64
}

func macType(c *Call) *types.Type {
	t := c.Types[0]
	switch {
	case c.Lits[0].Known && t.Kind == types.String:
		c.Fail("macaddr() does not take a literal string")
	case !t.Is(types.Int, types.Array, types.String, types.Pointer, types.Buffer):
		c.Fail("macaddr() expects an array or a pointer, not %s", t)
	case t.Is(types.Array, types.String, types.Buffer) && t.Size < 6:
		c.Fail("macaddr() needs 6 bytes, %s has %d", t, t.Size)
	}
	return types.MACT
}

func nsecsType(c *Call) *types.Type {
	t := *types.Uint64
	t.Clock = "boot"
	if len(c.Names) > 0 {
		t.Clock = c.Names[0]
	}
	return &t
}

func ntopType(c *Call) *types.Type {
	t := c.Types[len(c.Types)-1]
	switch {
	case len(c.Types) == 2 && c.Types[0].Kind != types.Int:
		c.Fail("the address family must be an integer, not %s", c.Types[0])
	case !t.Is(types.Int, types.String, types.Array):
		c.Fail("ntop() expects an integer or an array, not %s", t)
	case t.Is(types.String, types.Array) && t.Size != 4 && t.Size != 16:
		c.Fail("the address must have 4 or 16 bytes, not %d", t.Size)
	}
	return types.InetT
}

func pathType(c *Call) *types.Type {
	if !c.Types[0].Is(types.Struct, types.Pointer) {
		c.Fail("path() expects a struct path or a pointer, not %s", c.Types[0])
	}
	size := c.Config.Int("max_strlen")
	if n, ok := c.length(); ok {
		size = int64(min(n, 1<<20))
	}
	return types.StringOf(size)
}

func ptonType(c *Call) *types.Type {
	a, err := netip.ParseAddr(c.Lits[0].Str)
	if err != nil || a.Zone() != "" {
		c.Fail("%q is not an address of IPv4 or IPv6", c.Lits[0].Str)
		return types.NoneT
	}
	return types.ArrayOf(types.Uint8, int64(a.BitLen()/8))
}

// registers of x86-64, as reg() names them.
var registers = strings.Fields("r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_rax ip pc cs flags sp ss")

func regType(c *Call) *types.Type {
	if !slices.Contains(registers, c.Lits[0].Str) {
		c.Fail("there is no register %q; there are %s", c.Lits[0].Str, strings.Join(registers, " "))
	}
	return types.Uint64.In(c.space())
}

func signalType(c *Call) *types.Type {
	l := c.Lits[0]
	switch {
	case l.Known && c.Types[0].Kind == types.String:
		if SignalNumber(l.Str) == 0 {
			c.Fail("there is no signal %q", l.Str)
		}
	case c.Types[0].Kind != types.Int:
		c.Fail("%s() expects the name or the number of a signal, not %s", c.Word.Name, c.Types[0])
	case l.Known && (l.Neg || l.Int < 1 || l.Int > 64):
		c.Fail("%s() expects the name of a signal, or a number from 1 to 64", c.Word.Name)
	}
	return types.VoidT
}

func cookieType(c *Call) *types.Type {
	if s := c.Types[0].Pointee(); s.Kind != types.Struct || s.String() != "struct sock" {
		c.Fail("socket_cookie() expects a struct sock *, not %s", c.Types[0])
	}
	return types.Uint64
}

func strftimeType(c *Call) *types.Type {
	if c.Lits[1].Known && c.Lits[1].Neg {
		c.Fail("strftime() does not take negative times")
	}
	if c.Types[1].Clock == "monotonic" {
		c.Fail("strftime() does not take times of the monotonic clock")
	}
	return types.TimeT
}

func uaddrType(c *Call) *types.Type {
	s := c.Lits[0].Str
	if s == "" || strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./_-") != "" {
		c.Fail("%q is not the name of a symbol", s)
	}
	return types.PointerTo(types.Int64, types.User)
}

// chars reports arguments that are neither strings nor characters.
func chars(c *Call) {
	for _, t := range c.Types {
		ok := t.Kind == types.String
		switch t.Kind {
		case types.Array:
			ok = t.Elem.Is(types.Int) && t.Elem.Size == 1
		case types.Pointer:
			ok = t.Pointee().Kind == types.Int && t.Pointee().Size == 1
		}
		if !ok {
			c.Fail("%s() expects a string, an array of characters or a pointer to them, not %s", c.Word.Name, t)
			return
		}
	}
}

func assertStr(c *Call) *types.Type { chars(c); return types.VoidT }

func charsBool(c *Call) *types.Type { chars(c); return types.BoolT }

func charsInt(t *types.Type) func(*Call) *types.Type {
	return func(c *Call) *types.Type { chars(c); return t }
}

func aggregate(k types.Kind) func(*Call) *types.Type {
	return func(c *Call) *types.Type { return c.aggregated(types.Aggregate(k, c.Types[0].Signed)) }
}

// aggregated is the type of the values of a map, for floating-point arguments one of these.
func (c *Call) aggregated(t *types.Type) *types.Type {
	if c.Types[0].Floating() {
		return types.Floats(t)
	}
	return t
}

func histType(c *Call) *types.Type {
	if len(c.Lits) == 2 && (c.Lits[1].Neg || c.Lits[1].Int > 5) {
		c.Fail("hist() divides each power of two in 2^k parts, with k from 0 to 5")
	}
	return c.aggregated(types.HistT)
}

func lhistType(c *Call) *types.Type {
	low, high, step := c.Lits[1], c.Lits[2], c.Lits[3]
	switch {
	case low.Neg || high.Neg || step.Neg:
		c.Fail("the limits and the step of lhist() cannot be negative")
	case step.Int == 0:
		c.Fail("the step of lhist() must be at least 1")
	case low.Int > high.Int:
		c.Fail("lhist()'s minimum %d is larger than its maximum %d", low.Int, high.Int)
	case (high.Int-low.Int)/step.Int > 1000:
		c.Fail("lhist() would have %d ranges, more than 1000", (high.Int-low.Int)/step.Int)
	case high.Int-low.Int < step.Int:
		c.Fail("lhist()'s step %d is larger than its range %d", step.Int, high.Int-low.Int)
	}
	return c.aggregated(types.LHistT)
}

func tseriesType(c *Call) *types.Type {
	interval, n := c.Lits[1], c.Lits[2]
	switch {
	case interval.Neg || interval.Int == 0:
		c.Fail("the interval of tseries() must be at least 1 ns")
	case n.Neg || n.Int == 0 || n.Int > 1000000:
		c.Fail("tseries() has 1 to 1000000 intervals")
	case len(c.Lits) == 4 && !slices.Contains([]string{"avg", "max", "min", "sum"}, c.Lits[3].Str):
		c.Fail("tseries() aggregates by avg, max, min or sum, not %q", c.Lits[3].Str)
	}
	return c.aggregated(types.TSeriesT)
}
