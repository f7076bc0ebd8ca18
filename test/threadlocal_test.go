package test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestThreadLocal: thread-local variables have the values that the program prints, also where gcc with split debug
// information describes an address in the file as if it were an offset. Where it could be either there is no value.
func TestThreadLocal(t *testing.T) {
	need(t, "gcc", "clang")
	src, err := os.ReadFile("programs/threadlocal.c")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(src), "// here")
	place := fmt.Sprintf("threadlocal.c:%d", strings.Count(before, "\n")+1)
	for _, build := range []string{
		"gcc -O0", "gcc -O2 -gdwarf-5 -gsplit-dwarf", "gcc -O1 -gsplit-dwarf -gdwarf-4", "gcc -O0 -gsplit-dwarf -static",
		"gcc -O0 -gsplit-dwarf -no-pie", "gcc -O0 -gsplit-dwarf -DBIG=1", "gcc -O0 -gsplit-dwarf -DBIG=0x10000", "gcc -O0 -DBIG=0x10000",
		"clang -O0 -gdwarf-5 -gsplit-dwarf", "clang -O0 -gsplit-dwarf -gdwarf-4", "clang -O0 -gsplit-dwarf -DBIG=0x10000",
	} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			flags := strings.Fields(build)
			prog := compile(t, flags[0], "threadlocal.c", append(flags[1:], "-g")...)
			plain, err := exec.Command(prog).Output()
			if err != nil {
				t.Fatal(err)
			}
			res := jalon(t, "trace", "-c", "first, second, text, zeroed, calls", place, "--", prog)
			if build == "gcc -O0 -gsplit-dwarf -DBIG=0x10000" {
				if !strings.Contains(res.stderr, "is an address or an offset") || strings.Contains(res.stdout, "first=17") {
					t.Errorf("status %d: %s%s", res.status, res.stdout, res.stderr)
				}
				return
			}
			for _, want := range strings.Split(strings.TrimSpace(string(plain)), "\n") {
				if n := strings.Count(res.stdout, want+"\n"); n != 2 { // the program prints it too
					t.Errorf("%d times %q: %s%s", n, want, res.stdout, res.stderr)
				}
			}
		})
	}
}
