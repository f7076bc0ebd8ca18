package test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// implicitAt are the values of expressions in GDB at a place, "" for those it has not.
func implicitAt(t *testing.T, prog, place string, list []string) map[string]string {
	t.Helper()
	args := []string{"gdb", "-nx", "-q", "-batch", "-ex", "set width 0", "-ex", "break " + place, "-ex", "run"}
	for _, x := range list {
		args = append(args, "-ex", "echo @@"+x+"=", "-ex", "output "+x, "-ex", `echo \n`)
	}
	out := map[string]string{}
	for _, l := range strings.Split(run(t, append(args, prog)...).stdout, "\n") {
		if x, v, ok := strings.Cut(strings.TrimPrefix(l, "@@"), "="); ok && strings.HasPrefix(l, "@@") && !strings.Contains(v, "optimized out") && v != "" && !strings.Contains(v, "synthetic") {
			out[x] = v
		}
	}
	return out
}

// TestImplicitPointers: what pointers and references that are optimised out point to (DW_OP_implicit_pointer), as in GDB.
func TestImplicitPointers(t *testing.T) {
	need(t, "gdb", "g++")
	inSum := []string{"p->a", "p->b", "p->c", "*p", "p[0]", "p[0].b", "text[0]", "text[3]", "*text", "h->n", "h->p->a", "(*h).p->b", "*h->p", "v[0]", "v[1]", "v[2]"}
	inBox := []string{"width", "height", "this->width", "*this"}
	// GDB 13.1 ends at these by an internal error.
	own := map[string]string{
		"q": "5", "p->a + q + v[1]": "10", "width * height + k": "24",
		"*(v + 1)": "3", "*(2 + v)": "7", "(v + 2)[-1]": "3", "v[q - 3]": "7", "*(v + p->a)": "7", "text[q]": "97 'a'", "*(text + (q - 4))": "105 'i'",
		"(p + 1 - 1)->b": "3", "v[h->n] + 1": "<the index is not below the number of elements>",
	}
	for _, build := range []string{"-O1", "-O2", "-O3", "-O2 -gdwarf-4", "-O2 -gdwarf-2"} {
		flags := append([]string{"-g"}, strings.Fields(build)...)
		prog := compile(t, "g++", "implicit.cc", flags...)
		for mark, list := range map[string][]string{"// in sum": inSum, "// in box": inBox} {
			place := lineWith(t, "programs/implicit.cc", mark)
			gdb := implicitAt(t, prog, place, list)
			if len(gdb) < len(list) {
				t.Errorf("%s: GDB has only %v", build, gdb)
			}
			for _, x := range slices.Sorted(maps.Keys(own)) {
				if strings.Contains(x, "width") == (mark == "// in box") {
					list, gdb[x] = append(list, x), own[x]
				}
			}
			for _, engine := range []string{"process", "kernel"} {
				file := filepath.Join(t.TempDir(), "events")
				res := jalon(t, "trace", "-o", file, "--engine", engine, "-c", strings.Join(list, ", "), place, "--", prog)
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err, res.stderr)
				}
				for i, x := range list {
					got := valueIn(string(b), x, list[i+1:])
					if got != gdb[x] {
						t.Errorf("%s, %s: %s is %s, want %s", build, engine, x, got, gdb[x])
					}
				}
			}
		}
	}
}

// valueIn is the value of an expression in a line of text; next are the expressions behind it.
func valueIn(line, x string, next []string) string {
	_, rest, ok := strings.Cut(line, " "+x+"=")
	if !ok {
		return "absent: " + line
	}
	if len(next) > 0 {
		rest, _, _ = strings.Cut(rest, fmt.Sprintf(" %s=", next[0]))
	}
	return strings.TrimSpace(rest)
}

// TestImplicitPointerErrors: what is outside of the object, and the pointer itself, have no value; other items have theirs.
func TestImplicitPointerErrors(t *testing.T) {
	need(t, "g++")
	prog := compile(t, "g++", "implicit.cc", "-g", "-O2")
	place := lineWith(t, "programs/implicit.cc", "// in sum")
	file := filepath.Join(t.TempDir(), "events")
	res := jalon(t, "trace", "-o", file, "-c", "p, v[3], text[8], p->b, sizeof *p", place+" if p->a == 2 && text[1] == 'i'", "--", prog)
	b, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(b), "p=<optimised out> v[3]=<optimised out> text[8]=<optimised out> p->b=3 sizeof *p=16") {
		t.Errorf("%v: %s%s", err, b, res.stderr)
	}
	for _, want := range []string{"DW_OP_implicit_pointer", "outside of the object that the pointer points to, which has 12 bytes", "which has 8 bytes"} {
		if !strings.Contains(res.stderr, want) {
			t.Errorf("no %q in %s", want, res.stderr)
		}
	}
}
