package check

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// builtinTypes are the names of the language's types.
var builtinTypes = map[string]*types.Type{
	"bool": types.BoolT, "void": types.VoidT, "float": types.FloatT, "double": types.FloatT,
	"int8": types.Int8, "int16": types.Int16, "int32": types.Int32, "int64": types.Int64,
	"uint8": types.Uint8, "uint16": types.Uint16, "uint32": types.Uint32, "uint64": types.Uint64,
	"count_t": types.CountT, "timestamp": types.TimeT, "macaddr_t": types.MACT, "cgroup_path_t": types.CgroupT,
	"username_t": types.UserT,
	"min_t":      types.Aggregate(types.Min, true), "max_t": types.Aggregate(types.Max, true), "sum_t": types.Aggregate(types.Sum, true),
	"avg_t": types.Aggregate(types.Avg, true), "stats_t": types.Aggregate(types.Stats, true),
	"umin_t": types.Aggregate(types.Min, false), "umax_t": types.Aggregate(types.Max, false), "usum_t": types.Aggregate(types.Sum, false),
	"uavg_t": types.Aggregate(types.Avg, false), "ustats_t": types.Aggregate(types.Stats, false),
	"char": types.Int8, "short": types.Int16, "int": types.Int32, "long": types.Int64,
}

// sized are the types whose [N] is their size.
var sized = map[string]types.Kind{"string": types.String, "buffer": types.Buffer, "inet": types.Inet}

// builtin reports whether a name is a word or function of the language.
func builtin(name string) bool { return words.Find(name) != nil || words.FindMapFunc(name) != nil }

// typeOf returns the type that a text names; NoneT, with an error, if there is none.
func (c *checker) typeOf(t *script.Type) *types.Type {
	suffixes := t.Suffixes
	base := c.baseType(t)
	if k, ok := sized[t.Name]; ok && t.Tag == "" {
		base = &types.Type{Kind: k}
		if len(suffixes) > 0 && !suffixes[0].Pointer {
			if suffixes[0].Size > 1<<30 {
				c.fail(t, "the size %d is too large", suffixes[0].Size)
				return types.NoneT
			}
			base, suffixes = &types.Type{Kind: k, Size: int64(suffixes[0].Size)}, suffixes[1:]
		}
	}
	if base == nil {
		c.failHint(t, "types of the kernel are struct, union or enum NAME", "there is no type %q", strings.TrimSpace(t.Tag+" "+t.Name))
		return types.NoneT
	}
	for _, s := range suffixes {
		switch {
		case s.Pointer && base.Kind == types.Void:
			base = types.PointerTo(nil, types.Unknown)
		case s.Pointer:
			base = types.PointerTo(base, types.Unknown)
		case base.Size > 0 && s.Size > uint64(1<<40/base.Size):
			c.fail(t, "the array is too large")
			return types.NoneT
		default:
			base = types.ArrayOf(base, int64(s.Size))
		}
	}
	return base
}

// baseType is typeOf without suffixes; nil if there is none.
func (c *checker) baseType(t *script.Type) *types.Type {
	if t.Tag == "" {
		if b := builtinTypes[t.Name]; b != nil {
			return b
		}
		for _, tag := range []string{"struct", "union", "enum"} {
			if ct := c.env.tags[tag+" "+t.Name]; ct != nil {
				return fromC(ct)
			}
		}
	}
	if ct := c.named(t.Tag, t.Name); ct != nil {
		return fromC(ct)
	}
	if ct := typedefs[t.Name]; ct != nil && t.Tag == "" {
		return types.FromC(ct)
	}
	return nil
}

// fromC is types.FromC, except that enums are 64 bits wide, as bpftrace has them. They are signed as in C: if a constant is negative.
func fromC(ct *ctype.Type) *types.Type {
	t := types.FromC(ct)
	if t.Kind == types.Int && t.C != nil {
		return enumType(t.C)
	}
	return t
}

// folded is an enumerator as a constant of the script.
func (k constant) folded() *Const {
	t := enumType(k.enum)
	return &Const{Kind: types.Int, Int: uint64(k.value), Neg: k.value < 0 && (t == nil || t.Signed), enum: t}
}

func enumType(ct *ctype.Type) *types.Type {
	if ct.Strip().Kind != ctype.Enum {
		return nil
	}
	ct = ct.Strip()
	negative := func(e ctype.Enumerator) bool { return e.Value < 0 && ct.Size < 8 } // of 8 bytes it may be a large one
	return &types.Type{Kind: types.Int, Size: 8, Signed: ct.Signed || slices.ContainsFunc(ct.Enumerators(), negative), C: ct}
}
