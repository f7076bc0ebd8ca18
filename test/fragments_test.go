package test

import (
	"regexp"
	"strings"
	"testing"
)

// TestFragmentsOfStructs: of what optimisers put into registers each member has its value or is marked; values
// of 128 bits too, which gcc describes by registers that hold them in a part of the function only.
func TestFragmentsOfStructs(t *testing.T) {
	need(t, "gcc", "clang")
	const gone = "<optimised out>"
	want := map[string][]string{
		"m": {"{a = 7, d = 2.5}", "{a = 7, d = " + gone + "}", "{a = " + gone + ", d = 2.5}"},
		"p": {"{x = 1.25, y = 3.5}", "{x = 1.25, y = " + gone + "}", "{x = " + gone + ", y = 3.5}"},
		"z": {"4 + 2i", "4 + " + gone + "i"},
		"k": {"{a = 4, d = 5}", "{a = 4, d = " + gone + "}", "{a = " + gone + ", d = 5}"},
		"r": {"{x = 3.5, y = 1.25}", "{x = " + gone + ", y = 1.25}", "{x = 3.5, y = " + gone + "}"},
		"a": {"1180591620717411303429"},
		"b": {"3"},
		"s": {"3541774862152233910287", "3689348814741910323215"},
	}
	value := regexp.MustCompile(` (\w+)=(\{[^}]*\}|\S+ \+ (?:<[^>]*>|\S+)i|<[^>]*>|\S+)`)
	for _, build := range []string{"gcc -O2", "gcc -O1", "gcc -Og", "clang -O2", "clang -O1"} {
		t.Run(build, func(t *testing.T) {
			flags := strings.Fields(build)
			prog := compile(t, flags[0], "fragments.c", append([]string{"-w", "-g"}, flags[1:]...)...)
			args := []string{
				"trace", "-c", "$args, $locals", "structs", "fragments.c:20", "fragments.c:21", "fragments.c:22",
				"fragments.c:23", "fragments.c:24", "integers", "fragments.c:32", "--", prog,
			}
			res := jalon(t, args...)
			if res.status != 0 {
				t.Fatal(res.stderr)
			}
			whole, partly := 0, 0
			for _, line := range strings.Split(res.stdout, "\n") {
				for _, v := range value.FindAllStringSubmatch(line, -1) {
					ok := v[2] == gone
					for _, x := range want[v[1]] {
						ok = ok || v[2] == x
					}
					switch {
					case !ok:
						t.Errorf("%s is not %s, in %s", v[2], v[1], line)
					case strings.Contains(v[2], gone) && v[2] != gone:
						partly++
					case v[2] != gone:
						whole++
					}
				}
			}
			t.Logf("%d values whole, %d in part", whole, partly)
			if whole < 8 || strings.HasSuffix(build, "2") && partly == 0 {
				t.Errorf("%d values whole, %d in part:\n%s", whole, partly, res.stdout)
			}
		})
	}
}
