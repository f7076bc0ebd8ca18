package runner

import (
	"fmt"
	"strings"
	"testing"
)

// abreast has two threads that wait for each other before each new key, so that both insert it at one moment, or nearly.
const abreast = `
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
static atomic_long arrived;
static volatile long sum;
static long keys = 50000;
__attribute__((noinline)) void enter(long key) { sum += key; }
static void *run(void *p) {
	for (long i = 0; i < keys; i++) {
		atomic_fetch_add(&arrived, 1);
		for (long n = 0; atomic_load(&arrived) < 2 * (i + 1); n++)
			if (n > 100000) sched_yield();
		for (volatile long d = 0; d < (p ? i % 37 : i / 37 % 37); d++);
		enter(i);
	}
	return 0;
}
int main(int argc, char **argv) {
	pthread_t t;
	if (argc > 1) keys = atol(argv[1]);
	pthread_create(&t, 0, run, &t);
	run(0);
	pthread_join(t, 0);
	return 0;
}
`

// TestInsertedTogether: where threads insert one key at the same moment, each update is in the map, or counted as lost.
func TestInsertedTogether(t *testing.T) {
	path := compileC(t, "abreast", abreast, "-pthread")
	for _, uprobes := range []bool{false, false, false, false, true} {
		if uprobes {
			needRoot(t)
		}
		lost := uint64(0)
		src := strings.ReplaceAll(`config = { max_map_keys = 131072 } uprobe:PROG:enter { @k[arg0] += 1; @n = count(); }
end { $n = (uint64)0; $sum = (int64)0; for ($kv : @k) { $n += 1; $sum += $kv.1; } @keys = max($n); @sum = max($sum); clear(@k); }`, "PROG", path)
		got, m := runScript(t, src, Options{Argv: []string{path}, Uprobes: uprobes, Warn: lostOf(&lost)})
		lines := numbersOf(t, got)
		if n := sumOf(lines["@sum"]); m.SiteMaps() != 2 || sumOf(lines["@n"]) != 100000 || n+lost != 100000 {
			t.Errorf("uprobes %t: %d updates are there and %d lost, of %d; %d keys", uprobes, n, lost, sumOf(lines["@n"]), sumOf(lines["@keys"]))
		}
	}
}

// TestInsertedOnce: a key that two threads insert at the same moment counts once for max_map_keys, or twice for a moment where one of them was stopped.
// (Without that, a sixth of the updates was lost in the kernel.)
func TestInsertedOnce(t *testing.T) {
	path := compileC(t, "abreast", abreast, "-pthread")
	const keys = 16000
	for _, uprobes := range []bool{false, false, false, true} {
		if uprobes {
			needRoot(t)
		}
		lost := uint64(0)
		src := strings.ReplaceAll(fmt.Sprintf(`config = { max_map_keys = %d } uprobe:PROG:enter { @k[arg0] = count(); }
end { $n = (uint64)0; $sum = (int64)0; for ($kv : @k) { $n += 1; $sum += (int64)$kv.1; } @keys = max($n); @sum = max($sum); clear(@k); }
interval:hz:1 { if (0) { clear(@k); } }`, keys), "PROG", path) // a map that is cleared has more slots, so that all keys find one
		got, m := runScript(t, src, Options{Argv: []string{path, fmt.Sprint(keys)}, Uprobes: uprobes, Warn: lostOf(&lost)})
		lines := numbersOf(t, got)
		if n := sumOf(lines["@sum"]); m.SiteMaps() != 1 || n+lost != 2*keys || lost > keys/50 {
			t.Errorf("uprobes %t: %d keys with %d updates, %d lost; want %d with %d", uprobes, sumOf(lines["@keys"]), n, lost, keys, 2*keys)
		}
	}
}
