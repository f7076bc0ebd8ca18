package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// threads has threads that end and give their stacks to others: rounds of 4 at once, each with calls of step.
const threads = `
#include <pthread.h>
#include <stdlib.h>
static long calls;
__attribute__((noinline)) long step(long i, long fresh) { __asm__ volatile("" ::: "memory"); return i + fresh; }
static void *run(void *p) {
	for (long i = 0; i < calls; i++) step(i, i == 0);
	return 0;
}
int main(int argc, char **argv) {
	long rounds = atol(argv[1]);
	calls = atol(argv[2]);
	for (long r = 0; r < rounds; r++) {
		pthread_t t[4];
		for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, run, 0);
		for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
	}
	return 0;
}
`

func compileC(t *testing.T, name, text string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	src, out := filepath.Join(dir, name+".c"), filepath.Join(dir, name)
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("gcc", append([]string{"-g", "-O1", "-o", out, src}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// TestThreadsAtSites: sums of threads that change the same elements at once are exact, and a thread does not find what
// another one has left that had its thread pointer before.
func TestThreadsAtSites(t *testing.T) {
	path := compileC(t, "threads", threads, "-pthread")
	const rounds, calls = 12, 20480
	src := strings.ReplaceAll(`uprobe:PROG:step {
	if (arg1) { if (@left[tid]) { @stale = count(); } @n[tid] = (uint64)0; }
	@left[tid]++; @n[tid] += arg0; @calls[tid] = count();
	@all++; @by[arg0 & 7]++; @key[arg0 & 1023]++; @same[arg0 >> 10] += 2;
}`, "PROG", path)
	// An update is lost, and counted, where a thread is interrupted while it inserts the key: see maps.Claims. Threads that begin together
	// insert the keys of @key and @same.
	lost := map[string]uint64{}
	got, m := runScript(t, src, Options{Argv: []string{path, fmt.Sprint(rounds), fmt.Sprint(calls)}, Warn: func(text string) {
		if m := lostText.FindStringSubmatch(text); m != nil {
			lost[m[1]], _ = strconv.ParseUint(m[2], 10, 64)
		}
	}})
	defer func() {
		if t.Failed() {
			t.Logf("lost: %v", lost)
		}
	}()
	if n := m.SiteMaps(); n != 8 {
		t.Fatalf("%d maps are at the sites", n)
	}
	lines := map[string][]uint64{}
	for _, l := range regexp.MustCompile(`(?m)^(@\w+)(?:\[[^]]*\])?: (\d+)$`).FindAllStringSubmatch(got, -1) {
		n, err := strconv.ParseUint(l[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		lines[l[1]] = append(lines[l[1]], n)
	}
	for name, want := range map[string]struct{ elems, each uint64 }{
		"@all": {1, 4 * rounds * calls}, "@by": {8, rounds * calls / 2}, "@key": {1024, 4 * rounds * calls / 1024}, "@left": {4 * rounds, calls}, "@calls": {4 * rounds, calls},
		"@n": {4 * rounds, calls * (calls - 1) / 2},
	} {
		if uint64(len(lines[name])) != want.elems {
			t.Errorf("%s has %d elements, want %d", name, len(lines[name]), want.elems)
		}
		missing := uint64(0)
		for _, v := range lines[name] {
			if missing += want.each - v; v != want.each && lost[name] == 0 {
				t.Errorf("%s: %d, want %d", name, v, want.each)
			}
		}
		if missing != lost[name] {
			t.Errorf("%s: %d are missing, %d are lost", name, missing, lost[name])
		}
	}
	sum := uint64(0)
	for _, v := range lines["@same"] {
		sum += v
	}
	if sum+2*lost["@same"] != 2*4*rounds*calls || len(lines["@stale"]) > 0 {
		t.Errorf("@same has %d in total, and %d updates are lost, want %d; stale: %v", sum, lost["@same"], 2*4*rounds*calls, lines["@stale"])
	}
}
