package check

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
)

// fake is a source with a few types.
type fake struct{}

func (fake) Named(_ *script.Place, tag, name string) *ctype.Type {
	if tag == "struct" && name == "task_struct" {
		t := &ctype.Type{Kind: ctype.Struct, Name: name, Size: 24}
		t.SetFields([]ctype.Field{
			{Name: "pid", Type: ctype.IntT},
			{Name: "comm", Type: ctype.ArrayOf(ctype.CharT, 16), BitOffset: 32},
		})
		return t
	}
	return nil
}

func (fake) Enumerator(_ *script.Place, name string) (*ctype.Type, int64) {
	if name == "EPERM" {
		return ctype.IntT, 1
	}
	return nil, 0
}

func (fake) Args(pl *script.Place) (*ctype.Type, error) {
	if pl.Name != "f" && pl.Name != "h" {
		return nil, errors.New("there is no function " + pl.Name)
	}
	if pl.Name == "h" {
		t := &ctype.Type{Kind: ctype.Struct, Name: "args", Size: 16}
		t.SetFields([]ctype.Field{{Name: "fd", Type: ctype.ULongT}, {Name: "task", Type: ctype.ArrayOf(ctype.CharT, 8), BitOffset: 64}})
		return t, nil
	}
	t := &ctype.Type{Kind: ctype.Struct, Name: "args", Size: 16}
	t.SetFields([]ctype.Field{
		{Name: "fd", Type: ctype.IntT},
		{Name: "task", Type: ctype.PointerTo(&ctype.Type{Kind: ctype.Struct, Name: "task_struct", Incomplete: true}), BitOffset: 64},
	})
	return t, nil
}

func (fake) Retval(*script.Place) *ctype.Type { return ctype.LongT }

func (fake) Variable(pl *script.Place, name string) *ctype.Type {
	if pl.Provider.Name == "uprobe" && name == "depth" {
		return ctype.IntT
	}
	return nil
}

func checked(t *testing.T, src string, params ...string) (*Program, error) {
	t.Helper()
	s, err := script.Parse("t", src)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return Check(s, Options{Source: fake{}, Unsafe: true, Params: params, Named: map[string]string{"n": "7", "on": ""}, Cgroup: func(dir string) (uint64, error) {
		if dir != "/cg" {
			return 0, errors.New(dir + " is no cgroup")
		}
		return 1 << 40, nil
	}})
}

// TestInferred compares the types of maps and variables.
func TestInferred(t *testing.T) {
	const decls = "struct S { int a; char b[10]; struct S *next; unsigned x : 3; struct { long in; }; uint8_t u[4]; }; enum E { ONE = 1 };\n"
	for _, c := range []struct{ src, want string }{
		{"begin { @x = 1; @y[pid] = 300; }", "@x int8; @y[uint32] int16"},
		{"begin { @x = 1; @x = -1000; @y = 9223372036854775808; }", "@x int16; @y uint64"},
		{"begin { @x = @y; @y = @z; @z = (uint32)1; }", "@x uint32; @y uint32; @z uint32"},
		{"begin { @a++; @b--; @c += 2; @d[1]++; }", "@a int64; @b int64; @c int64; @d[int8] int64"},
		{`begin { @["hi", ("hello", 2)] = 1; @["longer", ("x", 500)] = 2; }`, "@[(string[7],(string[6],int16))] int8"},
		{
			"begin { @c = count(); @s = sum(-1); @m = max(pid); @h = hist(1); @l[comm] = lhist(1, 0, 10, 1); @st = stats(2); @t = tseries(1, 1s, 5) }",
			"@c count_t; @s sum_t; @m umax_t; @h hist_t; @l[string[16]] lhist_t; @st stats_t; @t tseries_t",
		},
		{"begin { @c = count(); $x = @c; @y = (int64)@c + 1; @z = 1; @z = @c; }", "@c count_t; @y int64; @z int64; $x int64"},
		{"begin { $a = 1; $a = (uint64)2; }", "$a uint64"},
		{"begin { $a = (uint64)1; $b = (int64)-1; $a = $b; }", "$a int64; $b int64"},
		{"begin { let $a : uint16 = 3; let $b = (1, \"a\"); $c = $b.1; $d = (a=1, b=2).b; }", "$a uint16; $b (int8,string[2]); $c string[2]; $d int8"},
		{"begin { $a = pid > 1 ? 1 : 300; $b = if (pid) { \"a\" } else { \"bcd\" }; $c = { $q = 1; $q + 1 }; }", "$a int16; $b string[4]; $c int64; $q int8"},
		{
			decls + "kprobe:g { $s = (struct S *)arg0; $a = $s.a; $b = $s->b; $n = $s.next.next; $x = $s.x; $i = $s.in; $u = $s.u[1]; $d = *$s; }",
			"$a int32; $b string[10]; $d struct S; $i int64; $n struct S *; $s struct S *; $u uint8; $x uint32",
		},
		{decls + "begin { $e = ONE; $s = sizeof(struct S); $o = offsetof(struct S, next); $f = (enum E)1; }", "$e enum E; $f enum E; $o int8; $s int8"},
		{"fentry:f,fentry:h { $a = args.fd }", "$a int64"},
		{"fentry:f { $a = args.fd; $c = args.task.comm; $p = curtask.pid; }", "$a int32; $c string[16]; $p int32"},
		{"fexit:f { $r = retval; } kretprobe:f { $q = retval; }", "$q uint64; $r int64"},
		{"uprobe:/p:g { $d = depth * 2; $x = arg0 + 1; }", "$d int64; $x uint64"},
		{"begin { $s = str($1); $n = $2; $c = $#; }", "$c uint64; $n int64; $s string[6]"},
		{"begin { $a = getopt(\"n\", 1); $b = getopt(\"on\"); $c = getopt(\"s\", \"x\"); }", "$a uint64; $b bool; $c string[1024]"},
		{"begin { $k = kstack; $u = ustack(perf, 3); @[$k, $u] = 1; }", "@[(kstack_bpftrace_127,ustack_perf_3)] int8; $k kstack_bpftrace_127; $u ustack_perf_3"},
		{"config = { stack_mode = raw; max_strlen = 64 } begin { $k = kstack(5); $s = str(1); }", "$k kstack_raw_5; $s string[64]"},
		{"begin { $a = (uint8[4])pton(\"1.2.3.4\"); $n = ntop($a); $b = (uint8[8])(uint64)1; $i = $b[0]; $c = (int8[])\"abcdefg\"; }", "$a uint8[4]; $b uint8[8]; $c int8[8]; $i uint8; $n inet[24]"},
		{"begin { @m[1] = \"a\"; for ($kv : @m) { $k = $kv.0; $v = $kv.1 } for ($i : 0..1000) { $j = $i } }", "@m[int8] string[2]; $i int16; $j int16; $k int8; $kv (int8,string[2]); $v string[2]"},
		{"macro add(x, $v, @m) { $t = x; @m = $t; $v + 1 } begin { $a = 1; $b = add(300, $a, @z); }", "@z int16; $a int8; $b int64; $t.1 int16"},
		{"macro is_it(t, x) { (t*)x } begin { $p = is_it(typeof(uint16), 5); }", "$p uint16 *"},
		{"#define N 4\n#define TEXT \"abc\"\n#define CAST (uint16)N\nbegin { $a = N; $b = TEXT; $c = CAST; }", "$a int8; $b string[4]; $c uint16"},
		{"#ifndef BPFTRACE_HAVE_BTF\n#include <x.h>\n#define A 1\n#else\n#define A 1000\n#endif\nbegin { $a = A; $e = EPERM; }", "$a int16; $e int8"},
		{"fn f($a : int64, $b : struct task_struct *) : uint32 { return (uint32)$a + (uint32)$b.pid; } begin { $x = f(1, curtask); }", "$a int64; $b struct task_struct *; $x uint32"},
		{"begin { @m[1] = 2; $f = 0; if (find(@m, 1, $f)) { } $l = len(@m); $h = has_key(@m, 5); }", "@m[int8] int8; $f int8; $h bool; $l int64"},
		{"begin { if comptime is_integer(@a) { $x = 1 } else { $x = \"no\" } @a = 2; }", "@a int8; $x int8"},
		{"begin { $n = nsecs(monotonic); $t = strftime(\"%H\", nsecs); $f = 1.5 * 2; }", "$f double; $n uint64; $t timestamp"},
		{`begin { @ = cgroupid("/cg") }`, "@ uint64"},
		{"begin { @ = { let $a = 100; avg($a) }; }", "@ avg_t; $a int8"},
		{"begin { let $x : string[16] = \"abc\"; let $y : typeof($x); $z = (void *)5; $p = &$x; }", "$p string[16] *; $x string[16]; $y string[16]; $z void *"},
		{"begin { $a = 1 << 2; $b = ~5; $c = 1 - 2; $d = !5; $e = 7 % 3 == 1; $f = -0x80; $g = 0xffffffffffffffff - 1; }", "$a int8; $b int8; $c int8; $d bool; $e bool; $f int8; $g uint64"},
	} {
		p, err := checked(t, c.src, "hello", "42")
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if got := typesOf(p); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.src, got, c.want)
		}
	}
}

// typesOf lists maps in the order of use, then variables by name.
func typesOf(p *Program) string {
	var out, vars []string
	for _, m := range p.Maps {
		if m.Scalar {
			out = append(out, fmt.Sprintf("%s %s", m.Name, m.Value))
		} else {
			out = append(out, fmt.Sprintf("%s[%s] %s", m.Name, m.Key, m.Value))
		}
	}
	for x, k := range p.Types {
		if v, ok := x.(*script.Var); ok {
			vars = append(vars, v.Name+" "+k.String())
		}
	}
	sort.Strings(vars)
	for i, v := range vars {
		if i == 0 || v != vars[i-1] {
			out = append(out, v)
		}
	}
	return strings.Join(out, "; ")
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"fentry:f,fentry:h { @ = args.task }", "1:25 args.task has the type struct task_struct * at fentry:f, and string[8] at fentry:h"},
		{`begin { @ = cgroupid("/etc") }`, "1:22 /etc is no cgroup"},
		{"begin { fake }", `1:9 there is no name "fake"`},
		{"begin { cout() }", `1:9 there is no function "cout"`},
		{"begin { @x = 0; @x = \"a\"; }", "1:17 @x has the type int8 and cannot hold a value of type string[2]"},
		{"begin { @x = 0; @x[1]; }", "1:17 the map @x has no keys; it is used with one here"},
		{"begin { @x[1] = 0; @x; }", "1:20 the map @x has keys; it is used without one here"},
		{"begin { @x[1,2] = 0; @x[3]; }", "1:22 the keys of @x have the type (int8,int8), not int8"},
		{"begin { print(@x); }", "1:15 the map @x is never assigned"},
		{"begin { count() }", "1:9 count() must be assigned to a map"},
		{"begin { @a = count(); @b = @a; }", "1:23 a value of type count_t cannot be copied from one map to another"},
		{"begin { @a = count(); @a = 1; }", "1:23 @a has the type count_t and cannot hold a value of type int8"},
		{"begin { @a = count(); @a = sum(1); }", "1:23 @a has the type count_t and cannot be updated by sum()"},
		{"begin { @h = hist(1); $x = @h; }", "1:23 a value of type hist_t cannot be assigned to a variable"},
		{"begin { hist(1, 2, 3) }", "1:9 hist() has at most 2, not 3"},
		{"begin { @ = hist(1, 9) }", "1:13 hist() divides each power of two in 2^k parts, with k from 0 to 5"},
		{"begin { @ = lhist(1, 0, 10, 0) }", "1:13 the step of lhist() must be at least 1"},
		{"begin { @ = lhist(1, 0, 100000, 1) }", "1:13 lhist() would have 100000 ranges, more than 1000"},
		{"begin { @ = tseries(1, 1s, 5, \"x\") }", `1:13 tseries() aggregates by avg, max, min or sum, not "x"`},
		{"begin { $x }", "1:9 the variable $x is not defined"},
		{"begin { if (1) { $x = 1 } $y = $x; }", "1:32 the variable $x is not defined"},
		{"begin { $x = 1; let $x = 2; }", "1:21 the variable $x is already declared; a variable cannot hide another"},
		{"begin { let $x : uint8 = 300; }", "1:9 $x has the type uint8, which does not hold 300"},
		{"begin { let $x : string[2] = \"abc\"; }", "1:9 $x has the type string[2] and cannot hold a value of type string[4]"},
		{"begin { break; }", "1:9 break outside of a loop"},
		{"begin { unroll(101) { } }", "1:16 the count of unroll must be from 1 to 100, not 101"},
		{"begin { return \"a\"; }", "1:9 a probe returns an integer, not string[2]"},
		{"begin { printf(\"%d\"); }", "1:9 the format has conversions for 1 arguments, not 0"},
		{"begin { printf(\"%d\", \"a\"); }", "1:22 %d cannot show a value of type string[2]"},
		{"begin { printf(\"%y\", 1); }", `1:16 "%y" is not a conversion of a format; a percent sign is written %%`},
		{"begin { printf($1); }", "1:16 printf() expects a string literal, not int64"},
		{"begin { arg0 }", "1:9 arg0 cannot be used in a begin"},
		{"kprobe:f { retval }", "1:12 retval cannot be used in a kprobe"},
		{"fentry:g { args.x }", "1:12 the arguments of fentry:g are not known: there is no function g"},
		{"fentry:f { args.x }", `1:12 struct args has no member "x"`},
		{"kprobe:f { (struct Nope *)arg0 }", `1:13 there is no type "struct Nope"`},
		{"begin { (1, 2).3; 1.x }", "1:9 there is no element 3, the tuple has 2\n1:19 a value of type int8 has no fields"},
		{"begin { 1 / 0 }", "1:9 division by zero"},
		{"begin { 0xffffffffffffffff + 1 }", "1:9 the value 18446744073709551616 does not fit in 64 bits"},
		{"begin { \"a\" + \"b\" }", "1:9 the operator + cannot be used on values of types string[2] and string[2]"},
		{"begin { pid + comm }", "1:9 the operator + cannot be used on values of types uint32 and string[16]"},
		{"begin { comm == 5 }", "1:9 the operator == cannot be used on values of types string[16] and int8"},
		{"begin { kstack ? 1 : 2 }", "1:9 a value of type kstack_bpftrace_127 is not a condition"},
		{"begin { delete(@x[1], 2, 3) }", "1:9 delete() has at most 2, not 3"},
		{"begin { @m[1] = 1; delete(@m); }", "1:27 delete() of an element of @m needs its key; clear() removes all"},
		{"begin { @m = 1; for ($x : @m) { } }", "1:27 @m has no keys, so there is nothing to iterate over"},
		{"begin { nsecs(never) }", "1:15 nsecs() expects one of monotonic, boot, tai, sw_tai here"},
		{"begin { pton(\"1.2.3\") }", `1:9 "1.2.3" is not an address of IPv4 or IPv6`},
		{"kprobe:f { reg(\"zz\") }", `1:12 there is no register "zz"; there are r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_rax ip pc cs flags sp ss`},
		{"config = { stack_mode = nope }", `1:12 stack_mode is one of bpftrace, perf, raw, build_id, not "nope"`},
		{"config = { nope = 1 }", `1:12 there is no setting "nope"`},
		{"let @m = array(5); begin { @m = 1 }", `1:1 there is no kind "array" of maps`},
		{"let @m = percpuhash(5); begin { @m = 1 }", "1:1 a percpuhash cannot hold values of type int8"},
		{"macro m(x) { @y = x } begin { m(1) }", "1:14 the macro m uses the map @y, which is not one of its arguments"},
		{"macro m($x) { $x } begin { m(1) }", "1:28 the arguments of m do not fit any definition of the macro"},
		{"macro a() { b() } macro b() { a() } begin { a }", "1:31 the macro a calls itself"},
		{"fn f() : int64 { $x = 1; } begin { f() }", "1:1 the function f can end without a return, but returns int64"},
		{"fn f($a : int8) : void { } begin { f(1, 2) }", "1:36 the function f has 1 parameters, not 2"},
		{"begin { static_assert(1 == 2, \"bad\"); fail(\"no %d\", 5) }", "1:9 bad\n1:39 no 5"},
		{"begin { if comptime (pid == 1) { } }", "1:12 the value of this expression is not known before the script runs"},
		{"struct S { int a; struct S s; int b : 40; nope c; }; begin { }", "1:19 the type of the member s is not complete\n1:31 the width of the bit-field is not a constant that its type permits\n1:43 there is no type \"nope\""},
		{"#error \"x\"\n#if 1\nbegin { }", "1:1 #error \"x\"\n2:1 #if without #endif"},
		{"config = { max_probes = 2 } begin { } begin { } end { }", "1:49 the script has more than 2 attach points"},
		{"kprob:f { }", `1:1 there is no probe type "kprob"`},
		// Several at once.
		{"begin { $a = b; $c = d(); @m = 1; @m = \"x\"; } end { e }", "1:14 there is no name \"b\"\n1:22 there is no function \"d\"\n1:35 @m has the type int8 and cannot hold a value of type string[2]\n1:53 there is no name \"e\""},
	} {
		_, err := checked(t, c.src)
		if got := lines(err); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.src, got, c.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"begin { 1 + pid; }", "1:9 the value of this expression is not used"},
		{"begin { let $x; }", "1:13 the variable $x is never assigned"},
		{"begin { @m[1] = 1; delete(@m[1]); }", "1:27 delete(@map[key]) is written delete(@map, key) now"},
		{"begin { return; print(1); }", "1:17 this statement is never reached"},
		{"begin { exit(); @x = 1 }", "1:17 this statement is never reached"},
		{"begin { if (1) { exit(); } exit(1); @x++ }", "1:37 this statement is never reached"},
		{"begin { @ = sum(2.5); @ = sum(1); @h = hist(0.5); if (@) { @x = @ + 1; @x = @; printf(\"%f\", @x); } }", ""},
		{"let @m = hash(5); begin { }", "1:1 the map @m is not used"},
		{"config = { map_keys_max = 5; symbol_source = x }", "1:12 map_keys_max is now max_map_keys\n1:30 symbol_source has no effect any more"},
		{"begin { let $a : uint8; $a = pid; }", "1:25 a value of type uint32 is cut to uint8; write a cast if that is meant"},
	} {
		p, err := checked(t, c.src)
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		if got := lines(p.Warnings.Err()); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.src, got, c.want)
		}
	}
}

// lines are the positions and messages of diagnostics.
func lines(err error) string {
	var all lang.Diagnostics
	var one *lang.Diagnostic
	if !errors.As(err, &all) && errors.As(err, &one) {
		all = lang.Diagnostics{one}
	}
	var out []string
	for _, d := range all {
		pos, _, _ := strings.Cut(strings.SplitN(d.Error(), "--> t:", 2)[1], "\n")
		out = append(out, pos+" "+d.Msg)
	}
	return strings.Join(out, "\n")
}

// TestHostile checks scripts whose types or macros are made to take long.
func TestHostile(t *testing.T) {
	var chain, macros strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&chain, "@m%d = @m%d; ", i, i+1)
	}
	for i := range 60 {
		fmt.Fprintf(&macros, "macro m%d() { m%d() + m%d() }\n", i, i+1, i+1)
	}
	var doubles strings.Builder
	for i := range 60 {
		fmt.Fprintf(&doubles, "$a%d = ($a%d, $a%d); ", i+1, i, i)
	}
	for name, src := range map[string]string{
		"chain":      "begin { " + chain.String() + "@m2000 = 1; }",
		"macros":     macros.String() + "macro m60() { 1 } begin { m0() }",
		"tuples":     "begin { $t = 1; " + strings.Repeat("$t = ($t, $t); ", 40) + "}",
		"doubles":    "begin { $a0 = (1, 1); " + doubles.String() + "}",
		"grow":       "begin { @t = (1, @t); }",
		"record":     "begin { " + strings.Repeat("@a = (x = @b, y = 1); @b = @a.x; ", 50) + "}",
		"struct":     strings.Repeat("struct S { int a[1000000]; };\n", 3) + "begin { $x = sizeof(struct S); }",
		"array":      "struct S { int a[1 << 40]; }; begin { $x = (struct S *)0; }",
		"define":     "#define A A + A\nbegin { A }",
		"statements": "begin { " + strings.Repeat("@a[pid, comm] = count(); printf(\"%d\", pid);\n", 5000) + "}",
		"lines":      strings.Repeat("begin { @a[pid, comm] = count(); printf(\"%d\", pid); }\n", 5000),
		"pointer":    "begin { $x = (int8" + strings.Repeat("*", 60) + ")0; }",
	} {
		s, err := script.Parse("t", src)
		if err == nil {
			_, err = Check(s, Options{Source: fake{}})
		}
		if err != nil && len(err.Error()) > 1<<20 {
			t.Errorf("%s: %d bytes of errors", name, len(err.Error()))
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("struct S { int a : 3; }; begin { @x[1, \"a\"] = count(); $y = (struct S *)0; print($y.a); }")
	f.Add("macro m($a, @b, c) { @b = c; $a } fn f($x : int8) : int64 { return 1 } kprobe:f /pid/ { for ($i : 0..5) { @a += $i } }")
	f.Fuzz(func(t *testing.T, src string) {
		if s, err := script.Parse("t", src); err == nil {
			p, err := Check(s, Options{Source: fake{}, Params: []string{"a", "1"}})
			if err == nil && p == nil {
				t.Fatal("no program")
			}
		}
	})
}
