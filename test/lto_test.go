package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLTO: names at file level and static variables are resolved in the file of the function at the place,
// however the program was linked. The program prints their values. GDB 13 is no oracle here, because it
// takes those of any file.
func TestLTO(t *testing.T) {
	for _, build := range []string{
		"gcc -O2 -gdwarf-5",
		"gcc -O2 -gdwarf-5 -flto",
		"gcc -O2 -gdwarf-4 -flto -flto-partition=max",
		"gcc -O0 -gdwarf-5 -flto",
		"gcc -O3 -gdwarf-5 -flto -flto-partition=one -fno-pie -no-pie",
		"clang -O2 -gdwarf-5 -flto",
		"clang -O2 -gdwarf-4 -flto=thin",
	} {
		t.Run(build, func(t *testing.T) {
			prog := filepath.Join(t.TempDir(), "lto")
			args := append(strings.Fields(build)[1:], "-w", "-o", prog)
			for _, f := range []string{"a.c", "b.c", "c.c"} {
				abs, err := filepath.Abs("programs/lto/" + f)
				if err != nil {
					t.Fatal(err)
				}
				args = append(args, abs)
			}
			run(t, append(strings.Fields(build)[:1], args...)...)
			// clang does not describe the static variables of a function that it has inlined everywhere.
			inlined := strings.HasPrefix(build, "clang")
			for _, f := range []string{"fa", "fb", "fc"} {
				if f == "fc" && inlined {
					continue
				}
				file := "'" + f[1:] + ".c'"
				list := "counter, here, calls/d, shared, sizeof(word), sizeof(struct node), SOME + 0"
				compareLTO(t, prog, f, f, list, nil)
				compareLTO(t, prog, f, "fb", file+"::counter, "+file+"::here, "+f+"::calls/d", []string{file + "::", "", f + "::", ""})
			}
		})
	}
}

// compareLTO traces the function at and compares the events with the lines that the
// program printed of f; clean turns the names in events into those of the program.
func compareLTO(t *testing.T, prog, f, at, list string, clean []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "events")
	res := jalon(t, "trace", "-o", out, "-c", list, at, "--", prog)
	b, err := os.ReadFile(out)
	if err != nil || res.status != 0 {
		t.Errorf("%s at %s: status %d, %v: %s", list, at, res.status, err, res.stderr)
		return
	}
	var events []string
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		_, values, _ := strings.Cut(l, " "+at+" ")
		events = append(events, f+" "+strings.TrimSpace(strings.NewReplacer(clean...).Replace(values)))
	}
	plain, err := exec.Command(prog).Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, l := range strings.Split(string(plain), "\n") {
		if !strings.HasPrefix(l, f+" ") {
			continue
		}
		// At another function only the first values are the same for certain.
		if same := strings.HasPrefix(l, events[min(n, len(events)-1)]); !same && (at == f || n == 0 && f != "fa") {
			t.Errorf("%s at %s: hit %d:\njalon   %s\nprogram %s", list, at, n, events[n], l)
		}
		n++
	}
	if n != 3 || len(events) != n {
		t.Errorf("%s at %s: %d events, the program printed %d lines", list, at, len(events), n)
	}
}
