package tracesite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

func build(t testing.TB, flags string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "kernel")
	args := append(strings.Fields(flags), "-g", "-fno-pie", "-no-pie", "-w", "testdata/kernel.c", "-o", out)
	command(t, "gcc", args...)
	return out
}

func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
	b, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, b)
	}
	return string(b)
}

func find(t testing.TB, path string) *Sites {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	s, err := Find(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// line of objdump: address, bytes, text.
var disLine = regexp.MustCompile(`(?m)^\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*\t(.*)$`)

// objdump disassembles: the texts of instructions by address.
func objdump(t testing.TB, path string, args ...string) map[uint64]string {
	out := map[uint64]string{}
	for _, m := range disLine.FindAllStringSubmatch(command(t, "objdump", append(args, "-d", "--insn-width=15", path)...), -1) {
		a, _ := strconv.ParseUint(m[1], 16, 64)
		out[a] = m[3]
	}
	return out
}

// checkCode compares a site with objdump's text.
func checkCode(t testing.TB, s Site, text map[uint64]string) {
	t.Helper()
	if s.Nop != 0 {
		if x := text[s.Nop]; !strings.HasPrefix(x, "nop") && !strings.HasPrefix(x, "xchg   %ax,%ax") && !strings.HasPrefix(x, "jmp") {
			t.Errorf("%+v: at the branch is %q", s, x)
		}
	}
	if _, ok := text[s.Branch]; !ok {
		t.Errorf("%+v: no instruction begins at Branch %#x", s, s.Branch)
	}
	x := text[s.Call]
	if s.Call != 0 && !strings.Contains(x, "<"+iterPrefix+s.Event+">") && !strings.Contains(x, "<"+callPrefix+s.Event+">") {
		t.Errorf("%+v: at Call %#x is %q", s, s.Call, x)
	}
}

// TestFind reads a program with the kernel's tables, in both lengths of nop, with
// the branches enabled, at several levels of optimisation.
func TestFind(t *testing.T) {
	for _, flags := range []string{"-O2", "-O2 -DSHORT", "-O1 -DENABLED", "-Os", "-O3 -DENABLED", "-O2 -DNO_TABLE", "-Os -DNO_TABLE"} {
		path := build(t, flags)
		s := find(t, path)
		byCode := strings.Contains(flags, "NO_TABLE")
		if s.ByCode != byCode {
			t.Errorf("%s: found by code: %v", flags, s.ByCode)
		}
		text := objdump(t, path)
		for _, x := range s.List {
			checkCode(t, x, text)
			if forbidden := x.Function == "forbidden"; forbidden != (x.NoProbe != "") {
				t.Errorf("%s: %+v", flags, x)
			}
		}
		for event, want := range map[string][]string{"alpha": {"first", "second"}, "beta": {"forbidden", "second"}, "gamma": {"third"}, "never": nil, "alph": nil} {
			var got []string
			for _, x := range s.Of(event) {
				got = append(got, x.Function)
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s is called by %v, want %v", flags, event, got, want)
			}
		}
		tests := 0
		for _, x := range s.List {
			if x.Enabled() {
				tests++
				if x.Event != "gamma" || x.Function != "third" {
					t.Errorf("%s: %+v is no test", flags, x)
				}
			}
		}
		if byCode == (tests == 1) {
			t.Errorf("%s: %d tests of trace_gamma_enabled()", flags, tests)
		}
	}
}

// TestCallersVariables stops at the enabled branches under GDB and compares the
// variables of the function around, whose values are in registers, with GDB's in
// the frame of that function.
func TestCallersVariables(t *testing.T) {
	compared := 0
	for _, flags := range []string{"-O2 -DENABLED", "-Os -DENABLED"} {
		path := build(t, flags)
		m, err := dwarf.Open(path, dwarf.Options{NoCache: true})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		for _, want := range []struct {
			event, function string // the event, its caller in the source
			outer           string // the concrete function
			vars            []string
		}{
			{"alpha", "first", "first", []string{"x", "y", "sum", "text"}},
			{"alpha", "second", "second", []string{"x", "local", "r", "text"}},
			{"beta", "helper", "second", []string{"inner", "twice", "x", "local"}},
			{"gamma", "third", "third", []string{"x", "cost", "text"}},
		} {
			for _, s := range find(t, path).Of(want.event) {
				if s.Function != want.outer {
					continue
				}
				sc, err := m.ScopeAround(s.Branch, s.Inlined()...)
				if err != nil || sc.FuncName() != want.function {
					t.Errorf("%s: %+v: scope of %q: %v", flags, s, sc.FuncName(), err)
					continue
				}
				compared += compareVariables(t, path, s, sc, want.function, want.vars)
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d values compared", compared)
	}
}

var gdbRegs = []string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

// compareVariables evaluates variables at the first stop at the branch.
func compareVariables(t *testing.T, path string, s Site, sc debuginfo.Scope, function string, vars []string) (n int) {
	t.Helper()
	args := []string{"-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", fmt.Sprintf("break *%#x", s.Branch), "-ex", "run"}
	var asked []string
	for _, name := range vars {
		v, err := sc.Lookup(name)
		if err != nil {
			t.Errorf("%s in %s: %v", name, function, err)
			continue
		}
		if len(v.Loc.Pieces) == 1 && v.Loc.Pieces[0].Kind == debuginfo.InRegister {
			asked = append(asked, name)
			args = append(args, "-ex", fmt.Sprintf("printf \"ours %s %%ld\\n\", (long)$%s", name, gdbRegs[v.Loc.Pieces[0].Reg]))
		}
	}
	for range 4 { // outwards through the inlined frames
		for _, name := range asked {
			args = append(args, "-ex", fmt.Sprintf("printf \"gdb %s %%ld\\n\", (long)%s", name, name))
		}
		args = append(args, "-ex", "up")
	}
	cmd := exec.Command("gdb", append(args, path)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
	out, _ := cmd.CombinedOutput() // commands for names that a frame does not have fail
	ours, theirs := map[string]string{}, map[string][]string{}
	for _, l := range strings.Split(string(out), "\n") {
		w := strings.Fields(l)
		if len(w) == 3 && w[0] == "ours" {
			ours[w[1]] = w[2]
		} else if len(w) == 3 && w[0] == "gdb" {
			theirs[w[1]] = append(theirs[w[1]], w[2])
		}
	}
	for _, name := range asked {
		if !slices.Contains(theirs[name], ours[name]) || ours[name] == "" {
			t.Errorf("%s at %#x: %s is %q, GDB has %q\n%s", function, s.Branch, name, ours[name], theirs[name], out)
			continue
		}
		n++
	}
	return n
}

func TestNoKernel(t *testing.T) {
	f, err := elf.Open("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Find(f); !errors.Is(err, ErrNoTracepoints) {
		t.Error(err)
	}
}

// FuzzFind damages the table, the code and the symbols.
func FuzzFind(f *testing.F) {
	path := build(f, "-O2")
	image, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	e, err := elf.New(path, image)
	if err != nil {
		f.Fatal(err)
	}
	var parts []elf.Section
	for _, n := range []string{tableSection, ".text", ".symtab", ".strtab", ".data"} {
		s, ok := e.Section(n)
		if !ok {
			f.Fatal("no section " + n)
		}
		parts = append(parts, s)
	}
	f.Add(uint8(0), uint32(4), uint64(0xffffffff7fffffff))
	f.Add(uint8(1), uint32(64), uint64(0xe8e8e8e8e8e8e8e8))
	f.Add(uint8(2), uint32(8), uint64(1)<<63)
	f.Fuzz(func(t *testing.T, part uint8, at uint32, v uint64) {
		s := parts[int(part)%len(parts)]
		d := bytes.Clone(image)
		binary.LittleEndian.PutUint64(d[s.Offset+uint64(at)%(s.Size-8):], v)
		g, err := elf.New(path, d)
		if err != nil {
			return
		}
		sites, err := Find(g)
		if err != nil {
			return
		}
		for _, x := range sites.List {
			if !g.IsCode(x.Branch) || x.Nop != 0 && !g.IsCode(x.Nop) || x.Event == "" {
				t.Fatalf("%+v is not in the code", x)
			}
		}
	})
}
