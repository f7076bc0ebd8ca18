package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// version is a library, or a program's part, whose function lies elsewhere and means
// something else in each version.
const version = `
%s
int answer = %d;
__attribute__((noinline)) int work(int n) { __asm__ volatile("" ::: "memory"); return n + answer; }
`

const caller = `
#include <stdio.h>
int work(int n);
int main(void) { puts("ready"); fflush(stdout); for (int n = 0;; n = work(n) & 1) ; }
`

// TestReplaced: the file of a running program or library is replaced by another version. jalon traces the
// running version.
func TestReplaced(t *testing.T) {
	asRoot(t)
	testkit.Need(t, "gcc")
	pad := "int f0(int a) { return a * 3 + 1; } int f1(int a) { return a * 5 + f0(a); } int f2(int a) { return f1(a) + f0(a) * 9; }"
	for _, library := range []bool{false, true} {
		name := map[bool]string{false: "program", true: "library"}[library]
		build := func(to, pad string, answer int) {
			src, main := filepath.Join(dir, "version.c"), filepath.Join(dir, "caller.c")
			write(t, src, fmt.Sprintf(version, pad, answer))
			write(t, main, caller)
			if library {
				gcc(t, "-shared", "-fPIC", "-o", to, src)
			} else {
				gcc(t, "-o", to, src, main)
			}
		}
		file, prog := filepath.Join(dir, "answer-"+name), filepath.Join(dir, "answer-program")
		build(file, "", 11)
		if library {
			prog = filepath.Join(dir, "caller")
			gcc(t, "-o", prog, filepath.Join(dir, "caller.c"), file, "-Wl,-rpath,"+dir)
		}
		target := asNobody(t, prog).AwaitOut("ready")
		for _, how := range []string{"renamed over", "deleted"} {
			build(file+".new", pad, 22)
			if err := os.Rename(file+".new", file); err != nil {
				t.Fatal(err)
			}
			if how == "deleted" {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			p := testkit.Start(t, jalon, "trace", "-p", fmt.Sprint(target.Pid()), "work", "-c", "answer", "-n", "3", "-f", "json").Wait()
			events := testkit.ParseEvents(t, strings.NewReader(p.Out.String()))
			if p.Status != 0 || len(events) != 3 || events[0].Num(t, "answer") != 11 {
				t.Errorf("%s %s: status %d, %d events: %s%s", name, how, p.Status, len(events), p.Out.String(), p.Errs.String())
			}
		}
		target.Kill()
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func gcc(t *testing.T, args ...string) {
	t.Helper()
	if msg, err := exec.Command("gcc", append([]string{"-O1", "-g"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %v: %v\n%s", args, err, msg)
	}
}
