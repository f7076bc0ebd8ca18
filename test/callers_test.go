package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCallers: what a function was called with, where only its callers' debug information has it. Each build has the
// values of the calls in main's order; "-" is a value that may be unavailable: the way to the function is not certain,
// or the compiler does not describe what is passed. Whatever is available is what was passed.
func TestCallers(t *testing.T) {
	need(t, "gcc", "clang")
	const gone = "<optimised out>"
	passed := map[string][]string{
		"leaf":  {"a=7 b=8", "a=41 b=82", "a=101 b=50", "a=42 b=50", "a=300 b=301", "a=500 b=501"},
		"again": {"a=20 b=21", "a=1 b=2", "a=1 b=2", "a=1 b=2"},
	}
	// How many of the first values of leaf come from callers: clang does not describe what rests on what main had.
	sure := map[string]int{"gcc": 5, "clang": 2}
	for _, build := range []string{"gcc -O2 -gdwarf-5", "gcc -O2 -gdwarf-4", "clang -O2 -gdwarf-5", "gcc -O3 -gdwarf-5 -fno-pie -no-pie"} {
		t.Run(build, func(t *testing.T) {
			flags := strings.Fields(build)
			prog := compile(t, flags[0], "callers.c", flags[1:]...)
			for at, want := range passed {
				got := eventsAt(t, prog, at, "a, b", "")
				if len(got) != len(want) {
					t.Fatalf("%s: %d events, want %d: %q", at, len(got), len(want), got)
				}
				for i, g := range got {
					for k, v := range strings.Fields(strings.ReplaceAll(g, gone, "-")) {
						w := strings.Fields(want[i])[k]
						certain := at == "leaf" && i < sure[flags[0]]
						if v != w && (certain || !strings.HasSuffix(v, "=-")) {
							t.Errorf("%s, call %d: %s, want %s", at, i, v, w)
						}
					}
				}
			}
			if got := eventsAt(t, prog, "through", "p->y, *p", ""); len(got) != 1 || got[0] != "p->y=77 *p={x = 41, y = 77}" {
				t.Errorf("memory of the caller: %q", got)
			}
			// A condition on such a value: hits without it are faults, and not recorded.
			if got := eventsAt(t, prog, "leaf", "b", "a == 41"); len(got) != 1 || got[0] != "b=82" {
				t.Errorf("condition: %q", got)
			}
		})
	}
}

// eventsAt are the values that are collected at a marked line.
func eventsAt(t *testing.T, prog, mark, collect, cond string) []string {
	t.Helper()
	src, err := os.ReadFile("programs/callers.c")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(src), "/* "+mark+" */")
	place := fmt.Sprintf("callers.c:%d", strings.Count(before, "\n")+1)
	if cond != "" {
		place += " if " + cond
	}
	file := filepath.Join(t.TempDir(), "events")
	res := jalon(t, "trace", "-o", file, "-c", collect, place, "--", prog)
	b, err := os.ReadFile(file)
	if err != nil || res.status != 0 {
		t.Fatal(err, res.stderr)
	}
	first, _, _ := strings.Cut(collect, ",")
	var list []string
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if i := strings.Index(l, first+"="); i >= 0 {
			list = append(list, l[i:])
		}
	}
	return list
}

// TestCallersBehindTailCalls: the argument of a function that was reached by a tail call, from a function that has saved and
// restored the register in which the first caller has it.
func TestCallersBehindTailCalls(t *testing.T) {
	need(t, "gcc", "clang")
	const once = "p->a=7 *p={a = 7, b = 1} p->a=9 *p={a = 9, b = 1} "
	for _, build := range []string{"gcc -O2 -fno-ipa-ra", "gcc -O2 -fno-ipa-ra -fno-omit-frame-pointer", "gcc -O3 -gdwarf-4", "clang -O2"} {
		flags := append(strings.Fields(build), "-g")
		prog := compile(t, flags[0], "tailsaved.c", flags[1:]...)
		place := lineWith(t, "programs/tailsaved.c", "// in last")
		for _, engine := range []string{"process", "kernel"} {
			file := filepath.Join(t.TempDir(), "events")
			res := jalon(t, "trace", "-o", file, "--engine", engine, "-c", "p->a, *p", place, "--", prog)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err, res.stderr)
			}
			var got string
			for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
				if i := strings.Index(l, "p->a="); i >= 0 {
					got += l[i:] + " "
				}
			}
			if got != strings.Repeat(once, 3) {
				t.Errorf("%s, %s: %q\n%s", build, engine, got, res.stderr)
			}
		}
	}
}

// TestCallersByPointer: what is passed by calls through pointers, if the pointer shows that the function itself was called, and
// numbers in floating point.
func TestCallersByPointer(t *testing.T) {
	need(t, "gcc")
	const gone = "<optimised out>"
	for _, build := range []string{"-O2 -gdwarf-5", "-O2 -gdwarf-4", "-O3 -fno-pie -no-pie"} {
		prog := compile(t, "gcc", "bypointer.c", append(strings.Fields(build), "-g")...)
		for _, c := range []struct{ mark, collect, cond, want string }{
			{"in first", "a, b", "", "a=41 b=5;a=51 b=6"},
			{"in second", "a, b", "", "a=42 b=5;a=52 b=6;" + strings.Repeat(";a="+gone+" b="+gone, 2)[1:]},
			{"in second", "a + b", "a == 52", "a + b=58"},
			{"in scaled", "x, y, n", "", "x=2.5 y=0.5 n=7;x=-4 y=8 n=9"},
			{"in scaled", "n", "x * y < 0", "n=9"},
		} {
			place := lineWith(t, "programs/bypointer.c", c.mark)
			if c.cond != "" {
				place += " if " + c.cond
			}
			file := filepath.Join(t.TempDir(), "events")
			res := jalon(t, "trace", "-o", file, "-c", c.collect, place, "--", prog)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err, res.stderr)
			}
			first, _, _ := strings.Cut(c.collect, ",")
			var got []string
			for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
				if i := strings.Index(l, " "+first+"="); i >= 0 {
					got = append(got, l[i+1:])
				}
			}
			if text := strings.Join(got, ";"); text != c.want {
				t.Errorf("%s, %s, %s: %q, want %q\n%s", build, c.mark, c.collect, text, c.want, res.stderr)
			}
		}
	}
}

// TestCallsAbove: gcc describes a call of a function that it has inlined, and also keeps, in the entry that all copies have in
// common.
func TestCallsAbove(t *testing.T) {
	need(t, "gcc")
	source, err := filepath.Abs("programs/callsabove.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{{"-O2"}, {"-O3"}, {"-Os"}} {
		prog := compile(t, "gcc", "callsabove.c", append([]string{"-g"}, flags...)...)
		r := jalon(t, "trace", lineWith(t, source, "// look here"), "-c", "a, b", "--", prog, "7")
		want := []string{"a=2 b=21", "a=7 b=2", "a=3 b=24", "a=8 b=3", "a=4 b=21", "a=7 b=4"}
		for i, line := range strings.Split(strings.TrimSpace(r.stdout), "\n")[1:] {
			if i >= len(want) || !strings.HasSuffix(line, want[min(i, len(want)-1)]) {
				t.Errorf("%s: event %d: %s", flags, i, line)
			}
		}
		if strings.Count(r.stdout, "a=") != len(want) {
			t.Errorf("%s: status %d: %s%s", flags, r.status, r.stdout, r.stderr)
		}
	}
}
