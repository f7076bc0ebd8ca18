package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
)

// GDB is the oracle: at the same stops of the same program, jalon must have the
// values that GDB prints. Both run the program without address randomisation
// and with an empty environment, so that addresses are the same too.

// oracleBuilds are the builds of test/programs/vars.c that are compared. Those after the first line run
// only with JALON_FULL, which also stops at every instruction instead of a sample.
var oracleBuilds = []struct {
	flags string
	more  bool
}{
	{"gcc -O0 -gdwarf-5", false},
	{"gcc -O2 -gdwarf-5", false},
	{"gcc -O1 -gdwarf-4", false},
	{"clang -O0 -gdwarf-4", false},
	{"clang -O2 -gdwarf-5", false},
	{"gcc -O3 -gdwarf-5 -fno-pie -no-pie", false},

	{"gcc -O0 -gdwarf-4 -fomit-frame-pointer", true},
	{"gcc -O1 -gdwarf-5", true},
	{"gcc -O2 -gdwarf-4", true},
	{"gcc -O3 -gdwarf-4", true},
	{"gcc -Og -gdwarf-5", true},
	{"gcc -Os -gdwarf-5", true},
	{"clang -O0 -gdwarf-5", true},
	{"clang -O1 -gdwarf-5", true},
	{"clang -O1 -gdwarf-4", true},
	{"clang -O2 -gdwarf-4", true},
	{"clang -O3 -gdwarf-4 -fno-pie -no-pie", true},
	{"clang -O3 -gdwarf-5", true},
	{"gcc -O2 -gdwarf-5 -mavx -march=haswell", true},
	{"clang -Os -gdwarf-5 -mavx2", true},
}

// subject is one build under test.
type subject struct {
	t      *testing.T
	source string
	flags  string
	dir    string
	prog   string
	args   []string
	bias   uint64
	mod    *dwarf.Module
	// real: the program was not written for these tests, see TestOracleReal.
	real bool
	// fatal are places and expressions on which GDB crashes.
	fatal [][2]string
}

func newSubject(t *testing.T, src, flags string) *subject {
	t.Helper()
	dir := subjectDir(t)
	prog := filepath.Join(dir, strings.TrimSuffix(src, ".c"))
	source, err := filepath.Abs("programs/" + src)
	if err != nil {
		t.Fatal(err)
	}
	f := strings.Fields(flags)
	cmd := exec.Command(f[0], append(f[1:], "-w", "-o", prog, source)...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, b)
	}
	s := subjectOf(t, prog, flags)
	s.source = src
	return s
}

// subjectDir returns a directory for a subject. t.TempDir does not work: "env -i PROGRAM" treats a path
// with a = as a variable.
func subjectDir(t *testing.T) string {
	dir, err := os.MkdirTemp(tempDir, "oracle")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func subjectOf(t *testing.T, prog, flags string) *subject {
	t.Helper()
	s := &subject{t: t, flags: flags, dir: subjectDir(t), prog: prog}
	var err error
	if s.mod, err = dwarf.Open(s.prog, dwarf.Options{Warn: func(m string) { t.Log(m) }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.mod.Close() })
	if s.mod.Type() == dwarf.Dyn {
		s.bias = 0x555555554000 // where Linux puts PIEs without randomisation
	}
	return s
}

// addresses are the run-time addresses to stop at: those of all lines and
// functions, and every nth instruction.
func (s *subject) addresses(nth int) []uint64 {
	seen := map[uint64]bool{}
	for _, l := range s.mod.Lines("vars.c") {
		sites, err := s.mod.LineSites("vars.c", l)
		if err != nil {
			s.t.Fatalf("line %d: %v", l, err)
		}
		for _, x := range sites {
			seen[x.Addr+s.bias] = true
		}
	}
	for _, f := range s.functions() {
		if x, err := s.mod.FuncEntry(f.Name); err == nil {
			seen[x[0].Addr+s.bias] = true
		}
	}
	for i, a := range s.instructions() {
		if i%nth == 0 {
			seen[a+s.bias] = true
		}
	}
	var list []uint64
	for a := range seen {
		// GDB 13.1 steps over VEX instructions with an operand relative to rip as if they had none, and the
		// program dies. scrub runs thousands of identical rounds.
		code, err := s.mod.Text(a-s.bias, 1)
		if name, _, _, _, _ := s.mod.Symbolize(a - s.bias); name != "scrub" && err == nil && code[0] != 0xc4 && code[0] != 0xc5 {
			list = append(list, a)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i] < list[j] })
	return list
}

// functions are those of the source.
func (s *subject) functions() (list []*dwarf.Function) {
	for _, f := range s.mod.Functions("*") {
		if filepath.Base(f.File) == s.source && f.Hi > f.Lo {
			list = append(list, f)
		}
	}
	if len(list) < 5 {
		s.t.Fatalf("only %d functions", len(list))
	}
	return list
}

// instructions are the vaddrs of all instructions of vars.c, as objdump has them.
func (s *subject) instructions() (list []uint64) {
	b, err := exec.Command("objdump", "-d", "--no-show-raw-insn", "-j", ".text", s.prog).Output()
	if err != nil {
		s.t.Fatalf("objdump: %v", err)
	}
	funcs := s.functions()
	for _, line := range strings.Split(string(b), "\n") {
		var a uint64
		head, text, ok := strings.Cut(line, ":\t")
		if !ok || strings.HasPrefix(text, "nop") || strings.HasPrefix(text, "xchg   %ax,%ax") || strings.HasPrefix(text, "cs nop") || strings.HasPrefix(text, "data16") {
			continue
		}
		if _, err := fmt.Sscanf(strings.TrimSpace(head), "%x", &a); err != nil {
			continue
		}
		for _, f := range funcs {
			for _, r := range f.Ranges {
				if a >= r.Lo && a < r.Hi {
					list = append(list, a)
				}
			}
		}
	}
	return list
}

// TestOracleValues compares arguments, locals and expressions at every line of
// every build, hit by hit.
func TestOracleValues(t *testing.T) {
	nth := 24
	if full {
		nth = 1
	}
	for _, b := range oracleBuilds {
		if b.more && !full {
			continue
		}
		t.Run(b.flags, func(t *testing.T) {
			start := time.Now()
			s := newSubject(t, "vars.c", b.flags)
			points := s.points(s.addresses(nth))
			theirs := s.gdb(points, hitsLooked)
			gdbTime := time.Since(start)
			ours := s.jalonValues(points)
			c := &comparison{s: s}
			c.run(points, theirs, ours)
			t.Logf("%d addresses, %d stops, %s; gdb %v, all %v", len(points), len(theirs), c.tally(), gdbTime.Round(time.Millisecond), time.Since(start).Round(time.Millisecond))
		})
	}
}

// hitsLooked is how many hits of an address are compared.
const hitsLooked = 2
