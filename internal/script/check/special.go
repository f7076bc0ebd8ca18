package check

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/printf"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// special types the words whose type or value depends on more than their arguments' types: on the place, the
// types of the kernel, maps, or the options.
func (c *specials) special(at script.Expr, w *words.Word, args []script.Expr, call *words.Call) (*types.Type, bool) {
	switch w.Name {
	case "args":
		return c.args(at), true
	case "retval":
		return c.retval(at), true
	case "ctx":
		return c.context(w.Result(call)), true
	case "curtask":
		return c.kernelPointer("task_struct"), true
	case "probetype":
		if pl := c.place(); pl != nil {
			c.consts[at] = strConst(typeName(pl.Provider.Name))
		}
	case "has_cpid":
		c.consts[at] = boolConst(c.opts.Child)
	case "default_str_length":
		c.consts[at] = intConst(uint64(c.config.Int("max_strlen")))
	case "cgroupid":
		if c.opts.Cgroup == nil || !call.Lits[0].Known {
			break
		}
		id, err := c.opts.Cgroup(call.Lits[0].Str)
		if err != nil {
			c.fail(args[0], "%s", err)
		}
		c.consts[at] = intConst(id)
	case "kfunc_exist":
		if s, ok := c.opts.Source.(functions); ok && call.Lits[0].Known {
			c.consts[at] = boolConst(s.Function(call.Lits[0].Str))
		}
	case "is_array", "is_integer", "is_ptr", "is_str", "is_unsigned_integer", "is_literal", "is_scalar":
		return c.question(at, w, args, call)
	case "getopt":
		return c.getopt(at, args, call), true
	case "static_assert":
		if k := c.lit(args[0]); k == nil {
			c.fail(args[0], "the condition is not known before the script runs")
		} else if !k.truth() {
			c.fail(at, "%s", call.Lits[1].Str)
		}
		return types.VoidT, true
	case "fail":
		c.failed(at, args, call)
		return types.VoidT, true
	case "container_of":
		if _, ok := c.offset(at, call.Types[1], []string{call.Names[2]}); !ok {
			return types.NoneT, true
		}
	case "len":
		if call.Types[0] == nil {
			return types.Int64, true
		}
	case "enable", "disable":
		if label := call.Lits[0].Str; !c.labels[label] {
			c.failHint(args[0], "a label is written before the attach point: "+label+"=interval:s:1", "no probe has the label %q", label)
		}
	case "print":
		if m, ok := args[0].(*script.Map); ok && len(args) > 1 && c.mapOf(m.Name, m).Value.Kind == types.Stats {
			c.warn(at, "print() ignores its further arguments for values of stats()")
		}
	case "str":
		if k := c.foldCall(at.(*script.Call)); k != nil {
			c.consts[at] = k
			w.Result(call)
			return k.Type(), true
		}
	}
	return nil, false
}

// question answers is_integer() and the like.
func (c *specials) question(at script.Expr, w *words.Word, args []script.Expr, call *words.Call) (*types.Type, bool) {
	var yes bool
	t := call.Types[0]
	switch w.Name {
	case "is_array":
		yes = t.Kind == types.Array
	case "is_integer":
		yes = t.Kind == types.Int
	case "is_ptr":
		yes = t.Kind == types.Pointer
	case "is_str":
		yes = t.Kind == types.String
	case "is_unsigned_integer":
		yes = t.Kind == types.Int && !t.Signed
	case "is_literal":
		yes = c.lit(args[0]) != nil
	case "is_scalar":
		m := args[0].(*script.Map)
		yes = c.mapOf(m.Name, m).Scalar
	}
	c.consts[at] = boolConst(yes)
	return types.BoolT, true
}

// args is the struct of the arguments at the places.
func (c *specials) args(at script.Expr) *types.Type {
	pl := c.place()
	if pl == nil {
		c.fail(at, "args can be used in probes only")
		return types.NoneT
	}
	if pl.Provider.Name == "fentry" || pl.Provider.Name == "fexit" {
		if pl.Target == "bpf" {
			c.fail(at, "the arguments of eBPF programs are not known")
			return types.NoneT
		}
	}
	if c.opts.Source == nil {
		c.fail(at, "the arguments of %s are not known here", pl.Point.Text)
		return types.NoneT
	}
	t, err := c.argsAt(pl)
	if err != nil || t == nil {
		if err == nil {
			c.fail(at, "the arguments of %s are not known", pl.Point.Text)
		} else {
			c.fail(at, "the arguments of %s are not known: %s", pl.Point.Text, err)
		}
		return types.NoneT
	}
	if at != c.member {
		c.wholeArgs(at, t)
	}
	space := words.SpaceOf(pl.Provider)
	if pl.Provider.Name == "tracepoint" && pl.Target == "syscalls" {
		space = types.User
	}
	return types.FromC(t).In(space).WithCtx(true)
}

// retval has the type of the function at fexit, and at uretprobe if that is a floating-point number: the register that bpftrace reads has
// no part of it.
func (c *specials) retval(at script.Expr) *types.Type {
	pl := c.place()
	if pl == nil {
		return types.Uint64
	}
	space := words.SpaceOf(pl.Provider)
	if list := c.results(pl); len(list) > 0 && (pl.Provider.Name == "fexit" || slices.ContainsFunc(list, typed.floating)) {
		if rt := c.everywhere(at, "retval", list); rt.Kind != types.None {
			return rt.In(space)
		}
	}
	return types.Uint64.In(space)
}

// results are the types of what the functions of the probe return, if the place is one where they count.
func (c *checker) results(pl *script.Place) []typed {
	if name := pl.Provider.Name; c.opts.Source == nil || name != "fexit" && name != "uretprobe" {
		return nil
	}
	return c.typesAt(c.opts.Source.Retval, func(pl *script.Place) []typed {
		return c.each(func(s several, f func(string, *ctype.Type)) { s.EachResult(pl, f) })
	})
}

func (t typed) floating() bool { return types.FromC(t.Type).Kind == types.Float }

// context is ctx: a pointer to the struct of the kind of probe.
func (c *specials) context(t *types.Type) *types.Type {
	pl := c.place()
	if t.Kind == types.None || pl == nil {
		return t
	}
	name := ""
	switch pl.Provider.Name {
	case "kprobe", "kretprobe", "uprobe", "uretprobe", "usdt":
		name = "pt_regs"
	case "profile", "interval", "software", "hardware", "watchpoint":
		name = "bpf_perf_event_data"
	case "iter":
		name = "bpf_iter__" + pl.Name
	}
	if ct := c.named("struct", name); ct != nil && name != "" {
		return types.PointerTo(types.FromC(ct), types.Kernel).WithCtx(true)
	}
	return t
}

// kernelPointer is a pointer to a struct of the kernel, or an integer if its types are not known.
func (c *specials) kernelPointer(name string) *types.Type {
	if ct := c.named("struct", name); ct != nil {
		return types.PointerTo(types.FromC(ct), types.Kernel)
	}
	ct := &ctype.Type{Kind: ctype.Struct, Name: name, Incomplete: true}
	return types.PointerTo(types.FromC(ct), types.Kernel)
}

// getopt gives a named parameter its value.
func (c *specials) getopt(at script.Expr, args []script.Expr, call *words.Call) *types.Type {
	t := call.Word.Result(call)
	c.asked[call.Lits[0].Str] = true
	if len(call.Lits) > 2 && call.Lits[2].Known {
		c.described[call.Lits[0].Str] = call.Lits[2].Str
	}
	if len(args) > 1 && t.Kind != types.None {
		k, old := c.lit(args[1]), c.opt[call.Lits[0].Str]
		if old != nil && k != nil && (old.Kind != k.Kind || old.Int != k.Int || old.Str != k.Str || old.Bool != k.Bool) {
			c.fail(at, "the option %s has another default value elsewhere", call.Lits[0].Str)
		}
		c.opt[call.Lits[0].Str] = k
	}
	s, given := c.opts.Named[call.Lits[0].Str]
	switch {
	case t.Kind == types.Bool && given:
		switch strings.ToLower(s) {
		case "", "1", "true":
			c.consts[at] = boolConst(true)
		case "0", "false":
			c.consts[at] = boolConst(false)
		default:
			c.fail(at, "--%s is true or false, not %q", call.Lits[0].Str, s)
		}
	case t.Kind == types.Bool && len(args) == 1:
		c.consts[at] = boolConst(false)
	case t.Kind == types.String && given:
		c.consts[at] = strConst(s)
	case t.Kind == types.Int && given:
		digits, neg := strings.CutPrefix(s, "-")
		v, err := script.ParseInt(digits)
		switch {
		case err != nil || neg && v > 1<<63:
			c.fail(at, "--%s is a number, not %q", call.Lits[0].Str, s)
		case neg && v > 0 && !t.Signed:
			c.fail(at, "--%s is a number from 0, as its default is, not %q", call.Lits[0].Str, s)
		case !neg && v >= 1<<63 && t.Signed:
			c.fail(at, "--%s is a number below 2^63, as its default is negative, not %q", call.Lits[0].Str, s)
		case neg && v > 0:
			c.consts[at] = &Const{Kind: types.Int, Int: -v, Neg: true}
		default:
			c.consts[at] = intConst(v)
		}
	case t.Kind != types.None:
		c.consts[at] = c.lit(args[1])
	}
	return t
}

// failed reports a call of fail() that is reached.
func (c *specials) failed(at script.Expr, args []script.Expr, call *words.Call) {
	vals := make([]printf.Value, 0, len(args))
	for _, a := range args[1:] {
		k := c.lit(a)
		if k == nil {
			c.fail(a, "the arguments of fail() must be literals")
			return
		}
		vals = append(vals, k.value())
	}
	f, err := printf.Parse(call.Lits[0].Str)
	if err != nil {
		return
	}
	c.fail(at, "%s", f.Format(vals))
}

// value is the constant as an argument of a format.
func (k *Const) value() printf.Value {
	switch {
	case k.Kind == types.String:
		return printf.Text(k.Str)
	case k.Kind == types.Bool:
		return printf.Bool(k.Bool)
	case k.Neg:
		return printf.Int(int64(k.Int))
	}
	return printf.Uint(k.Int)
}

// typeName is what probetype gives for a kind of probes.
func typeName(provider string) string {
	switch provider {
	case "begin", "end", "self":
		return "special"
	case "bench":
		return "benchmark"
	}
	return provider
}
