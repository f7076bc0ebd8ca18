package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestThreadNames: counts by the name of the thread have the names that events have, also of threads that have ended.
func TestThreadNames(t *testing.T) {
	dir := t.TempDir()
	src, path := filepath.Join(dir, "names.c"), filepath.Join(dir, "names")
	const text = `#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
__attribute__((noinline)) int handle(int n) { static volatile int sum; return sum += n; }
static void *work(void *p) {
	char name[16];
	snprintf(name, sizeof name, "worker %ld", (long)p);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 10 * (long)p; i++) handle(i);
	return 0;
}
int main(void) {
	for (long i = 1; i <= 5; i++) { // one after the other: each has the thread pointer of the one before
		pthread_t t;
		pthread_create(&t, 0, work, (void *)i);
		pthread_join(t, 0);
	}
	return handle(1) == 0;
}`
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("gcc", "-g", "-O1", "-pthread", "-o", path, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	const want = "@c[names]: 1\n@c[worker 1]: 10\n@c[worker 2]: 20\n@c[worker 3]: 30\n@c[worker 4]: 40\n@c[worker 5]: 50\n"
	got, m := runScript(t, "uprobe:"+path+":handle { @c[comm] = count(); @all[cpu] = count(); } end { $n = (int64)0; for ($kv : @all) { $n += (int64)$kv.1; } printf(\"%d\\n\", $n); clear(@all); }", Options{Argv: []string{path}})
	if got != "151\n"+want || m.SiteMaps() != 2 {
		t.Errorf("%d maps:\n%s\nwant 151\n%s", m.SiteMaps(), got, want)
	}
}

// TestCPUKey: the number of the CPU in a key is that on which the program was.
func TestCPUKey(t *testing.T) {
	dir := t.TempDir()
	src, path := filepath.Join(dir, "cpus.c"), filepath.Join(dir, "cpus")
	const text = `#define _GNU_SOURCE
#include <sched.h>
__attribute__((noinline)) int handle(int cpu) { static volatile int sum; return sum += cpu; }
int main(void) {
	cpu_set_t all, one;
	sched_getaffinity(0, sizeof all, &all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all)) continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof one, &one)) continue;
		for (int i = 0; i < 100; i++) handle(sched_getcpu());
	}
	return 0;
}`
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command("gcc", "-g", "-O1", "-o", path, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got, m := runScript(t, "uprobe:"+path+":handle { @[cpu, arg0] = count(); @last[cpu] = arg0; }", Options{Argv: []string{path}})
	if m.SiteMaps() != 2 {
		t.Fatalf("%d maps are at the sites", m.SiteMaps())
	}
	n := 0
	for _, m := range regexp.MustCompile(`(?m)^@\[(\d+), (\d+)\]: (\d+)$`).FindAllStringSubmatch(got, -1) {
		if n++; m[1] != m[2] || m[3] != "100" {
			t.Errorf("on CPU %s the key is %s; %s calls", m[2], m[1], m[3])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^@last\[(\d+)\]: (\d+)$`).FindAllStringSubmatch(got, -1) {
		if n--; m[1] != m[2] {
			t.Errorf("on CPU %s the key is %s", m[2], m[1])
		}
	}
	if n != 0 || got == "" {
		t.Errorf("other keys:\n%s", got)
	}
}
