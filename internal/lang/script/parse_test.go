package script

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/lang"
)

// parsed are bodies of probes and the expressions that Print writes for them.
var parsed = []struct{ src, want string }{
	{"1 + 2 * 3", "(1 + (2 * 3));"},
	{"(1 + 2) * 3", "((1 + 2) * 3);"},
	{"1 || 2 && 3 | 4 ^ 5 & 6 == 7 < 8 << 9 + 10 * 11", "(1 || (2 && (3 | (4 ^ (5 & (6 == (7 < (8 << (9 + (10 * 11))))))))));"},
	{"$a ? 1 : $b ? 2 : 3", "($a ? 1 : ($b ? 2 : 3));"},
	{"$a ?: 5", "($a ?: 5);"},
	{"-$a.b->c[1].0", "(-$a.b.c[1].0);"},
	{"++$a; $a--; --@b; @c[1]++", "++$a;$a--;--@b;@c[1]++;"},
	{"&$a + &@b", "((&$a) + (&@b));"},
	{"(uint64)$a + 1", "(((uint64)$a) + 1);"},
	{"(struct task_struct *)arg0", "((struct task_struct*)arg0);"},
	{"((struct S *)arg0)->x", "((struct S*)arg0).x;"},
	{"(uint8[4])$a", "((uint8[4])$a);"},
	{"(unsigned long long *)$a", "((uint64*)$a);"},
	{"(const char *)$a", "((char*)$a);"},
	{"(myident)*$a", "((myident)(*$a));"},
	{"(pid)*tid", "(pid * tid);"},
	{"(typeof($a))1", "((typeof($a))1);"},
	{"(typeof({ $a = 1; $a }))1", "((typeof({\n\t\t$a = 1;\n\t\t$a\n\t}))1);"},
	{"sizeof(int8); sizeof($a + 1); sizeof(struct S*[4]); sizeof((a)[1])", "sizeof(int8);sizeof(($a + 1));sizeof(struct S*[4]);sizeof(a[1]);"},
	{"offsetof(struct S, a.b)", "offsetof(struct S, a.b);"},
	{"(1,); (); (1, \"a\", (2, 3)); (a=1, b=2)", "(1,);();(1, \"a\", (2, 3));(a = 1, b = 2);"},
	{"@; @[1, 2]; @a[pid]", "@;@[1, 2];@a[pid];"},
	{"$1 + $#; str($2)", "($1 + $#);str($2);"},
	{"1e6; 1_000; 0xff; 0777; 5us; 10ULL; 1.5", "1e6;1_000;0xff;0777;5us;10ULL;1.5;"},
	{`"a\n\t\"\\\x41\101"`, `"a\n\t\"\\AA";`},
	{"$a = 1; $a <<= 2; @b[1] += 3; _ = 4", "$a = 1;$a <<= 2;@b[1] += 3;_ = 4;"},
	{"let $a; let $b : int8; let $c : typeof($a) = 3", "let $a;let $b : int8;let $c : typeof($a) = 3;"},
	{"if ($a) { 1 } else if ($b) { 2 } else { 3 }", "if ($a) {\n\t\t1;\n\t} else if ($b) {\n\t\t2;\n\t} else {\n\t\t3;\n\t};"},
	{"$x = if ($a) { 1 } else { 2 };", "$x = if ($a) {\n\t\t1\n\t} else {\n\t\t2\n\t};"},
	{"if $a { 1 } *$p", "if ($a) {\n\t\t1\n\t};(*$p);"},
	{"while ($a < 5) { break; }", "while (($a < 5)) {\n\t\tbreak;\n\t}"},
	{"unroll 5 { continue }", "unroll (5) {\n\t\tcontinue;\n\t}"},
	{"for ($kv : @m) { } for ($i : 0..ncpus) { return $i }", "for ($kv : @m) {\n\t}for ($i : 0..ncpus) {\n\t\treturn $i;\n\t}"},
	{"f(uint8); f(struct S*); f(typeof(x)); comptime (1+2)", "f(uint8);f(struct S*);f(typeof(x));(comptime (1 + 2));"},
	{"$a /* c */ = // d\n 1", "$a = 1;"},
	{`import "a.bt"; 1`, `import "a.bt";1;`},
}

func TestParse(t *testing.T) {
	for _, c := range parsed {
		s, err := Parse("t", "begin { "+c.src+" }")
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		text := Print(s)
		body := strings.TrimSuffix(strings.TrimPrefix(text, "begin\n{\n"), "}\n")
		var lines []string
		for _, l := range strings.Split(strings.TrimSuffix(body, "\n"), "\n") {
			if len(lines) > 0 && strings.HasPrefix(l, "\t") && (strings.HasPrefix(l, "\t\t") || strings.HasPrefix(l, "\t}")) {
				lines[len(lines)-1] += "\n" + l
			} else {
				lines = append(lines, strings.TrimPrefix(l, "\t"))
			}
		}
		if got := strings.Join(lines, ""); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.src, got, c.want)
		}
		again, err := Parse("t", text)
		if err != nil || Print(again) != text {
			t.Errorf("%s: printed and parsed again: %v\n%s", c.src, err, text)
		}
	}
}

const whole = `#!/usr/bin/env jalon run
#include <linux/sched.h>
#define N 4
struct __attribute__((packed)) S { int a : 3, b[N]; char *name; struct { long x; } in; int (*f)(int, char); union U *u };
enum E { A, B = 5, C = 1 << 3 };
config = { stack_mode=perf; max_map_keys = 20; print_maps_on_exit = false; license = "GPL" }
import "lib.bt";
let @m = lruhash(100);
macro add($a, b, @c) { @c += $a; b + 1 }
fn f($x : int64, $y : struct S*) : uint8 { return (uint8)$x; }
k=kprobe:vfs_read /pid == 1/ { @m[comm] = count() }
uprobe:/bin/bash:readline, u:"/a b":f /arg0/
{ printf("%d\n", arg0); }
`

const wholeDump = `script
 #include <linux/sched.h>
 #define N 4
 struct S
 enum E
 config
  stack_mode =
   string "perf"
  max_map_keys =
   int 20
  print_maps_on_exit =
   bool false
  license =
   string "GPL"
 import "lib.bt"
 let @m = lruhash(100)
 macro add
  variable $a
  name b
  map @c
  block
   +=
    map @c
    variable $a
   +
    name b
    int 1
 fn f
  param
   variable $x
   typeof
    type int64
  param
   variable $y
   typeof
    type struct S*
  typeof
   type uint8
  block
   return
    cast
     typeof
      type uint8
     variable $x
 probe
  k=kprobe:vfs_read
  ==
   name pid
   int 1
  block
   =
    element
     map @m
     name comm
    call count
 probe
  uprobe:/bin/bash:readline
  u:"/a b":f
  name arg0
  block
   expression
    call printf
     string "%d\n"
     name arg0
`

func TestScript(t *testing.T) {
	s, err := Parse("t", whole)
	if err != nil {
		t.Fatal(err)
	}
	if s.Shebang != "#!/usr/bin/env jalon run" {
		t.Errorf("shebang %q", s.Shebang)
	}
	if got := strings.ReplaceAll(Dump(s, nil), " \n", "\n"); got != strings.ReplaceAll(wholeDump, "\n #define N  4", "\n #define N 4") {
		t.Errorf("dump:\n%s", got)
	}
	text := Print(s)
	again, err := Parse("t", text)
	if err != nil || Print(again) != text {
		t.Errorf("printed and parsed again: %v\n%s", err, text)
	}
	rec := s.C[2].(*Definition)
	if !rec.Packed || len(rec.Members) != 6 || rec.Members[0].Bits == nil || rec.Members[4].Type.Derive[0].Func != true {
		t.Errorf("struct S: %+v", rec.CRecord)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"begin { $0 }", "1:9 there is no parameter $0"},
		{"kprobe:f { $ = 1; }", `1:12 expected a name after "$"`},
		{"kprobe:f /pid == 1 { 0; }", `1:20 expected "/" at the end of the predicate before "{"`},
		{`begin { "\777" }`, `1:10 "\\777" is not the number of a byte`},
		{`begin { "\q" }`, `1:10 invalid escape character "\\q"`},
		{`begin { "abc`, "1:9 unterminated string\n1:7 this \"{\" is not closed"},
		{"begin { 1e21 }", "1:9 integer larger than 18446744073709551615: 1e21"},
		{"begin { 12e4 }", "1:9 the coefficient of a scientific literal must be 1 to 9: 12e4"},
		{"begin { 1_ }", "1:9 trailing underscore in integer literal: 1_"},
		{"begin { 1lul }", `1:9 invalid integer suffix "lul": 1lul`},
		{"begin { 'a' }", "1:9 there are no character literals"},
		{"begin { @=5++ }", "1:11 ++ and -- change a variable or a map's value, nothing else"},
		{"begin { (1, 0) = 0 }", `1:9 "(1, 0)" is not something that can be assigned to`},
		{"begin { $a.2 = 3; }", "1:9 tuples, records and structs cannot be changed"},
		{"begin { (a=1,a=2) }", `1:14 the record has two fields "a"`},
		{"begin { &1; }", "1:9 only a variable or a map has an address (&)"},
		{"begin { print(1) print(2) }", `1:17 expected ";" before "print"`},
		{"begin { 1 } config = { a=1 }", "1:13 the config block must appear before probes, macros, functions and map declarations"},
		{"begin { 1 } struct S { int a; };", "1:13 C definitions must appear before probes, macros, functions and map declarations"},
		// Several mistakes in one script.
		{"begin { $a = ; $b = 2; $c = ) ; } end { 1 + }", "1:14 expected an expression before \";\"\n1:29 expected an expression before \")\"\n1:45 expected an expression before \"}\""},
		{"begin { if (1 { 2 } $a = ] }\nend { + }", "1:15 expected \")\" before \"{\"\n1:26 expected an expression before \"]\"\n2:9 expected an expression before \"}\""},
		{"let $a; begin { ; }", "1:5 outside of blocks, let declares maps\n1:17 expected an expression before \";\""},
	} {
		_, err := Parse("t", c.src)
		if got := errorLines(err, c.src); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.src, got, c.want)
		}
	}
}

// errorLines are the positions and messages of diagnostics.
func errorLines(err error, src string) string {
	var out []string
	add := func(d *lang.Diagnostic) {
		pos := strings.SplitN(strings.SplitN(d.Error(), "--> t:", 2)[1], "\n", 2)[0]
		out = append(out, pos+" "+d.Msg)
	}
	var all lang.Diagnostics
	var one *lang.Diagnostic
	switch {
	case errors.As(err, &all):
		for _, d := range all {
			add(d)
		}
	case errors.As(err, &one):
		add(one)
	}
	return strings.Join(out, "\n")
}

// TestHostile parses large and deep scripts in linear time.
func TestHostile(t *testing.T) {
	n := 20_000
	if os.Getenv("JALON_FULL") != "" {
		n = 100_000
	}
	for name, src := range map[string]string{
		"lines":       strings.Repeat("begin { @a[pid] = count(); }\n", n),
		"statements":  "begin {" + strings.Repeat("$a = 1;\n", n) + "}",
		"parens":      "begin {" + strings.Repeat("(", n) + "}",
		"blocks":      "begin " + strings.Repeat("{", n),
		"closed":      "begin {" + strings.Repeat("{", n) + strings.Repeat("}", n) + "}",
		"unary":       "begin {" + strings.Repeat("-", n) + "1}",
		"not":         "begin {" + strings.Repeat("!", n) + "1}",
		"sum":         "begin { 1" + strings.Repeat("+1", n) + "}",
		"ternary":     "begin { 1" + strings.Repeat("?1:1", n) + "}",
		"fields":      "begin { $a" + strings.Repeat(".a", n) + "}",
		"indexes":     "begin { $a" + strings.Repeat("[0", n) + "}",
		"casts":       "begin {" + strings.Repeat("(int8)", n) + "1}",
		"open casts":  "begin {" + strings.Repeat("(a[", n) + "}",
		"else":        "begin { if (1) {}" + strings.Repeat(" else if (1) {}", n) + "}",
		"maps":        "begin {" + strings.Repeat("@a[", n) + "}",
		"errors":      "begin {" + strings.Repeat(") ; ", n) + "}",
		"bad probes":  strings.Repeat("begin { ( }\n", n),
		"comment":     "begin { " + strings.Repeat("/*", n),
		"quotes":      strings.Repeat(`"`, n),
		"struct":      strings.Repeat("struct S { ", n),
		"struct word": strings.Repeat("struct a a a ;", n),
		"members":     "struct S {" + strings.Repeat("int a;\n", n) + "};",
		"pointers":    "struct S { int " + strings.Repeat("*", n) + "p; };",
		"declarator":  "struct S { int " + strings.Repeat("(", n) + "p; };",
		"typeof":      "begin {" + strings.Repeat("(typeof(", n) + "}",
		"points":      strings.Repeat("begin,", n) + "begin {}",
		"slashes":     "begin { 1 " + strings.Repeat("/ 1 ", 900) + "}",
		"nul":         "begin {" + strings.Repeat("\x00", n) + "}",
	} {
		start := time.Now()
		s, err := Parse("t", src)
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%s: %v", name, d)
		}
		if err == nil {
			Print(s)
			Dump(s, nil)
		} else if len(err.Error()) > 1<<20 {
			t.Errorf("%s: %d bytes of errors", name, len(err.Error()))
		}
	}
}

func TestPlaces(t *testing.T) {
	param := func(n int) string { return map[int]string{1: "foo", 2: "bar"}[n] }
	for _, c := range []struct{ text, want string }{
		{"kprobe:f", "kprobe f"},
		{"KPROBE:f", "kprobe f"},
		{"BEGIN", "begin"},
		{"end:*", "end"},
		{"k:mod:f+0x10", "kprobe mod f +16"},
		{"kprobe:0xffff0000", "kprobe @4294901760"},
		{"kr:f+1", "kretprobe cannot have an offset"},
		{"u:/bin/sh:main", "uprobe /bin/sh main"},
		{"u:/bin/sh:main+8", "uprobe /bin/sh main +8"},
		{"u:/bin/sh:1234", "uprobe /bin/sh @1234"},
		{"u:./p@file.c:9:3", "uprobe ./p file.c:9:3"},
		{"u:./p@file.c:9", "uprobe ./p file.c:9:0"},
		{`u:/p:cpp:"a::b(int)"`, "uprobe /p cpp a::b(int)"},
		{`u:"/a b":f`, "uprobe /a b f"},
		{`uprobe:"a"$2:aa$1aa`, "uprobe abar aafooaa"},
		{`uprobe:"$1":$2`, "uprobe $1 bar"},
		{"uprobe:/b:$0", `"$0" is not a positional parameter; to use it as a name, quote it`},
		{"U:/p:ns:x", "usdt /p ns x"},
		{"usdt:*:x", "usdt * x"},
		{"t:sched:sched_switch", "tracepoint sched sched_switch"},
		{"tracepoint:*exec*", "tracepoint * *exec*"},
		{"tracepoint:x", "the subsystem is missing: tracepoint:SUBSYSTEM:EVENT"},
		{"rt:x", "rawtracepoint * x"},
		{"kfunc:vmlinux:f", "fentry vmlinux f"},
		{"fexit:bpf:12:p", "fexit bpf p"},
		{"fentry:bpf", "the name of the eBPF program is missing: write fentry:[MODULE:]FUNC or fentry:bpf:[ID:]PROGRAM"},
		{"i:5us", "interval 5000ns"},
		{"interval:s:1", "interval 1000000000ns"},
		{"profile:hz:99", "profile 99hz"},
		{"profile:10", "10 ns are less than the shortest time, 1us"},
		{"profile:y:10", `"y" is not a unit of time; there are us, ms, s and hz`},
		{"h:cache-misses:1e6", "hardware cache-misses 1000000x"},
		{"s:faults:", "software faults"},
		{"s:nothing", `"nothing" is not a software event; there are alignment-faults bpf-output context-switches cs cpu-clock cpu cpu-migrations dummy emulation-faults major-faults minor-faults page-faults faults task-clock`},
		{"w:0x10:8:wr", "watchpoint @16 8 rw"},
		{"w:0x10:3:w", `the length must be 1, 2, 4 or 8, not "3"`},
		{"iter:task_file:/p", "iter task_file /p"},
		{"self:signal:SIGUSR1", "self signal SIGUSR1"},
		{"a=bench:x", "bench x"},
		{"begin:f", "begin has 1 parts after its name, but it takes none"},
		{"kprob:f", `there is no probe type "kprob"`},
	} {
		s, err := Parse("t", c.text+" {}")
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		pl, err := ParsePlace(s.Items[0].(*Probe).Points[0], param)
		got := ""
		var d *lang.Diagnostic
		if errors.As(err, &d) {
			got = d.Msg
		} else {
			got = placeText(pl)
		}
		if got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole)
	for _, c := range parsed {
		f.Add("begin { " + c.src + " }")
	}
	f.Fuzz(func(t *testing.T, src string) {
		s, err := Parse("t", src)
		if err != nil {
			_ = err.Error()
			return
		}
		Dump(s, nil)
		text := Print(s)
		again, err := Parse("t", text)
		if err != nil {
			t.Fatalf("printed:\n%s\n%v", text, err)
		}
		if second := Print(again); second != text {
			t.Fatalf("printed:\n%s\nand again:\n%s", text, second)
		}
		for _, it := range s.Items {
			if pr, ok := it.(*Probe); ok {
				for _, pt := range pr.Points {
					_, _ = ParsePlace(pt, func(int) string { return "x" })
				}
			}
		}
	})
}
