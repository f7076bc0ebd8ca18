package test

import (
	"regexp"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/sema"
)

// fixedExprs are evaluated at the stops in a function; those under "" at every eighth stop anywhere. /FMT
// follows the expression, as in a collect list.
var fixedExprs = map[string][]string{
	"": {
		"global_int", "global_bytes", "global_double", "global_float", "global_string", "global_array", "points", "global_ld",
		"thread_count", "thread_array", "file_static", "sink", "'vars.c'::file_static", "scalars::calls", "kinds::calls",
		"table", "deep", "straddle", "packed", "unnamed", "vbyte", "flag_true", "wide", "cplx", "const_pointer", "row_pointer",
		"*row_pointer", "row_pointer[1][2]", "**(row_pointer + 1)", "*const_pointer", "pointer_pointer", "points[1]", "points[1].y * 3",
		"&points[2]", "&points[2] - points", "(&points[2])->x", "*&points[0]", "points[0]@2", "global_bytes[1]@3", "global_bytes[0]@4/x",
		"global_int/x", "global_int/d", "global_int/u", "global_int/t", "global_int/o", "global_int/c", "global_int/z", "global_int/a",
		"global_double/x", "global_float/f", "global_bytes/x", "global_bytes/d", "points/x", "global_array/x", "global_array/d", "global_string/s",
		"deep.in[1].p[0]", "deep.in[0].w", "deep.in[0].w.b[3]", "deep.mask", "deep.mask | F_B", "deep.fns", "deep.fns[1]", "deep.hidden", "deep.low",
		"deep.whole/x", "deep.names[0]", "straddle.a + straddle.b", "straddle.c", "straddle.c * 2", "straddle.d + straddle.e", "straddle.f", "straddle.g",
		"straddle.e/x", "packed.i", "packed.d * 2", "packed.lo + packed.hi", "packed.s", "packed/x", "unnamed.where->y", "unnamed.hidden",
		"(char)global_int", "(unsigned char)global_int", "(short)70000", "(unsigned)global_int", "(long)global_int", "(double)global_int", "(float)global_int / 3",
		"(int)global_double", "(int)global_float", "(_Bool)global_int", "(enum colour)5", "(enum flags)5", "(enum colour)2", "(struct point *)points", "*(struct point *)&points[1]",
		"(u64)global_int", "(uint8_t)global_int", "(point_t *)&points[1]", "(long)&global_int", "(char *)global_array", "*(int *)&global_float", "*(unsigned *)&global_float/x",
		"global_int * 3 + 2 * sink", "global_int / 2", "global_int % 3", "global_int >> 1", "(unsigned)global_int >> 1", "global_int << 4", "~global_int", "-global_int", "!global_int",
		"global_int & 0xf0", "global_int | 1", "global_int ^ -1", "global_int < 0", "global_int < 0u", "global_int == -7 && sink != 0", "global_int > 0 || sink == 0",
		"global_int > 0 ? 1 : 2", "global_int < 0 ? global_double : 1", "global_double + 1", "global_double * global_float", "global_double / 3", "global_double > 2",
		"global_float * 3", "global_float < 0", "global_ld", "global_double == 2.5", "-global_double", "!global_double", "1 / 3.0", "5 / 2", "-5 / 2", "-5 % 3", "7u - 8", "1ul << 40",
		"'a'", "'a' + 1", "'\\n'", "0x10", "010", "1.5e3", "10000000000", "BLUE", "GREEN + 1", "F_A | F_C", "sizeof(int)", "sizeof(struct node)", "sizeof points", "sizeof(struct straddle)",
		"global_string[0]", "*global_string", "global_string + 2", "global_array[1]", "global_array + 1", "&global_array[3]", "*(global_array + 2)", "&global_array", "&global_int", "*&global_int",
		"scalars", "&scalars", "*scalars", "$rip", "$sp", "$rsp", "(long)$rsp - 8", "$rip == (long)$pc", "$rdi", "$rax + 1", "$eax", "$al", "$ax", "$rbp", "$r12", "$r12d", "$eflags & 1",
		"*(long *)$rsp", "*(int *)0", "points[100000000].x", "1 / 0", "1 % 0", "global_int / (sink - sink)", "thread_count + 1", "&thread_count == &thread_count", "vbyte + 1", "vbyte >> 2", "flag_true + 1",
		"wide", "(long)wide", "global_bytes[2] * global_bytes[2]", "global_bytes[2] - 251", "(signed char)global_bytes[2]", "nosuch", "points[0].nosuch", "*global_int",
		"const_pointer == &global_int", "const_pointer != 0", "!const_pointer", "const_pointer ? 1 : 2", "pointer_pointer && **pointer_pointer == -7", "**pointer_pointer",
		"table[1][2]", "*table", "**table", "table[0]@2", "&table[1]", "*table@2", "global_ld * 2", "(double)global_ld", "(int)global_ld", "global_ld > 1",
	},
	"scalars": {
		"i", "i+l", "u", "u+1", "u > i", "l", "l*2", "c", "c+1", "c/x", "c/d", "sc", "sc/x", "sc/u", "s", "s*s", "s/x", "big", "big/x", "big >> 32", "big / 3", "big % 10", "(long)big < 0",
		"flag", "flag ? i : l", "!flag", "calls", "sum", "sum - l", "(int)sum", "(char)sum/d", "c == 97", "c == 'b'", "i == u", "(double)big", "(float)i", "i / c", "sum/f", "(long)u * u", "u * u", "i - u", "s << 4", "sc >> 1",
	},
	"floats": {"f", "d", "f+1", "f*d", "d/3", "sum", "sum > d", "step", "step + f", "(int)f", "(long)d", "k * f", "n - k", "f/x", "d/x", "-f", "f == 0.5", "f < d ? f : d", "(float)d", "(int)(f * 10)"},
	"structs": {
		"*n", "n->name", "n->next", "*n->next", "n->next->at.x", "n->at", "n->at.y * 2", "n->bits", "n->bits.a", "n->bits.b", "n->bits.b * 2", "n->bits.c", "n->bits.c + 1", "n->bits.d", "n->bits.e", "n->w", "n->w.f", "n->w.b",
		"n->weight", "n->weight * 3", "n->tag", "n->tag[0]", "n->grid", "n->grid[1]", "n->grid[1][2]", "n->inner", "n->other", "n->call", "*n->call", "p", "p.x", "p.y + 1", "&p", "q", "*q", "q->x", "q[1]", "q[0]@2", "col", "fl", "fl & F_A", "fl == 5",
		"local", "local.x", "it", "it->at", "it ? it->at.x : -1", "it->next->next", "it->next->next->at", "n->next->name", "(long)n & 7", "q - points", "q == &points[0]", "q >= points && q < points + 3", "total", "&n->at.y", "&n->grid", "n == it", "n->tag/s", "n->name/s", "n->name/x", "*n/x",
	},
	"pointers":     {"*p", "**pp", "*pp", "pp", "p[1]", "p[-1]", "*p * 2", "arr[2]", "arr[i]", "*arr@4", "arr[1]@2", "*arr@n", "*arr@4/x", "vp", "(struct node *)vp", "((struct node *)vp)->at", "((struct node *)vp)->name", "text", "*text", "text[1]", "text ? text[0] + 0 : 0", "text == 0", "p - arr", "p == *pp", "&arr[2]", "(long)p - (long)arr", "r", "text/s", "!vp", "*(short *)p", "*(char *)p/x", "*(char *)arr@16/x"},
	"shadow":       {"v", "v*2", "r", "r - v"},
	"inlined":      {"a", "b", "c", "a*b == c", "c/x"},
	"main":         {"argc", "argv", "argv[0]", "*argv", "numbers", "numbers[1]", "np", "*np", "*np@2", "np[1]", "result", "r", "rounds", "a", "*a", "a->next->at", "b", "&numbers", "&numbers[3] - np", "sizeof numbers", "argv[1]", "rounds - r"},
	"in_registers": {"p", "p.a", "p.b", "p.a - p.b", "m", "m.i", "m.d", "m.d * 2", "f", "f.x", "f.y", "f.x + f.y", "b", "b.v[4]", "b.tail", "&b", "t"},
	"make_pair":    {"r", "r.a", "r.b", "a", "b", "a + b", "r.a == a"},
	"in_pieces":    {"p", "p.a", "p.b", "m", "m.i", "m.d", "t", "i", "n", "p.a * i", "m.d > 0", "(int)m.d", "p.b/x", "&p"},
	"many":         {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "r", "a*b+c", "k*2", "d < k", "(int)b", "j + 1", "f - g", "h / 3"},
	"recurse":      {"n", "*up", "here", "up", "n * n == here", "*up + n", "up == &here"},
	"inner":        {"x", "y", "x ^ y", "y == (x ^ 0x55)"},
	"middle":       {"x", "times", "sum", "i", "x2", "sum + i"},
	"outer":        {"x", "r", "r - x"},
	"vla":          {"a", "a[0]", "a[1]", "*a@2", "two", "two[1]", "two[1][0]", "n", "r", "i", "a[i]", "sizeof a", "&a[1]", "sizeof(two[0])"},
	"constants":    {"five", "seven", "five + seven", "copy", "gone", "*gone", "half", "third", "half * third", "word", "word[1]", "*word", "fixed", "fixed.x", "fixed.y * 2", "col", "yes", "col == BLUE"},
	"kinds": {
		"*d", "d->in[1].p[0].x", "d->in[0]", "d->fns[0]", "d->names", "d->low", "d->mask", "s", "s.a", "s.b", "s.c", "s.d", "s.e", "s.f", "s.g", "s.a + s.b", "*k", "k->i", "k->lo", "k->hi", "k->d", "k->c", "v", "v[0]", "v[3]", "sum", "sum[2]",
		"ld", "(double)ld", "twice_ld", "fn", "*fn", "fn == add", "l", "*l", "l->next", "*l->next", "l->next->prev == l", "l->flex", "l->flex[0]", "l->key", "calls", "text", "text[1]", "text/x", "bytes", "bytes[2]", "bytes/x", "i128", "hits", "r", "it", "it->key", "it->flex[0]@2", "d->none", "&l->flex[0]",
	},
	"single": {"a", "b", "m", "wide_m", "a > b", "m * a", "m + wide_m", "-a", "(int)(a * 100)"},
	"narrow": {"a", "b", "c", "d", "e", "x", "y", "a + b", "c * d", "x << 1", "e ? 1 : 2", "(signed char)a", "-x", "~a", "b/x", "a/c"},
	"shapes": {"r", "t", "head", "head->key", "*head", "head->next->flex[0]"},
}

// differs lists expressions where C's answer is not GDB's, with the reason.
var differs = map[string]string{
	"'a'":       "C: an int; GDB: a char",
	"'\\n'":     "C: an int; GDB: a char",
	"scalars":   "we give the pointer, GDB shows the code's type",
	"*scalars":  "as scalars",
	"*n->call":  "as scalars",
	"*fn":       "as scalars",
	"$rip":      "we write (void), GDB ()",
	"&calls":    "GDB demangles clang's kinds.calls as if it were Ada",
	"s.a + s.b": "GDB computes unsigned with an unsigned bit-field that C promotes to int",
	"&head":     "as &calls",
}

// derived makes expressions of a variable by its type.
func derived(v *debuginfo.Variable) []string {
	n, t := v.Name, v.Type.Strip()
	format := func(list ...string) (out []string) {
		for _, f := range list {
			out = append(out, strings.ReplaceAll(f, "V", n))
		}
		return out
	}
	switch {
	case t.Kind == ctype.Enum:
		return format("V == 1", "V/d", "(int)V", "&V")
	case t.IsInteger() && t.Size <= 8:
		return format("V + 1", "V * 3 - 1", "-V", "V / 2", "V % 5", "V > 0 ? V + 0 : -V", "V == 0", "(char)V/d", "(unsigned)V", "(double)V / 4", "V/x", "&V", "sizeof V")
	case t.Kind == ctype.Float && t.Size <= 8:
		return format("V + 1", "V * V", "V > 0", "(long)V", "(float)V", "V/x", "&V")
	case t.Kind == ctype.Pointer:
		if e := t.Elem.Strip(); e.Size > 0 && e.Kind != ctype.Func {
			return format("*V", "V == 0", "V + 1", "V[1]", "V ? 1 : 0", "(long)V", "&V", "V/x")
		}
		return format("V == 0", "(long)V", "&V")
	case t.Kind == ctype.Struct || t.Kind == ctype.Union:
		var out []string
		for _, f := range t.Fields() {
			if f.Name != "" && f.BitSize == 0 {
				out = append(out, n+"."+f.Name)
			}
		}
		return append(out, "&"+n)
	case t.Vector:
		return format("V[0]", "V[1] + 1", "sizeof V")
	case t.Kind == ctype.Array && t.Count > 0:
		return format("V[0]", "*V", "&V", "V[1]", "V + 0", "sizeof V")
	}
	return nil
}

// point is one address with the expressions to evaluate there.
type point struct {
	addr         uint64
	fn           string
	args, locals []*debuginfo.Variable
	exprs        []string
	gone         map[string]string // expressions that jalon does not compile here, and why
	missing      map[string]string // those of which the debug information has no value here, and why
}

// points selects the expressions for each address, and finds out which of them jalon refuses there.
func (s *subject) points(addrs []uint64) map[uint64]*point {
	out := map[uint64]*point{}
	for i, a := range addrs {
		sc, err := s.mod.ScopeAt(a - s.bias)
		if err != nil {
			s.t.Fatalf("scope at %#x: %v", a-s.bias, err)
		}
		p := &point{addr: a, fn: sc.FuncName(), args: sc.Args(), locals: sc.Locals(), gone: map[string]string{}, missing: map[string]string{}}
		seen := map[string]bool{}
		fatal := p.fatalToGDB()
		add := func(list []string) {
			for _, x := range list {
				if !seen[x] && differs[x] == "" && (fatal == nil || !fatal.MatchString(x)) {
					seen[x] = true
					p.exprs = append(p.exprs, x)
				}
			}
		}
		if !s.real {
			add(fixedExprs[p.fn])
		}
		for j, v := range append(append([]*debuginfo.Variable{}, p.args...), p.locals...) {
			d := derived(v)
			if s.real { // memory beside it may differ at another time
				d = slices.DeleteFunc(d, func(x string) bool { return x == v.Name+"[1]" })
			}
			if len(d) > 0 {
				add([]string{d[(i+j)%len(d)], d[(i+2*j+3)%len(d)]})
			}
		}
		if i%8 == 0 && !s.real { // a slice of the many each time
			list := fixedExprs[""]
			for j := 0; j < 40; j++ {
				add(list[(i*5+j)%len(list):][:1])
			}
		}
		p.refuse(sc, s.bias)
		out[a] = p
	}
	return out
}

// fatalToGDB matches input that crashes GDB 13.1 (an internal error): arithmetic with members of variables
// in several pieces.
func (p *point) fatalToGDB() *regexp.Regexp {
	var names []string
	for _, v := range append(append([]*debuginfo.Variable{}, p.args...), p.locals...) {
		if len(v.Loc.Pieces) > 1 || len(v.Loc.Pieces) == 1 && v.Loc.Pieces[0].BitSize > 0 {
			names = append(names, regexp.QuoteMeta(v.Name))
		}
	}
	if names == nil {
		return nil
	}
	name := `\b(?:` + strings.Join(names, "|") + `)\b`
	return regexp.MustCompile(`[-+*&|^<>?=!] *` + name + `|` + name + `[.\w]* *[-+*&|^<>?=%]`)
}

// refuse compiles each expression separately and records those that have no value.
func (p *point) refuse(sc debuginfo.Scope, bias uint64) {
	list := p.exprs
	for _, v := range append(append([]*debuginfo.Variable{}, p.args...), p.locals...) {
		list = append(list[:len(list):len(list)], v.Name)
	}
	for _, x := range list {
		items, err := lang.ParseCollect(x)
		if err == nil {
			var out *sema.Output
			out, err = sema.Compile(&sema.Input{
				Scope: sc, Bias: bias, Collect: items, Place: "p",
				TLSOffset: func() (int64, error) { return 0, nil },
			})
			if err == nil && out.Missing != nil {
				p.missing[x] = out.Missing[0].Msg
			}
		}
		if err != nil {
			msg, _, _ := strings.Cut(err.Error(), "\n")
			p.gone[x] = msg
		}
	}
}

// gdbForm converts EXPR/F to the arguments of GDB's "output".
func gdbForm(x string) string {
	if x, f := cutFormat(x); f != "" {
		return "/" + f + " " + x
	}
	return " " + x
}

// cutFormat splits EXPR/F.
func cutFormat(x string) (expr, format string) {
	i := len(x) - 2
	if i < 1 || x[i] != '/' || strings.IndexByte("xduotcafsz", x[i+1]) < 0 {
		return x, ""
	}
	return x[:i], x[i+1:]
}
