package hostile

import (
	"bytes"
	"context"
	stdelf "debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// The bounds that each command keeps on a damaged file of a few hundred KB.
const (
	mostMemory = 600 << 20
	mostTime   = 10 * time.Second // of CPU
)

// source makes compilers produce many forms of descriptions: inlining, types, lists of locations.
const source = `
#include <stdlib.h>
#include <string.h>
#include <sys/sdt.h>
struct node { struct node *next; union { int i; double d; } u; unsigned a:3, b:5; char name[8]; int (*f)(int, char **); };
enum color { RED, GREEN = 5 };
static struct node *head; static int count; _Thread_local int local;
static inline int twice(int x) { int y = x * 2; return y + count; }
__attribute__((noinline)) int work(int n, struct node *p, double d)
{
	int sum = 0; enum color c = n & 1 ? RED : GREEN;
	for (int i = 0; i < n; i++) { int k = twice(i); sum += k + (p ? p->u.i : 0) + c; DTRACE_PROBE2(hostile, step, i, k); }
	switch (n) { case 1: sum++; break; case 2: sum--; break; case 3: sum *= 2; break; case 4: sum = 7; break; case 5: local++; break; }
	count = sum; return sum + (int)d;
}
int main(int argc, char **argv) { struct node m; memset(&m, 0, sizeof m); head = &m; return work(argc, head, argc * 1.5) & 0 & argv[0][0]; }
`

// TestDamagedFiles: for programs whose headers, symbols, debug information and notes were changed at random
// or to extreme values, jalon needs bounded time and memory and never panics.
func TestDamagedFiles(t *testing.T) {
	testkit.Need(t, "gcc", "objcopy")
	rounds := 24
	if full {
		rounds = 2000
	}
	src := filepath.Join(dir, "damaged.c")
	write(t, src, source)
	var originals [][]byte
	for _, flags := range [][]string{
		{"-O2", "-gdwarf-5"}, {"-O2", "-gdwarf-4", "-fdebug-types-section"}, {"-O1", "-gdwarf-5", "-gz"}, {"-O2", "-g", "-static-pie"},
	} {
		out := filepath.Join(dir, "original")
		gcc(t, append(flags, "-o", out, src)...)
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		originals = append(originals, b)
	}
	seed := uint64(testkit.Seed(t, 1))
	rnd := rand.New(rand.NewPCG(seed, 1))
	file := filepath.Join(dir, "damaged")
	var memory int64
	var slowest time.Duration
	for i := range rounds {
		if err := os.WriteFile(file, damage(rnd, originals[i%len(originals)]), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"list", file, "*"},
			{"list", file + "@damaged.c"},
			{"list", "--tactics", file, "w*"},
			{"trace", "-d", "1ms", "--all", "uprobe:" + file + ":work", "usdt:" + file + ":hostile:step", "-c", "n, *p, sum"},
		} {
			if args[0] == "trace" && (os.Getuid() != 0 || i%4 != 0) {
				continue
			}
			used, took := bounded(t, args)
			memory, slowest = max(memory, used), max(slowest, took)
			if t.Failed() {
				keep := filepath.Join(os.TempDir(), fmt.Sprintf("jalon-damaged-%d", seed))
				if b, err := os.ReadFile(file); err == nil {
					_ = os.WriteFile(keep, b, 0o600)
				}
				t.Fatalf("round %d of seed %d; the file is %s", i, seed, keep)
			}
		}
	}
	t.Logf("%d files: %d MiB and %v of CPU at most", rounds, memory>>20, slowest)
}

// bounded runs jalon and checks its exit and its resources.
func bounded(t *testing.T, args []string) (memory int64, cpu time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	args, peak := testkit.Peak(t, append([]string{jalon}, args...)...)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", args, err)
	}
	testkit.NoPanic(t, args, errs.String())
	st := cmd.ProcessState
	if ws := st.Sys().(syscall.WaitStatus); ws.Signaled() {
		t.Errorf("%v: killed by %v: %s", args, ws.Signal(), testkit.Tail(errs.String()))
	}
	memory = peak()
	cpu = st.UserTime() + st.SystemTime()
	if memory > mostMemory || cpu > mostTime {
		t.Errorf("%v: %d MiB, %v of CPU", args, memory>>20, cpu)
	}
	return memory, cpu
}

// extremes are values that counts, sizes and offsets should not have.
var extremes = []uint64{0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1}

// damage returns a copy of an ELF file with some changes: in its headers, or in the
// sections that jalon reads.
func damage(rnd *rand.Rand, original []byte) []byte {
	b := bytes.Clone(original)
	f, err := stdelf.NewFile(bytes.NewReader(original))
	if err != nil {
		return b
	}
	type span struct{ lo, hi uint64 }
	spans := []span{{0, 64 + 56*uint64(len(f.Progs))}, {binary.LittleEndian.Uint64(b[40:]), uint64(len(b))}}
	for _, s := range f.Sections {
		if s.Type != stdelf.SHT_NOBITS && s.FileSize > 0 && s.Flags&stdelf.SHF_WRITE == 0 {
			spans = append(spans, span{s.Offset, s.Offset + s.FileSize})
		}
	}
	for range 1 + rnd.IntN(12) {
		s := spans[rnd.IntN(len(spans))]
		if s.hi > uint64(len(b)) || s.hi-s.lo < 8 {
			continue
		}
		at := s.lo + rnd.Uint64N(s.hi-s.lo-7)
		switch rnd.IntN(4) {
		case 0:
			b[at] = byte(rnd.Uint32())
		case 1:
			v := extremes[rnd.IntN(len(extremes))]
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], v)
			copy(b[at:], word[:1<<rnd.IntN(4)])
		case 2: // a run of bytes without terminators for LEB128 numbers, strings and lists
			for i := at; i < min(s.hi, at+uint64(rnd.IntN(64))); i++ {
				b[i] = 0xff
			}
		case 3: // a copy of another part of the section
			n := min(uint64(rnd.IntN(64)), s.hi-at)
			from := s.lo + rnd.Uint64N(s.hi-s.lo-n+1)
			copy(b[at:at+n], bytes.Clone(b[from:from+n]))
		}
	}
	return b
}
