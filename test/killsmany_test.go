package test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// checkedMany builds a program with the protocol of checked.c whose threads call n functions over and over, and
// compare what they return with what it was at first. The functions are not aligned: jumps cross the ends of pages.
func checkedMany(t *testing.T, n int) (prog string, first uint64) {
	t.Helper()
	testkit.Need(t, "gcc")
	var s strings.Builder
	s.WriteString("#include <pthread.h>\n#include <stdatomic.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n")
	for i := range n {
		fmt.Fprintf(&s, "__attribute__((noinline)) unsigned fn_%d(unsigned a, unsigned *p) { *p ^= %du; return a * %du + *p; }\n", i, i*2654435761%(1<<32), i|1)
	}
	s.WriteString("static unsigned (*const all[])(unsigned, unsigned *) = {\n")
	for i := range n {
		fmt.Fprintf(&s, "fn_%d,", i)
	}
	s.WriteString(`};
static atomic_long rounds[64];
static atomic_int stop, bad;
static unsigned once(void)
{
	unsigned a = 1, p = 7;
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		a = all[i](a, &p);
	return a;
}
static void *work(void *arg)
{
	unsigned want = once();
	while (!atomic_load(&stop)) {
		if (once() != want)
			bad = 1;
		atomic_fetch_add(&rounds[(long)arg], 1);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	pthread_t t[64];
	char c;
	for (long i = 0; i < n; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	while (read(0, &c, 1) == 1) {
		for (int i = 0; i < n; i++) {
			long from = atomic_load(&rounds[i]);
			while (atomic_load(&rounds[i]) < from + 2)
				usleep(100);
		}
		if (write(1, "on\n", 3) != 3)
			return 1;
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	printf("%s\n", bad ? "bad" : "ok");
	return bad;
}
`)
	dir := t.TempDir()
	src, prog := filepath.Join(dir, "manychecked.c"), filepath.Join(dir, "manychecked")
	if err := os.WriteFile(src, []byte(s.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-Os", "-falign-functions=1", "-fcf-protection=none", "-no-pie", "-pthread", "-o", prog, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := elf.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, y := range syms {
		if y.Name == "fn_0" {
			first = y.Value
		}
	}
	return prog, first
}

// TestKillsInWrites: jalon is killed when the first of a thousand jumps is in the program, or some time later:
// while it writes the others page by page, while it lets the threads go, or when it restores the bytes.
func TestKillsInWrites(t *testing.T) {
	prog, first := checkedMany(t, 1000)
	c := counted(t, "kills", "of jalon, while it writes a thousand jumps")
	in := 0
	for i := range kills(6) {
		c.Rounds++
		x := startChecked(t, prog, 3)
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", x.Pid()))
		if err != nil {
			t.Fatal(err)
		}
		was, now := make([]byte, 8), make([]byte, 8)
		if _, err := mem.ReadAt(was, int64(first)); err != nil {
			t.Fatal(err)
		}
		args := jalonArgs("trace", "-v", "-f", "none", "-d", "1ms", "-p", fmt.Sprint(x.Pid()))
		j := start(t, append(args, "fn_* if ($rsp == 1)")...)
		for changed, ended := false, false; !changed && !ended; {
			_, err := mem.ReadAt(now, int64(first))
			changed = err != nil || !bytes.Equal(was, now)
			select {
			case <-j.Ended: // on a busy machine this test may have slept all the while
				if ended = true; j.Status != 0 {
					t.Fatalf("jalon has failed: %s", tail(j.Errs.String()))
				}
			default:
			}
		}
		_ = mem.Close()
		limit := []time.Duration{50 * time.Microsecond, 5 * time.Millisecond, 50 * time.Millisecond}[i%3]
		select { // any instant will do
		case <-time.After(time.Duration(rand.Int64N(int64(limit)))):
		case <-j.Ended:
		}
		j.Kill()
		testkit.NoPanic(t, args, j.Errs.String())
		if !strings.Contains(j.Errs.String(), "armed after") {
			in++
		}
		when := fmt.Sprintf("kill %d: %s", i, tail(j.Errs.String()))
		x.goesOn(when)
		x.goesOn(when)
		x.finish(when)
	}
	t.Logf("%d of %d kills before all was armed", in, c.Rounds)
}
