package test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// shown is a number in JSON; a character is an object of its code and its text.
func shown(v any) string {
	if m, ok := v.(map[string]any); ok {
		v = m["value"]
	}
	return fmt.Sprint(v)
}

// TestPassed: at a function's first instruction a parameter has the value that the caller passed, or no
// value, even if the compiler describes only its later value. The program prints the passed values; with
// clang GDB shows the later value.
func TestPassed(t *testing.T) {
	need(t, "gcc", "clang")
	for build, least := range map[string]int{
		"clang -O1 -gdwarf-5": 40, "clang -O2 -gdwarf-4": 40, "clang -O3 -gdwarf-5": 40, "gcc -O2 -gdwarf-5": 40,
	} {
		t.Run(build, func(t *testing.T) {
			flags := strings.Fields(build)
			prog := compile(t, flags[0], "passed.c", append(flags[1:], "-w")...)
			out, err := exec.Command(prog).Output()
			if err != nil {
				t.Fatal(err)
			}
			passed := map[string][]map[string]string{}
			for l := range strings.Lines(string(out)) {
				w := strings.Fields(l)
				args := map[string]string{}
				for _, x := range w[1:] {
					name, value, _ := strings.Cut(x, "=")
					args[name] = value
				}
				passed[w[0]] = append(passed[w[0]], args)
			}
			file := filepath.Join(t.TempDir(), "events")
			cmd := []string{"trace", "-q", "-f", "json", "-o", file, "-c", "$args"}
			for f := range passed {
				cmd = append(cmd, f+"+0")
			}
			if res := jalon(t, append(cmd, "--", prog)...); res.status != 0 {
				t.Fatal(res.stderr)
			}
			hits := map[string]int{}
			right, missing := 0, map[string]bool{}
			for _, e := range readEvents(t, file) {
				f := strings.TrimSuffix(e.Place, "+0")
				n := hits[f]
				hits[f]++
				args, _ := e.Values["$args"].(map[string]any)
				for name, want := range passed[f][min(n, 2)] {
					if _, none := e.Errors["$args."+name]; none {
						missing[f+"."+name] = true
						continue
					}
					if got := shown(args[name]); got != want {
						t.Errorf("%s hit %d: %s = %s, %s was passed", f, n, name, got, want)
						continue
					}
					right++
				}
			}
			for f, list := range passed {
				if hits[f] != len(list) {
					t.Errorf("%s: %d events, %d calls", f, hits[f], len(list))
				}
			}
			t.Logf("%d values right, none of %v", right, missing)
			if right < least {
				t.Errorf("only %d values right", right)
			}
		})
	}
}
