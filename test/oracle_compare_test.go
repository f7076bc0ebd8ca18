package test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// comparison compares the two traces of a build.
type comparison struct {
	s        *subject
	counts   map[string]int
	hits     map[uint64]int
	suspects []suspect
	imageEnd uint64
	callers  int // equal values that rest on what callers passed
}

func (c *comparison) tally() string {
	var keys []string
	for k := range c.counts {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var parts []string
	for _, k := range keys {
		parts = append(parts, fmt.Sprintf("%s %d", k, c.counts[k]))
	}
	return strings.Join(parts, ", ")
}

func (c *comparison) run(points map[uint64]*point, theirs []gdbStop, ours []hit) {
	c.counts, c.hits = map[string]int{}, map[uint64]int{}
	i := 0
	for k := range ours {
		h := &ours[k]
		if c.hits[h.pc]++; c.hits[h.pc] > hitsLooked {
			continue
		}
		if i >= len(theirs) {
			c.s.t.Errorf("event %d: GDB has no more than %d stops; jalon is at %#x", k, len(theirs), h.pc)
			return
		}
		if theirs[i].PC != h.pc {
			c.s.t.Errorf("event %d: jalon is at %#x (%s), GDB at %#x (%s)", k, h.pc, c.where(h.pc), theirs[i].PC, c.where(theirs[i].PC))
			return
		}
		c.stop(points[h.pc], &theirs[i], h)
		i++
	}
	if i < len(theirs) {
		c.s.t.Errorf("jalon has %d events, GDB %d stops: the next is at %#x (%s)", i, len(theirs), theirs[i].PC, c.where(theirs[i].PC))
	}
	c.settle(points)
	c.availability()
	if c.counts["same"] < 1000 && !c.s.real {
		c.s.t.Errorf("only %d values were the same", c.counts["same"])
	}
	if n := c.counts["different"]; n > 0 {
		c.s.t.Errorf("%d values differ", n)
	}
}

func (c *comparison) where(pc uint64) string {
	name, off, file, line, _ := c.s.mod.Symbolize(pc - c.s.bias)
	return fmt.Sprintf("%s+%d, %s:%d", name, off, file[strings.LastIndexByte(file, '/')+1:], line)
}

// What a count of the comparison says of the pairs. Those that are not listed are neither.
var (
	haveBoth = []string{
		"same", "known: a comparison is an int in C", "known: GDB's name of a pointer's type", "known: GDB orders parameters", "known: GDB's LOGICAL",
		"known: incomplete sequences", "GDB shows more or less", "known: GDB reads the registers of callers",
	}
	gdbAlone = []string{
		"known: entry values", "known: no arithmetic with long double", "known: limit of $locals", "known: implicit pointers", "known: released frames",
		"known: x87 registers", "known: locations computed", "known: bounds that are computed", "parts optimised out", "different",
	}
)

func (c *comparison) sum(keys []string) (n int) {
	for k, m := range c.counts {
		if slices.ContainsFunc(keys, func(p string) bool { return strings.HasPrefix(k, p) }) {
			n += m
		}
	}
	return n
}

// availability logs how many of the values that GDB has jalon has too.
func (c *comparison) availability() {
	both, alone := c.sum(haveBoth), c.sum(gdbAlone)
	if n := both + alone; n > 0 {
		c.s.t.Logf("availability: both %d, GDB alone %d, different %d, jalon alone %d, from callers %d: %.2f %%, without callers %.2f %%", both, alone-c.counts["different"], c.counts["different"], c.counts["constants that GDB does not show"],
			c.callers, 100*float64(both)/float64(n), 100*float64(both-c.callers)/float64(n))
	}
}

// fromCaller reports whether the value of an expression rests on what a caller passed.
func (p *point) fromCaller(x string) bool {
	none := func(op debuginfo.Op) bool { return op.Code == debuginfo.OpNone }
	for _, v := range append(append([]*debuginfo.Variable{}, p.args...), p.locals...) {
		searched := slices.ContainsFunc(v.Loc.Pieces, func(q debuginfo.Piece) bool { return slices.ContainsFunc(q.Expr, none) })
		if searched && regexp.MustCompile(`\b`+regexp.QuoteMeta(v.Name)+`\b`).MatchString(x) {
			return true
		}
	}
	return false
}

func (c *comparison) stop(p *point, g *gdbStop, h *hit) {
	if c.s.real {
		c.sourceNames(p, g)
	}
	if g.Func != p.fn {
		c.bad(p, "function", "", "function", p.fn, g.Func)
		return
	}
	if !c.sameNames(p, g) {
		return
	}
	names := p.names()
	var want []string
	for _, n := range g.Args {
		want = append(want, n.a.String())
	}
	for _, n := range c.inOrder(p, g) {
		want = append(want, n.a.String())
	}
	for i, x := range p.exprs {
		if p.gone[x] == "" {
			want = append(want, g.Exprs[i].String())
		} else {
			c.refused(p, x, g.Exprs[i])
		}
	}
	got, err := h.values(names, want)
	if err != nil {
		c.bad(p, "event", "", "event", err.Error(), "")
		return
	}
	asks := append(append([]string{}, names[:len(p.args)+len(p.locals)]...), p.asked()[3:]...)
	for i, ask := range asks {
		if i < len(g.Args) && g.Args[i].a.Shadowed {
			continue
		}
		c.value(p, ask, got[i], want[i])
	}
}

// mapped matches addresses of libraries and of the program's mappings, with their names: memory that jalon
// maps in the program changes them.
var mapped = regexp.MustCompile(`(0x7fff[0-9a-f]{8}|1407[0-9]{11})\b( <[^>]*>)?`)

// reference matches what GDB prints before the value of a reference.
var reference = regexp.MustCompile(`^\([^@]*&\) @0x[0-9a-f]+: `)

// mappedHalves are addresses of the same in arrays of ints that are not set.
var mappedHalves = regexp.MustCompile(`-13\d{7}, 32767\b`)

// staticNames are symbols of static objects of functions: GDB shows what the compiler added, a number
// (gcc) or the function (clang).
var staticNames = regexp.MustCompile(`<(?:\w+\[([A-Za-z_]\w*)\]|(?:\w+\.)?([A-Za-z_]\w*)(?:\.\d+|\.lto_priv)*)((?:\+\d+)?)>`)

func withoutMapped(s string) string {
	s = staticNames.ReplaceAllString(mappedHalves.ReplaceAllString(s, "0, 32767"), "<$1$2$3>")
	return mapped.ReplaceAllStringFunc(s, func(text string) string {
		number, _, _ := strings.Cut(text, " ")
		if a, err := strconv.ParseUint(number, 0, 64); err != nil || a < 0x7fff_0000_0000 || a >= 0x7fff_fff0_0000 {
			return text
		}
		return "0x7fff00000000"
	})
}

// pointerType is the type that GDB prints before a pointer.
var pointerType = regexp.MustCompile(`^\([^()]*\) `)

// cloneSuffix matches the suffix that gcc adds to the symbol of a changed copy of a function; GDB shows it.
var cloneSuffix = regexp.MustCompile(`(\.(isra|constprop|part|cold|lto_priv)(\.\d+)*)+$`)

// sourceNames removes from a stop what GDB takes from the optimiser and not from the source: names of
// clones, and static variables, labels and variables without a value that GDB takes from blocks of the abstract
// function that are not around the pc.
func (c *comparison) sourceNames(p *point, g *gdbStop) {
	if g.Func = cloneSuffix.ReplaceAllString(g.Func, ""); strings.ContainsAny(g.Func, "<[(") {
		g.Func = p.fn // there is more than one way to write the name of a template's instance
	}
	ours, params := map[string]bool{}, map[string]bool{}
	for _, v := range p.locals {
		ours[v.Name] = true
	}
	for _, v := range p.args {
		params[v.Name] = true
	}
	g.Locals = slices.DeleteFunc(g.Locals, func(n named) bool {
		return !ours[n.name] && (params[n.name] /* a constant one is a local variable too */ || n.a.V == nil || n.a.Static || *n.a.V == "<optimized out>" || strings.HasSuffix(*n.a.V, n.name)) // or an enumerator
	})
	left := map[string]int{}
	for _, v := range p.args {
		left[v.Name]++
	}
	// GDB has the parameters of some inlined copies twice, by two entries for one. Those of a pack have one
	// name in the source, and both tools have all of them.
	g.Args = slices.DeleteFunc(g.Args, func(n named) bool {
		left[n.name]--
		return left[n.name] < 0 && params[n.name]
	})
}

func sortedNames(list []named) []string {
	var out []string
	for _, n := range list {
		out = append(out, n.name)
	}
	sort.Strings(out)
	return out
}

// sameNames compares the names in scope, and puts GDB's arguments into our order.
func (c *comparison) sameNames(p *point, g *gdbStop) bool {
	var args, locals []string
	for _, v := range p.args {
		args = append(args, v.Name)
	}
	for _, v := range p.locals {
		locals = append(locals, v.Name)
	}
	a, l := append([]string{}, args...), append([]string{}, locals...)
	sort.Strings(a)
	sort.Strings(l)
	if x, y := fmt.Sprint(a), fmt.Sprint(sortedNames(g.Args)); x != y {
		c.bad(p, "args", "", "$args", x, y)
		return false
	}
	if x, y := fmt.Sprint(l), fmt.Sprint(sortedNames(g.Locals)); x != y {
		c.bad(p, "locals", "", "$locals", x, y)
		return false
	}
	g.Args = ordered(args, g.Args)
	return true
}

func ordered(names []string, list []named) (out []named) {
	times := map[string]int{}
	for _, n := range names {
		times[n]++
	}
	for _, n := range names {
		for _, x := range list {
			if x.name == n {
				// Which of several the name means, the parameters of a pack, is not comparable.
				x.a.Shadowed = x.a.Shadowed || times[n] > 1
				out = append(out, x)
				break
			}
		}
	}
	return out
}

func (c *comparison) inOrder(p *point, g *gdbStop) []named {
	var names []string
	for _, v := range p.locals {
		names = append(names, v.Name)
	}
	return ordered(names, g.Locals)
}

// refused: jalon does not compile x here. GDB must have no value either.
func (c *comparison) refused(p *point, x string, g answer) {
	switch {
	case g.V == nil, noValue(*g.V):
		c.counts["both refuse"]++
	case strings.HasPrefix(*g.V, "{") && strings.Contains(*g.V, "<optimized out>"):
		c.counts["parts optimised out"]++
	case p.fragments(x):
		c.counts["known: zeros of GDB for missing fragments"]++
	case strings.Contains(p.gone[x], "its number of elements") && (*g.V == "0" || strings.HasPrefix(*g.V, "0x")):
		c.counts["both refuse"]++
	case otherModule.MatchString(*g.V):
		c.counts["known: names of other modules"]++
	case weaker(p.gone[x]) != "":
		c.counts["known: "+weaker(p.gone[x])]++
	default:
		c.bad(p, "refused", x, x, "refused: "+p.gone[x], *g.V)
	}
}

// known are jalon's reasons for having no value although GDB has one.
var known = []struct{ part, why string }{
	{"DW_OP_entry_value", "entry values"},
	{"DW_OP_GNU_parameter_ref", "entry values"},
	{"describes only the value that it is changed to", "parameters that clang changes at once"},
	{"long double", "no arithmetic with long double"},
	{"collects at most 4096 of one variable", "limit of $locals"},
	{"is unknown here", "bounds that are computed at run time"},
	{"DW_OP_implicit_pointer", "implicit pointers"},
	{"already released", "released frames"},
	{"register 33", "x87 registers"},
	{"computed in floating point", "locations computed in floating point"},
	{"typed arithmetic", "locations computed in types of their own"},
	{"mixes types", "locations computed in types of their own"},
	{"no value yet at the function's first instruction", "variables of frames that do not exist yet"}, // see TestPassed
	{"has not stored it yet", "variables of frames that do not exist yet"},
	{"which does not exist at this instruction", "variables of frames that do not exist yet"},
	{"a Fortran array is written with parentheses", "elements of arrays of Fortran, which GDB counts from 0 in C"},
}

func weaker(reason string) string {
	for _, k := range known {
		if strings.Contains(reason, k.part) {
			return k.why
		}
	}
	return ""
}

// noValue reports whether GDB has no value. It prints "synthetic pointer" for any piece without a place in
// an expression, numbers included.
func noValue(s string) bool {
	return s == "<optimized out>" || s == "error: value has been optimized out" || strings.Contains(s, "<synthetic pointer>")
}

var (
	// The text after the char pointers in aggregates: TestMemberTexts compares it. GDB has it also where jalon records no more texts.
	insideStrings = regexp.MustCompile(`(0x[0-9a-f]+)( <[^>]*>)? ("(?:[^"\\]|\\.)*"(\.\.\.)?|<error: [^>]*>|<unreadable address [^>]*>)`)
	// Names in libraries: any of several names of a function, also in separate debug files, is accepted.
	// Symbols of static objects: GDB treats part of the linker's suffix as part of the name.
	privateNames = regexp.MustCompile(`\.lto_priv(\.\d+)?\b`)
	libraryNames = regexp.MustCompile(`(0x7ffff7[0-9a-f]{6}) <[^>]*>`)
	unreadable   = regexp.MustCompile(`<error: Cannot access memory at address (0x[0-9a-f]+)>`)
)

// otherModule matches functions of libraries, where GDB looks too.
var otherModule = regexp.MustCompile(`^\{.*\} 0x7ffff7[0-9a-f]{6} <`)

// undefined reports whether C leaves x undefined, for the values at hand: a
// conversion to an integer that cannot hold it, the sign of a NaN, the distance of
// pointers that are not a multiple of the size apart.
func undefined(ask, got, want string) bool {
	switch {
	case strings.HasPrefix(ask, "(int)"), strings.HasPrefix(ask, "(long)"):
		return (got == "0" || got == "-9223372036854775808" || got == "-2147483648") && (want == "-1" || want == "0" || strings.HasSuffix(want, "7"))
	case strings.HasPrefix(ask, "-") && got == "-0":
		return want == "0"
	case strings.HasPrefix(ask, "-"):
		return strings.TrimPrefix(want, "-") == strings.TrimPrefix(got, "-") && strings.Contains(want, "nan(")
	case ask == "q - points", ask == "p - arr":
		return len(got) > 10 && len(want) == len(got)
	}
	return false
}

// arrayAddress matches what GDB prints for an array without length in a struct, for which jalon prints {}.
const arrayAddress = `(?:\{\}|0x[0-9a-f]+(?: <[^>]*>)?)`

func sameValue(got, want string) bool {
	if got == want {
		return true
	}
	if strings.HasPrefix(want, "{") || strings.HasSuffix(want, "i") {
		got = strings.ReplaceAll(got, "<optimised out>", "<optimized out>")
		want = strings.ReplaceAll(want, "<synthetic pointer>", "<optimized out>")
		got, want = insideStrings.ReplaceAllString(got, "$1$2"), insideStrings.ReplaceAllString(want, "$1$2")
	}
	want = privateNames.ReplaceAllString(want, "")
	got, want = libraryNames.ReplaceAllString(got, "$1"), libraryNames.ReplaceAllString(want, "$1")
	want = unreadable.ReplaceAllString(want, "<unreadable address $1>")
	if got == want {
		return true
	}
	if got == "{}" && strings.HasPrefix(want, "0x") {
		return true
	}
	if !strings.Contains(got, "{}") {
		return false
	}
	re, err := regexp.Compile("^" + strings.ReplaceAll(regexp.QuoteMeta(got), `\{\}`, arrayAddress) + "$")
	return err == nil && re.MatchString(want)
}

// reordered: two pointers to functions whose types differ only in the order of the parameters: GDB uses the
// optimised one, jalon the source's.
func reordered(got, want string) bool {
	cut := func(s string) (head, params, value string, ok bool) {
		head, rest, ok := strings.Cut(s, "(*)(")
		params, value, ok2 := strings.Cut(rest, ")) ")
		return head, params, value, ok && ok2
	}
	h, p, v, ok := cut(got)
	h2, p2, v2, ok2 := cut(want)
	a, b := strings.Split(p, ", "), strings.Split(p2, ", ")
	slices.Sort(a)
	slices.Sort(b)
	return ok && ok2 && h == h2 && v == v2 && slices.Equal(a, b)
}

// typeWords replaces the spellings of one type: GDB prints its own, jalon the compiler's.
var typeWords = strings.NewReplacer("long long unsigned int", "unsigned long long", "long unsigned int", "unsigned long", "short unsigned int", "unsigned short",
	"long long int", "long long", "long int", "long", "short int", "short", " *", "*", " &", "&", "> >", ">>")

// value compares both outputs for the expression ask (name without its format).
func (c *comparison) value(p *point, ask, got, want string) {
	before := c.sum(haveBoth)
	c.compare(p, ask, got, want)
	if c.sum(haveBoth) > before && p.fromCaller(ask) {
		c.callers++
	}
}

func (c *comparison) compare(p *point, ask, got, want string) {
	_, letter := cutFormat(ask)
	if c.s.real {
		want = strings.TrimPrefix(want, " [uninitialized] ") // of a variable that the compiler calls so
		got, want = withoutMapped(got), reference.ReplaceAllString(withoutMapped(want), "")
	}
	switch {
	case strings.HasSuffix(want, "fatal to GDB"), strings.Contains(want, "DW_OP_GNU_uninit must always be the very last op"):
		c.counts["GDB gives up"]++
	case sameValue(got, want), c.s.real && sameValue(typeWords.Replace(got), typeWords.Replace(want)):
		c.counts["same"]++
	case letter == "s" && strings.HasSuffix(want, " "+got), letter == "s" && want == "0x0" && got == "<unreadable address 0x0>":
		c.counts["same"]++ // GDB shows the address before the string
	case strings.HasPrefix(ask, "sizeof") && lowInt(got) == want:
		c.counts["known: GDB's sizeof of a variable length is an int"]++
	case undefined(ask, got, want):
		c.counts["undefined in C"]++
	case got == "<optimised out>" && want == "<optimized out>":
		c.counts["both optimised out"]++
	case strings.HasPrefix(got, "<unreadable address") && strings.Contains(want, "Cannot access memory"):
		c.counts["both unreadable"]++
	case strings.Contains(got, "is not in memory here") && strings.HasPrefix(want, "error: "):
		c.counts["both refuse"]++
	case strings.HasPrefix(got, "<the number of elements is negative") && strings.Contains(want, "of repetitions"):
		c.counts["both refuse"]++
	case c.s.real && (strings.Contains(want, "type code 13") || strings.Contains(want, "Invalid operation on booleans")): // Fortran's
		c.counts["GDB gives up"]++
	case c.s.real && asUnsigned(got) == want:
		c.counts["known: GDB's LOGICAL is unsigned"]++
	case strings.Contains(want, "max-value-size"), strings.Contains(want, "no such vector element"):
		c.counts["GDB gives up"]++
	case strings.Contains(want, "<incomplete sequence"):
		c.counts["known: incomplete sequences"]++
	case got == "<division by zero>" && strings.Contains(want, "Division by zero"):
		c.counts["same"]++
	case c.s.real && got == "<optimised out>" && strings.Contains(want, "Cannot access memory"):
		c.counts["known: GDB reads the discriminant of what is optimised out"]++
	case got == "<optimised out>" && strings.Contains(want, "<optimized out>"):
		c.counts["parts optimised out"]++
	case got == "<optimised out>" && (noValue(want) || strings.HasPrefix(want, "error: ")):
		c.counts["both optimised out"]++
	case ask == "rc" && p.fn == "changed" && strings.Contains(c.s.flags, "clang") && got == before(want):
		c.counts["known: GDB shows parameters that clang changes after the change"]++ // see TestPassed
	case strings.Contains(c.s.flags, "clang") && c.s.makesFrame(p.addr):
		c.counts["known: GDB's frame base in prologues and epilogues of clang"]++ // see TestPassedTypes
	case p.fn == "vla" && (strings.HasPrefix(ask, "sizeof") && want == "0" || (ask == "a" || ask == "two") && strings.HasPrefix(want, "0x")):
		c.counts["known: GDB does not know the number of elements"]++ // see TestVariableLength, TestMatrices
	case reordered(got, want):
		c.counts["known: GDB orders parameters as the code of a clone does"]++
	case c.s.real && (want == "true" && got == "1" || want == "false" && got == "0"):
		c.counts["known: a comparison is an int in C"]++
	case c.s.real && pointerType.ReplaceAllString(got, "") == pointerType.ReplaceAllString(want, "") && pointerType.MatchString(want):
		c.counts["known: GDB's name of a pointer's type after arithmetic"]++
	case c.s.real && (strings.Contains(want, "static ") || strings.Contains(want, "may-call-functions") || strings.Contains(want, "can't find linker symbol")):
		c.counts["GDB shows more or less: static members, calls, warnings"]++
	case c.s.real && membersOfContainers.MatchString(want) && !membersOfContainers.MatchString(got):
		c.counts["GDB shows more or less: members of containers, not their elements"]++
	case c.s.real && c.notation(got, want) != "":
		c.counts[c.notation(got, want)]++
	case c.s.real && onlyFortran(want):
		c.counts["known: GDB's Fortran"]++
	case c.s.real && strings.Contains(got, "is incomplete") && want == "<incomplete type>":
		c.counts["both refuse"]++
	case c.s.real && (strings.HasSuffix(want, "which isn't an lvalue.") || strings.HasSuffix(want, "value has been optimized out")) && (!strings.HasPrefix(got, "<") || strings.HasPrefix(got, "<unreadable")), c.s.real && want == "<optimized out>" && !strings.HasPrefix(got, "<"):
		c.counts["constants that GDB does not show"]++
	case strings.Contains(got, "<optimised out>") && p.fragments(ask):
		c.counts["known: zeros of GDB for missing fragments"]++
	case openBounds(got) == openBounds(want):
		c.counts["known: bounds that are computed at run time"]++
	case strings.HasPrefix(got, "<"):
		reason := p.reason(ask)
		if p.fragments(ask) {
			c.counts["known: zeros of GDB for missing fragments"]++
			return
		}
		if why := weaker(got + reason); why != "" {
			c.counts["known: "+why]++
			return
		}
		if p.fn == "recurse" && got == "<optimised out>" && reason == "" {
			// A value that rests on that of the caller, and so on: jalon goes three calls far.
			c.counts["known: entry values"]++
			return
		}
		c.bad(p, "no value", ask, ask, got+" ("+reason+")", want)
	default:
		c.bad(p, "value", ask, ask, got, want)
	}
}

// membersOfContainers are in what GDB shows of vectors, spans and slices without the printers of their languages.
var membersOfContainers = regexp.MustCompile(`\b_M_(start|array|ptr|data) = |\bdata_ptr = |\barray = 0x|\binner = `)

// framing are the instructions by which prologues and epilogues change the frame: push, pop, ret, sub n,%rsp.
var framing = regexp.MustCompile(`^(\x41?[\x50-\x5f]|\xc3|\x48[\x81\x83]\xec)`)

// makesFrame reports whether the instruction at an address is at the beginning of a function, or one that makes or
// releases its frame: GDB reads variables there as if the frame existed, where its base is a register.
func (s *subject) makesFrame(addr uint64) bool {
	if f, ok := s.mod.FunctionAt(addr - s.bias); ok && f.Lo == addr-s.bias {
		return true
	}
	code, err := s.mod.Text(addr-s.bias, 4)
	var latin []rune
	for _, b := range code {
		latin = append(latin, rune(b))
	}
	return err == nil && framing.MatchString(string(latin))
}

// onlyFortran: GDB reads an expression, or writes its value, in Fortran.
func onlyFortran(want string) bool {
	return want == ".TRUE." || want == ".FALSE." || strings.HasPrefix(want, "(PTR TO -> ") || strings.Contains(want, "A syntax error in expression") ||
		strings.Contains(want, "Argument to arithmetic operation not a number")
}

// asUnsigned is a negative int as an unsigned one.
func asUnsigned(n string) string {
	if i, err := strconv.ParseInt(n, 10, 32); err == nil && i < 0 {
		return strconv.FormatUint(uint64(uint32(i)), 10)
	}
	return ""
}

// before is the number before n.
func before(n string) string {
	i, err := strconv.Atoi(n)
	if err != nil {
		return ""
	}
	return strconv.Itoa(i - 1)
}

// openBounds removes the last bounds of the arrays that a pointer's type names.
func openBounds(s string) string { return bounds.ReplaceAllString(s, "[])") }

var bounds = regexp.MustCompile(`\[[0-9]*\]\)`)

// fragments reports whether x is about a variable of which only fragments have a
// location. GDB computes with zero for the others (and calls them synthetic).
func (p *point) fragments(x string) bool {
	for _, v := range append(append([]*debuginfo.Variable{}, p.args...), p.locals...) {
		bits := 8 * v.Type.Strip().Size
		for _, piece := range v.Loc.Pieces {
			if piece.BitSize == 0 {
				bits = 0
			}
			bits -= piece.BitSize
		}
		pieces := append(v.Loc.Pieces[:len(v.Loc.Pieces):len(v.Loc.Pieces)], debuginfo.Piece{})
		if bits > 0 && len(v.Loc.Pieces) > 0 {
			pieces[len(pieces)-1].Kind = debuginfo.IsMissing
		}
		for _, piece := range pieces {
			if piece.Kind == debuginfo.IsMissing && regexp.MustCompile(`\b`+v.Name+`\b`).MatchString(x) {
				return true
			}
		}
	}
	return false
}

// reason is why a variable has no value at a point.
func (p *point) reason(name string) string {
	if why := p.gone[name] + p.missing[name]; why != "" {
		return why
	}
	for _, v := range append(append([]*debuginfo.Variable{}, p.args...), p.locals...) {
		if v.Name == name && v.Loc.Unavailable != "" {
			return v.Loc.Unavailable
		}
	}
	return ""
}

// suspect is a difference that is an error unless the value depends on the accidental contents of the
// stack.
type suspect struct {
	p    *point
	hit  int // the nth at p
	ask  string
	kind string
	text string
	got  string
	want string
}

// bad records a difference. ask is empty if it does not concern a value.
func (c *comparison) bad(p *point, kind, ask, what, got, want string) {
	text := fmt.Sprintf("%s: %#x (%s): %s:\n  jalon %s\n  gdb   %s", kind, p.addr, c.where(p.addr), what, around(got, got, want), around(want, got, want))
	c.suspects = append(c.suspects, suspect{p, c.hits[p.addr], ask, kind, text, got, want})
}

// around is the part of s, which is a or b, where these begin to differ.
func around(s, a, b string) string {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	if at = min(at, len(s)); at > 150 {
		s = "..." + s[at-100:]
	}
	return head(s, 400)
}

// maxReported bounds the complaints of one kind that are printed.
const maxReported = 12

// settle runs the program under GDB again, with other accidental contents of the stack, and reports the
// differences of values that stay the same.
func (c *comparison) settle(addrs map[uint64]*point) {
	asks := map[string]gdbAsk{}
	index := map[uint64]map[string]int{}
	for a := range addrs {
		asks[fmt.Sprintf("%#x", a)] = gdbAsk{}
		index[a] = map[string]int{}
	}
	again := false
	entries := map[string]bool{}
	for _, s := range c.suspects {
		if s.ask == "" {
			continue
		}
		again = true
		if f, ok := c.s.mod.FunctionAt(s.p.addr - c.s.bias); ok && c.s.real {
			entries[fmt.Sprintf("%#x", f.Lo+c.s.bias)] = true
		}
		if _, ok := index[s.p.addr][s.ask]; !ok {
			key := fmt.Sprintf("%#x", s.p.addr)
			q := asks[key]
			index[s.p.addr][s.ask] = len(q.Exprs)
			q.Exprs = append(q.Exprs, gdbForm(s.ask))
			asks[key] = q
		}
	}
	reported := map[string]int{}
	stable := func(suspect) bool { return true }
	agrees := func(suspect) bool { return false }
	if again {
		o := gdbOptions{hits: hitsLooked, entries: slices.Sorted(maps.Keys(entries))}
		second := nthStops(c.s.gdbJob(asks, o))
		o.poison = 0xff
		first := nthStops(c.s.gdbJob(asks, o))
		if c.s.real {
			outer := nthStops(c.s.gdbJob(asks, gdbOptions{hits: hitsLooked, poison: noPoison, physical: true}))
			agrees = func(s suspect) bool {
				at := outer[nth{s.p.addr, s.hit}]
				return s.ask != "" && at != nil && sameValue(withoutMapped(s.got), withoutMapped(at.Exprs[index[s.p.addr][s.ask]].String()))
			}
		}
		stable = func(s suspect) bool {
			if s.ask == "" {
				return true
			}
			at, i := nth{s.p.addr, s.hit}, index[s.p.addr][s.ask]
			a, b := first[at], second[at]
			return a != nil && b != nil && a.Exprs[i].String() == s.want && b.Exprs[i].String() == s.want
		}
	}
	for _, s := range c.suspects {
		if agrees(s) {
			c.counts["known: GDB reads the registers of callers in the wrong frame for inlined functions"]++
			continue
		}
		if !stable(s) || s.ask != "" && c.unset(s.p.addr) {
			c.counts["never set"]++
			continue
		}
		c.counts["different"]++
		key := s.kind + " " + s.p.fn + " " + s.ask
		if reported[key]++; reported[key] > 1 {
			continue
		}
		if reported[s.kind]++; reported[s.kind] > maxReported && os.Getenv("JALON_ORACLE_ALL") == "" {
			continue
		}
		c.s.t.Error(s.text)
	}
}

// unset reports whether the arguments and locals at pc are not set yet, or no
// longer: in the prologues of code that is not optimised, and at its return
// instructions, where the frame is released.
func (c *comparison) unset(pc uint64) bool {
	if !strings.Contains(c.s.flags, "-O0") {
		return false
	}
	if b, err := c.s.mod.Text(pc-c.s.bias, 1); err == nil && b[0] == 0xc3 {
		return true
	}
	f, ok := c.s.mod.FunctionAt(pc - c.s.bias)
	if !ok {
		return false
	}
	sites, err := c.s.mod.FuncSites(f.Name)
	return err == nil && len(sites) == 1 && pc-c.s.bias < sites[0].Addr
}

type nth struct {
	pc  uint64
	hit int
}

func nthStops(stops []gdbStop) map[nth]*gdbStop {
	count, out := map[uint64]int{}, map[nth]*gdbStop{}
	for i := range stops {
		s := &stops[i]
		count[s.PC]++
		out[nth{s.PC, count[s.PC]}] = s
	}
	return out
}

// lowInt is the low half of a number, as an int; "" for anything else. GDB's sizeof of an
// array of variable length, whose bound may not be set yet, is no wider.
func lowInt(got string) string {
	n, err := strconv.ParseUint(got, 10, 64)
	if err != nil || n <= math.MaxInt32 {
		return ""
	}
	return strconv.Itoa(int(int32(n)))
}
