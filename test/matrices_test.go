package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// matrixItems are expressions about arrays of programs/matrices.c; those behind pointers and of typed need bounds that clang does
// not describe.
var (
	matrixItems = []string{
		"v", "v[1]", "v[1][2]", "*v[1]", "points", "points[1]", "points[1][1].y", "first", "first[2][1]", "last", "last[1][3]", "fours", "fours[1][2]",
		"fours[1][2][3]", "cube", "cube[1]", "cube[1][1]", "cube[1][1][2]", "text", "text[1]", "single", "single[1]", "sizeof(v)", "sizeof(v[0])",
		"sizeof(first)", "sizeof(last)", "sizeof(cube[0])", "sizeof(points)", "sizeof(fours)", "((int*)v)[3]", "n * v[n-1][m-1]", "(long)&v[1][1] - (long)&v",
		"v[n-1][0] == 10 * (n - 1)",
	}
	matrixPointers = []string{"*rows", "(*rows)[1]", "*whole", "(*whole)[1][2]", "*param", "(*param)[1]", "typed", "typed[1][2]", "sizeof(*rows)", "sizeof(*whole)", "sizeof(typed)"}
	// GDB does not count with pointers to such arrays: the same elements by other names, which it knows.
	matrixSteps = map[string]string{"rows[0][1]": "v[1][1]", "rows[-1][2]": "v[0][2]", "param[1][2]": "((int*)param)[m + 2]", "whole[0][1][2]": "v[1][2]", "sizeof(rows[1])": "sizeof(v[0])"}
)

// TestMatrices: arrays with rows whose size is computed at the hit, their parts, elements and sizes are as GDB shows them, also
// behind pointers, in both engines.
func TestMatrices(t *testing.T) {
	need(t, "gcc", "clang", "gdb")
	src, err := os.ReadFile("programs/matrices.c")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(src), "/* here */")
	place := fmt.Sprintf("matrices.c:%d", strings.Count(before, "\n")+1)
	for _, build := range []string{"gcc -O0 -gdwarf-5", "gcc -O0 -gdwarf-4", "gcc -Og -gdwarf-5", "clang -O0 -gdwarf-4", "clang -O0 -gdwarf-5"} {
		t.Run(build, func(t *testing.T) {
			flags := strings.Fields(build)
			prog := compile(t, flags[0], "matrices.c", flags[1:]...)
			items, asked := matrixItems, matrixItems
			if flags[0] == "gcc" {
				items = append(items[:len(items):len(items)], matrixPointers...)
				asked = items
				for ours, other := range matrixSteps {
					items, asked = append(items, ours), append(asked[:len(asked):len(asked)], other)
				}
			}
			want := matricesByGDB(t, prog, place, asked)
			for _, engine := range []string{"process", "kernel"} {
				file := filepath.Join(t.TempDir(), "events")
				r := jalon(t, "trace", "-q", "--engine", engine, "-o", file, place, "-c", strings.Join(items, ", "), "--", prog)
				text, err := os.ReadFile(file)
				if err != nil || r.status != 0 {
					t.Fatal(err, r.stderr)
				}
				lines := strings.Split(strings.TrimSpace(string(text)), "\n")
				if len(lines) != 2 {
					t.Fatalf("%d hits\n%s%s", len(lines), text, r.stderr)
				}
				for call, line := range lines {
					for i, item := range items {
						if x := " " + item + "=" + want[call][i]; !strings.Contains(line+" ", x+" ") {
							t.Errorf("%s, call %d:%s is GDB's, not in\n%s", engine, call, x, line)
						}
					}
				}
			}
			r := jalon(t, "trace", "-q", place+" if (v[1][2] == 12 && sizeof v[0] == 20)", "--", prog)
			if n := strings.Count(r.stdout, "matrices.c:"); n != 1 {
				t.Errorf("%d hits by a condition\n%s%s", n, r.stdout, r.stderr)
			}
		})
	}
}

// matricesByGDB are the values of the expressions at the two hits of a place.
func matricesByGDB(t *testing.T, prog, place string, items []string) (calls [2][]string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "gdb")
	text := "set pagination off\nset width 0\nbreak " + place + "\nrun\npython\nfor call in range(2):\n"
	for _, x := range items {
		text += fmt.Sprintf("  print('VALUE %%d %%s' %% (call, gdb.parse_and_eval(%q).format_string()))\n", x)
	}
	if err := os.WriteFile(script, []byte(text+"  gdb.execute('continue')\nend\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gdb", "-nx", "-batch", "-x", script, prog).CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	for _, m := range regexp.MustCompile(`(?m)^VALUE (\d) (.*)$`).FindAllStringSubmatch(string(out), -1) {
		calls[m[1][0]-'0'] = append(calls[m[1][0]-'0'], m[2])
	}
	if len(calls[0]) != len(items) || len(calls[1]) != len(items) {
		t.Fatalf("GDB shows %d and %d values of %d:\n%s", len(calls[0]), len(calls[1]), len(items), tail(string(out)))
	}
	return calls
}
