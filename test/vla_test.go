package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVariableLength: an array of variable length is shown up to the limit of elements, and its sizeof is
// the value that the program prints. A flexible member is shown by its address, or as text if it has
// characters.
func TestVariableLength(t *testing.T) {
	need(t, "gcc", "clang")
	src, err := os.ReadFile("programs/vla.c")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(src), "/* here */")
	line := strings.Count(before, "\n") + 2
	for _, build := range []string{"gcc -O0 -gdwarf-5", "gcc -Og -gdwarf-4", "clang -O0 -gdwarf-4", "clang -O0 -gdwarf-5"} {
		t.Run(build, func(t *testing.T) {
			flags := strings.Fields(build)
			prog := compile(t, flags[0], "vla.c", flags[1:]...)
			plain, err := exec.Command(prog).Output()
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(plain), "\n")
			file := filepath.Join(t.TempDir(), "events")
			res := jalon(t, "trace", "-o", file, "-c", "sizeof a, sizeof text, sizeof rows, a, rows, text, p->data",
				fmt.Sprintf("vla.c:%d", line), "--", prog)
			b, err := os.ReadFile(file)
			if err != nil || res.status != 0 {
				t.Fatal(err, res.stderr)
			}
			events := strings.Split(strings.TrimSpace(string(b)), "\n")
			if len(events) != 6 {
				t.Fatalf("%d events:\n%s", len(events), b)
			}
			at := 0
			for i, e := range events {
				n := i + 1
				if i == 5 {
					n = 250
				}
				var sizes [3]int
				fmt.Sscan(lines[at], &sizes[0], &sizes[1], &sizes[2])
				var a, rows []string
				for k := range n {
					w := strings.Fields(lines[at+1+k])
					a = append(a, w[0])
					rows = append(rows, "{"+strings.Join(w[len(w)-3:], ", ")+"}")
				}
				want := []string{fmt.Sprintf("sizeof a=%d sizeof text=%d sizeof rows=%d a={%s", sizes[0], sizes[1], sizes[2], strings.Join(a[:min(n, 200)], ", "))}
				if n < 6 {
					want = append(want, "rows={"+strings.Join(rows, ", ")+"}", "text=\""+strings.Fields(lines[at+1])[1]+"\"")
				} else {
					want = append(want, ", 39601...}", "...")
				}
				want = append(want, "<packet+4> \"abc\"")
				for _, x := range want {
					if !strings.Contains(e, x) {
						t.Errorf("event %d has no %s:\n%s", i, x, e)
					}
				}
				at += n + 1
			}
		})
	}
}
