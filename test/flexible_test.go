package test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFlexible: a flexible member, or one of no elements, in a struct is shown by its
// address, wherever the struct is in the value; so are GDB's.
func TestFlexible(t *testing.T) {
	need(t, "gcc", "clang")
	named := regexp.MustCompile(` <\w+(\+\d+)?>`)
	for _, build := range []string{"gcc -O0 -gdwarf-5", "gcc -O2 -gdwarf-4", "clang -O2 -gdwarf-5"} {
		flags := strings.Fields(build)
		prog := compile(t, flags[0], "flexible.c", append([]string{"-w", "-fno-pie", "-no-pie"}, flags[1:]...)...)
		var data, list, nothing0, nothing1, none string
		if _, err := fmt.Sscan(run(t, prog).stdout, &data, &list, &nothing0, &nothing1, &none); err != nil {
			t.Fatal(err)
		}
		var e2 uint64
		fmt.Sscan(nothing1, &e2)
		text := "packet={length = 4, data = " + data + ` "abc"} *o=` + "{first = 1, in = {n = 2, list = " + list + "}} o->in={n = 2, list = " + list + "} " +
			"*e={a = 5, none = " + nothing0 + ", nothing = " + nothing0 + "} e[0]@e[0].a-2={{a = 5, none = " + nothing0 + ", nothing = " + nothing0 + "}, {a = 6, none = " +
			nothing1 + ", nothing = " + nothing1 + fmt.Sprintf("}, {a = 7, none = %#x, nothing = %#x}} none=", e2+4, e2+4) + none
		object := `"packet":{"length":4,"data":"` + data + `"},"*o":{"first":1,"in":{"n":2,"list":"` + list + `"}}`
		for _, engine := range []string{"", "--engine=kernel"} {
			if engine != "" && os.Geteuid() != 0 {
				t.Skip("the kernel engine needs root")
			}
			for format, want := range map[string]string{"text": text, "json": object} {
				out := filepath.Join(t.TempDir(), "events")
				args := []string{"trace", "-f", format, "-o", out, "-c", "packet, *o, o->in, *e, e[0]@e[0].a-2, none", "shown", "--", prog}
				if engine != "" {
					args = append([]string{args[0], engine}, args[1:]...)
				}
				res := jalon(t, args...)
				b, err := os.ReadFile(out)
				if err != nil || res.status != 0 {
					t.Fatal(build, engine, err, res.stderr)
				}
				if got := named.ReplaceAllString(string(b), ""); !strings.Contains(got, want) {
					t.Errorf("%s %s:\ngot  %s\nwant %s", build, engine, got, want)
				}
			}
		}
	}
}
