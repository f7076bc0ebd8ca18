package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// stacksProgram calls leaf, and that tiny, which has no room for a jump, through frames of all kinds: recursion, large and aligned frames, a signal handler, a
// sort's callback, a thread, and libraries that are loaded one after another, mostly at the same address.
const stacksProgram = `#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile int sink;
__asm__(".text\n.globl tiny\n.type tiny,@function\ntiny: .cfi_startproc\n nop\n ret\n.cfi_endproc\n.size tiny,.-tiny\n"
	".globl after\n.type after,@function\nafter: .cfi_startproc\n mov $1,%eax\n ret\n.cfi_endproc\n.size after,.-after\n");
void tiny(int);
__attribute__((noinline)) void leaf(int n) { sink += n; tiny(n); sink++; }
__attribute__((noinline)) static void deep(int n) { if (n) deep(n - 1); else leaf(1); sink++; }
__attribute__((noinline)) static void large(int n) { char b[8000]; memset(b, n, sizeof b); if (n) large(n - 1); else leaf(2); sink += b[n]; }
__attribute__((noinline)) static double aligned(int n, ...)
{
	_Alignas(64) double v[16];
	char *room = alloca(n * 16 + 16);
	for (int i = 0; i < 16; i++) v[i] = n + i;
	snprintf(room, 16, "%g", v[n & 15]);
	if (n) aligned(n - 1, room, v); else leaf(3);
	return v[sink & 15];
}
static void handler(int s) { (void)s; leaf(4); }
static int compare(const void *a, const void *b) { leaf(5); return *(const int *)a - *(const int *)b; }
static void *thread(void *p) { deep(3); return p; }
int main(int argc, char **argv)
{
	for (int i = 0; i < 30; i++) deep(i);
	large(3);
	aligned(6);
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	int list[] = {5, 3, 9, 1, 7, 2};
	qsort(list, 6, sizeof *list, compare);
	pthread_t t;
	pthread_create(&t, 0, thread, 0);
	pthread_join(t, 0);
	for (int i = 0; i < 12; i++) {
		void *h = dlopen(argv[1 + i % 2], RTLD_NOW);
		if (!h) { fprintf(stderr, "%s\n", dlerror()); return 1; }
		((void (*)(void (*)(int)))dlsym(h, "call"))(leaf);
		printf("%p ", dlsym(h, "call"));
		dlclose(h);
	}
	return argc == 0;
}
`

// stacksLibrary is a library whose function has a frame of SIZE bytes.
const stacksLibrary = `#include <string.h>
__attribute__((noinline)) static int inner(void (*f)(int), int n) { char b[SIZE]; memset(b, n, sizeof b); f(6); return b[n]; }
int call(void (*f)(int)) { char b[SIZE / 2]; memset(b, 1, sizeof b); return inner(f, b[3]) + inner(f, b[4]); }
`

// TestStacksAtHit: stacks that are followed at the hit are those that are copied and followed later, and those that the
// kernel's program follows at a uprobe in the function that is called then. In libraries that are unloaded meanwhile
// only the former are whole: each of those has seven frames.
func TestStacksAtHit(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	build := func(args ...string) {
		if r := run(t, args...); r.status != 0 {
			t.Fatal(r.stderr)
		}
	}
	lib := write("lib.c", stacksLibrary)
	a, b := filepath.Join(dir, "a.so"), filepath.Join(dir, "b.so")
	build("gcc", "-O2", "-fno-omit-frame-pointer", "-DSIZE=200", "-shared", "-fPIC", "-o", a, lib)
	build("gcc", "-O2", "-DSIZE=600", "-shared", "-fPIC", "-o", b, lib)
	src := write("stacks.c", stacksProgram)
	for _, options := range [][]string{{"-O2"}, {"-O0"}, {"-O3", "-mavx2", "-fno-plt"}} {
		prog := filepath.Join(dir, "stacks"+options[0])
		build(append(append([]string{"gcc"}, options...), "-g", "-rdynamic", "-pthread", "-o", prog, src, "-ldl")...)
		var stacks [3][]string
		for i, c := range []struct{ form, place, n string }{{"walk", "leaf", "n"}, {"copy:60000", "leaf", "n"}, {"walk", "uprobe:" + prog + ":tiny", "arg0"}} {
			out := filepath.Join(dir, "events")
			r := jalon(t, "trace", "-f", "json", "-o", out, "--stack", c.form, "--buffer", "32M", c.place, "-c", c.n+", $bt", "--", prog, a, b)
			if !strings.Contains(r.stderr, "exited with status 0") {
				t.Fatal(r.stderr)
			}
			stacks[i] = stackLines(t, out)
		}
		if len(stacks[0]) < 60 || len(stacks[0]) != len(stacks[1]) || len(stacks[0]) != len(stacks[2]) {
			t.Fatalf("%v: %d stacks at the hit, %d copied, %d by the kernel's program", options, len(stacks[0]), len(stacks[1]), len(stacks[2]))
		}
		for i, s := range stacks[2] { // n: tiny+0 leaf+24 caller+5, and leaf's own n: leaf+4 caller+5
			if strings.HasPrefix(s, "6:") { // names depend on what is mapped when they are looked up
				if strings.Count(s, "+") != 8 {
					t.Errorf("%v: stack %d in a library by the kernel: %s", options, i, s)
				}
				continue
			}
			number, frames, _ := strings.Cut(s, " tiny+0 leaf+")
			_, frames, _ = strings.Cut(frames, " ")
			if _, own, _ := strings.Cut(stacks[0][i], " leaf+"); number+frames != strings.SplitN(stacks[0][i], " ", 2)[0]+own[strings.Index(own, " ")+1:] {
				t.Errorf("%v: stack %d\nin the process %s\nby the kernel  %s", options, i, stacks[0][i], s)
			}
		}
		for i := range stacks[0] {
			unloaded := strings.HasPrefix(stacks[0][i], "6:")
			if unloaded && strings.Count(stacks[0][i], "+") != 7 {
				t.Errorf("%v: stack %d in a library: %s", options, i, stacks[0][i])
			}
			if stacks[0][i] != stacks[1][i] && !unloaded {
				t.Errorf("%v: stack %d\nat the hit %s\ncopied     %s", options, i, stacks[0][i], stacks[1][i])
			}
			if !strings.HasSuffix(stacks[0][i], "_start+33") && !strings.Contains(stacks[0][i], "clone") {
				t.Errorf("%v: stack %d is not whole: %s", options, i, stacks[0][i])
			}
		}
	}
}

// pathsProgram calls leaf from 4 threads, by as many ways as it has calls: each has a path of its own through f and g.
const pathsProgram = `#include <pthread.h>
#include <stdlib.h>
static volatile int sink;
__attribute__((noinline)) void leaf(int n) { sink += n; }
static void go(unsigned long path, int depth, int n);
__attribute__((noinline)) static void f(unsigned long path, int depth, int n) { go(path, depth, n); sink++; }
__attribute__((noinline)) static void g(unsigned long path, int depth, int n) { go(path, depth, n); sink += 2; }
static inline __attribute__((always_inline)) void go(unsigned long path, int depth, int n)
{
	if (!depth) leaf(n);
	else if (path & 1) f(path >> 1, depth - 1, n);
	else g(path >> 1, depth - 1, n);
}
static int calls;
static void *some(void *first)
{
	for (long n = (long)first; n < calls; n += 4) go(n * 0x9e3779b97f4a7c15 >> 8, 56, n);
	return 0;
}
int main(int argc, char **argv)
{
	pthread_t t[3];
	calls = atoi(argv[1]);
	for (long i = 0; i < 3; i++) pthread_create(t + i, 0, some, (void *)i);
	some((void *)3);
	for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
	return argc == 0;
}
`

// TestManyStacks: the table of stacks becomes full. Every stack is right, whether it has a number or not.
func TestManyStacks(t *testing.T) {
	dir := t.TempDir()
	src, prog, out := filepath.Join(dir, "paths.c"), filepath.Join(dir, "paths"), filepath.Join(dir, "events")
	if err := os.WriteFile(src, []byte(pathsProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := run(t, "gcc", "-O2", "-fno-optimize-sibling-calls", "-pthread", "-o", prog, src); r.status != 0 {
		t.Fatal(r.stderr)
	}
	const hits = 16000
	r := jalon(t, "trace", "-f", "json", "-o", out, "--buffer", "16M", "leaf", "-c", "arg0, $bt", "--", prog, fmt.Sprint(hits))
	if !strings.Contains(r.stderr, "exited with status 0") {
		t.Fatal(r.stderr)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for line := range strings.Lines(string(b)) {
		var ev struct {
			Values struct {
				N     uint64                           `json:"arg0"`
				Stack []struct{ Function, Cut string } `json:"$bt"`
			}
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		path, want, got := ev.Values.N*0x9e3779b97f4a7c15>>8, "", ""
		for range 56 {
			want, path = string("gf"[path&1])+want, path>>1
		}
		for i, f := range ev.Values.Stack {
			if i > 0 && i <= 56 {
				got += f.Function
			}
		}
		n, last := ev.Values.N, ev.Values.Stack[len(ev.Values.Stack)-1]
		if got != want || seen[n] || last.Cut != "" || !strings.Contains("_start clone3 __clone3", last.Function) {
			t.Fatalf("hit %d of %d: %d frames up to %v\n%s, want\n%s", n, hits, len(ev.Values.Stack), last, got, want)
		}
		seen[n] = true
	}
	if n := len(seen); n != hits || !strings.Contains(r.stderr, "table of stacks was full") {
		t.Errorf("%d events of %d: %s", n, hits, r.stderr)
	}
}

// TestStackMemory: the reader's memory is bounded when stacks come faster than it can show them.
func TestStackMemory(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "stack")
	if r := run(t, "gcc", "-O2", "-o", prog, "../bench/work/stack.c"); r.status != 0 {
		t.Fatal(r.stderr)
	}
	const most = 300 << 10 // KiB
	for _, form := range []string{"walk", "copy"} {
		busy := exec.Command(prog, "site", "1000000", "0")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		args := jalonArgs("trace", "uprobe:"+prog+":site", "-c", "$bt", "--stack", form, "-f", "json", "-o", "/dev/null", "-d", "1s", "-p", fmt.Sprint(busy.Process.Pid))
		args, peak := testkit.Peak(t, args...)
		out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
		_ = busy.Process.Kill()
		_ = busy.Wait()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		rss := peak() >> 10
		t.Logf("%s: %d MiB at most; %s", form, rss>>10, strings.Split(string(out), "\n")[1])
		if rss > most {
			t.Errorf("%s: jalon had %d KiB of memory, more than %d", form, rss, most)
		}
	}
}

// stackLines are the stacks of a file of events, a line each.
func stackLines(t *testing.T, file string) (list []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		var ev struct {
			Values struct {
				N     int
				Arg0  int32
				Stack []struct {
					Function, Cut string
					Offset        int
				} `json:"$bt"`
			}
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		text := fmt.Sprint(ev.Values.N+int(ev.Values.Arg0), ":")
		for _, f := range ev.Values.Stack {
			text += fmt.Sprintf(" %s+%d", f.Function, f.Offset)
			if f.Cut != "" {
				text += " (" + f.Cut + ")"
			}
		}
		list = append(list, text)
	}
	return list
}

// The frames of a hit are named by the libraries that were loaded then, although others lie at their addresses when the
// event is shown.
func TestStacksOfSwappedLibraries(t *testing.T) {
	const rounds = 12
	first := compile(t, "gcc", "swapped.c", "-g", "-O2", "-shared", "-fPIC", "-DLIBRARY=first")
	other := compile(t, "gcc", "swapped.c", "-g", "-O2", "-shared", "-fPIC", "-DLIBRARY=other")
	prog := compile(t, "gcc", "swapped.c", "-g", "-O2")
	for _, form := range [][]string{nil, {"--stack", "copy"}, {"--clock", "coarse"}, {"--clock", "none"}} {
		t.Run(strings.Join(form, " "), func(t *testing.T) {
			r := trace(t, append(form, "leaf", "-c", "x, $bt", "--", prog, first, other, fmt.Sprint(rounds))...)
			if len(r.events) != rounds || r.stdout != "same\n" {
				t.Fatalf("%d events, output %q", len(r.events), r.stdout)
			}
			known := 0
			for i := range r.events {
				e := &r.events[i]
				want := []string{"first", "other"}[e.Num(t, "x")]
				frames, _ := e.Values["$bt"].([]any)
				for _, f := range frames {
					switch name := f.(map[string]any)["function"]; name {
					case want:
						known++
					case "first", "other":
						t.Errorf("event %d: %v is called by %v, not by %s", i, e.Values["x"], name, want)
					}
				}
			}
			if exact := len(form) == 0 || form[0] == "--stack"; exact && known != rounds {
				t.Errorf("%d of %d callers are known", known, rounds)
			}
		})
	}
}
