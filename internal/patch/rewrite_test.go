package patch

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// clobber is code that destroys what DeadAt says is dead.
func clobber(dead RegSet, flags bool, rng *rand.Rand) []byte {
	var b []byte
	for r := range 16 {
		if dead>>r&1 != 0 {
			b = append(b, 0x48|byte(r>>3), 0xb8|byte(r&7))
			b = binary.LittleEndian.AppendUint64(b, rng.Uint64()|1<<63)
		}
	}
	if flags { // cmp $imm, %esp
		b = append(b, 0x81, 0xfc)
		b = binary.LittleEndian.AppendUint32(b, rng.Uint32())
	}
	return b
}

// rewriter patches a copy of a program on disk.
type rewriter struct {
	t       *testing.T
	p       *program
	out     []byte
	tramp   uint64
	code    []byte
	rng     *rand.Rand
	opt     Options
	tactics [numTactics]int
	dead    int // dead registers destroyed
	flags   int // sites with dead flags
}

// loadBias is where Linux loads a position independent program when addresses
// are not randomised.
const loadBias = 0x555555554000

// notRandom reports whether programs can be started without randomisation,
// which containers may forbid.
var notRandom = sync.OnceValue(func() bool { return exec.Command("setarch", "-R", "true").Run() == nil })

// rewrite patches a site at every address where one can be without int3: in
// every function every instruction that no earlier site covers. share is the part
// of the functions that is patched.
func rewrite(t *testing.T, path, out string, share float64, opt Options) *rewriter {
	t.Helper()
	p := openProgramAt(t, path, loadBias)
	if p.bias != 0 && !notRandom() {
		t.Skip("this machine does not start programs without address randomisation, so a position independent program cannot be patched on disk")
	}
	w := &rewriter{t: t, p: p, out: append([]byte(nil), p.raw...), rng: rand.New(rand.NewSource(testkit.Seed(t, 1))), opt: opt}
	for _, r := range p.loads {
		w.tramp = max(w.tramp, r.end())
	}
	w.tramp = (w.tramp + 0x1000000) &^ 0xfffff
	patched := uint64(0)
	for _, f := range p.funcs {
		if f.addr < patched || w.rng.Float64() >= share {
			continue
		}
		if c := p.code(f); c != nil {
			patched = max(patched, w.function(c))
		}
	}
	w.addSegment()
	if err := os.WriteFile(out, w.out, 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

// function patches one function and returns the end of the patched bytes.
func (w *rewriter) function(c *Code) uint64 {
	end := c.Lo
	for _, in := range c.analyse().insts {
		if in.Addr < end {
			continue
		}
		p, err := Make(c, in.Addr, Options{Avoid: 1<<Pun | 1<<Trapping})
		if err != nil {
			continue
		}
		w.tactics[p.Tactic]++
		at := w.tramp + uint64(len(w.code))
		code, _, err := p.Emit(at, func(addr, at uint64) ([]byte, error) {
			dead, flags := DeadAt(c, addr, w.opt)
			for r := range 16 {
				w.dead += int(dead >> r & 1)
			}
			if flags {
				w.flags++
			}
			return clobber(dead, flags, w.rng), nil
		})
		if err != nil {
			w.t.Fatal(err)
		}
		w.code = append(w.code, code...)
		edits, err := p.Edits(at)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range edits {
			w.write(e)
		}
		end = p.Addr + uint64(p.Len)
	}
	return end
}

func (w *rewriter) write(e Edit) {
	for _, s := range w.p.file.Progs {
		if s.Type == elf.PT_LOAD && e.Addr-w.p.bias-s.Vaddr < s.Filesz {
			at := w.out[s.Off+e.Addr-w.p.bias-s.Vaddr:]
			if string(at[:len(e.Old)]) != string(e.Old) {
				w.t.Fatalf("%#x: the old bytes are % x, not % x", e.Addr, at[:len(e.Old)], e.Old)
			}
			copy(at, e.New)
		}
	}
}

// addSegment makes the program header of a note one that loads the
// trampolines, which go to the end of the file.
func (w *rewriter) addSegment() {
	for len(w.out)%0x1000 != 0 {
		w.out = append(w.out, 0)
	}
	off := uint64(len(w.out))
	w.out = append(w.out, w.code...)
	phoff := binary.LittleEndian.Uint64(w.out[32:])
	for i, s := range w.p.file.Progs {
		if s.Type != elf.PT_NOTE {
			continue
		}
		// The last PT_LOAD must have the highest address: put it last among them.
		h := w.out[phoff+uint64(i)*56:]
		n := uint64(len(w.code))
		binary.LittleEndian.PutUint32(h, uint32(elf.PT_LOAD))
		binary.LittleEndian.PutUint32(h[4:], uint32(elf.PF_R|elf.PF_X))
		for j, v := range []uint64{off, w.tramp - w.p.bias, w.tramp - w.p.bias, n, n, 0x1000} {
			binary.LittleEndian.PutUint64(h[8+8*j:], v)
		}
		return
	}
	w.t.Fatal("no program header to spare")
}

// sameOutput runs both programs and compares what they print and return.
func sameOutput(t *testing.T, a, b string, env []string, args ...string) {
	t.Helper()
	run := func(path string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		argv := append([]string{path}, args...)
		if notRandom() {
			argv = append([]string{"setarch", "-R"}, argv...)
		}
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.WaitDelay = time.Second
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		return fmt.Sprintf("%v\n%s", err, out)
	}
	want, got := run(a), run(b)
	if want != got {
		t.Errorf("%s %s\nunpatched: %.2000s\npatched:   %.2000s", b, strings.Join(args, " "), want, got)
	}
	if !strings.HasPrefix(want, "<nil>") {
		t.Errorf("the program itself fails: %.500s", want)
	}
}

func (w *rewriter) log() {
	w.t.Logf("%d jumps, %d over several; %d dead registers and %d times dead flags destroyed", w.tactics[Jump], w.tactics[JumpMany], w.dead, w.flags)
}

// TestRewriteCompiled: programs built by gcc and clang, every function patched
// at every place, all dead registers destroyed there, do the same as before.
func TestRewriteCompiled(t *testing.T) {
	for _, build := range []string{
		"gcc -O0", "gcc -O1", "gcc -O2", "gcc -O3 -march=native", "gcc -Os -fcf-protection", "gcc -O2 -no-pie -fno-pie", "gcc -O2 -fomit-frame-pointer -fno-plt -z now",
		"gcc -O2 -static", "g++ -O0", "g++ -O2", "g++ -O2 -static", "clang++ -O1", "clang -O0", "clang -O1", "clang -O2", "clang -Os -no-pie -fno-pie", "clang -O3 -march=native",
	} {
		t.Run(build, func(t *testing.T) {
			dir := t.TempDir()
			a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			source := "testdata/work.c"
			if strings.Contains(build, "++") {
				source = "testdata/throw.cc"
			}
			args := append(strings.Fields(build), "-w", "-o", a, source)
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			w := rewrite(t, a, b, 1, Options{ABI: true})
			w.log()
			sameOutput(t, a, b, nil)
		})
	}
}

// TestRewriteReal does it to programs of the distribution, and to one of Go,
// whose runtime walks stacks and interrupts threads anywhere.
func TestRewriteReal(t *testing.T) {
	t.Run("gofmt", func(t *testing.T) {
		gofmt := gofmtPath(t)
		b := filepath.Join(t.TempDir(), "gofmt")
		w := rewrite(t, gofmt, b, 1, Options{})
		w.log()
		sameOutput(t, gofmt, b, []string{"GOGC=5"}, "-l", "-r", "a + b -> b + a", ".")
	})
	t.Run("bash", func(t *testing.T) {
		b := filepath.Join(t.TempDir(), "bash")
		w := rewrite(t, "/bin/bash", b, 1, Options{})
		w.log()
		sameOutput(t, "/bin/bash", b, nil, "-c", `
f() { local i s=0; for ((i=0;i<$1;i++)); do s=$((s*31+i^7)); done; echo $s; }
a=(x y "z w"); declare -A m=([k]=v [l]=w); for k in "${!m[@]}"; do echo "$k=${m[$k]}"; done | sort
f 500; echo "${a[@]/y/Q}" ${#a[2]}; [[ abc123 =~ ([a-z]+)([0-9]+) ]] && echo ${BASH_REMATCH[2]}
case foo.tar.gz in *.zip) echo no;; *.tar.*) echo tar;; esac; printf '%05d|%-8s|%x\n' 42 ab 255
echo $(echo nested $(echo deep)); x=$'a\tb'; echo "${x@Q}" ${x^^}; trap 'echo bye' EXIT
while read -r l; do echo "<$l>"; done <<< $'one\ntwo'; set -- a b c; shift; echo $# "$@"; echo {1..5} {a..e}
( exit 3 ); echo $?; kill -0 $$ && echo alive; type -t f; alias q=ls; history -c; echo *.none | cat; sleep 0 & wait; echo done`)
	})
	t.Run("python3", func(t *testing.T) {
		b := filepath.Join(t.TempDir(), "python3.11")
		w := rewrite(t, "/usr/bin/python3.11", b, 1, Options{})
		w.log()
		sameOutput(t, "/usr/bin/python3.11", b, []string{"PYTHONHASHSEED=1"}, "-c", `
import json, re, hashlib, collections, functools, math, decimal, itertools, struct
print(sum(i*i for i in range(20000)), 2**500 % 1000007, math.sin(1.5), 1/3)
d = {str(i): [i, i/7, None, "é%d" % i] for i in range(300)}
print(hashlib.sha256(json.dumps(d, sort_keys=True).encode()).hexdigest(), len(json.loads(json.dumps(d))))
print(re.sub(r"(\w+)@(\w+)", r"\2.\1", "me@home you@work " * 20)[:80])
class A:
    def __init__(s, x): s.x = x
    def __lt__(s, o): return s.x < o.x
print([a.x for a in sorted(map(A, (7919*i % 1009 for i in range(1000))))][::100])
try:
    [][3]
except IndexError as e:
    print(repr(e))
@functools.lru_cache(None)
def fib(n): return n if n < 2 else fib(n-1) + fib(n-2)
print(fib(200), decimal.Decimal(2).sqrt(), struct.pack("<idq", 1, 2.5, 3).hex())
print(collections.Counter(itertools.chain.from_iterable("abcabcxyz" for _ in range(99))).most_common(3))
exec("def g():\n    yield from range(5)\nprint(list(g()), f'{3.14159:.2f}', sorted({3,1,2}), (lambda *a, **k: (a, k))(1, b=2))")
`)
	})
}
