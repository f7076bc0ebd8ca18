package dwarf

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

var (
	bpHead = regexp.MustCompile(`^(\d+)\s+breakpoint\s+keep y\s+(<MULTIPLE>|0x[0-9a-f]+)`)
	bpLoc  = regexp.MustCompile(`^(\d+)\.\d+\s+y\s+(0x[0-9a-f]+)`)
)

// gdbBreaks returns GDB's addresses for each place; none if GDB refuses it.
func gdbBreaks(t testing.TB, prog string, places []string) map[string][]uint64 {
	t.Helper()
	var cmds []string
	for i, p := range places {
		cmds = append(cmds, fmt.Sprintf("echo @%d\\n", i), "python\ntry:\n  gdb.execute('tbreak "+p+"')\nexcept gdb.error as e:\n  print('ERR', e)\nend")
	}
	cmds = append(cmds, "info breakpoints")
	out := gdb(t, prog, cmds...)
	num := map[string]string{} // breakpoint number -> place
	res := map[string][]uint64{}
	cur := ""
	set := regexp.MustCompile(`^Temporary breakpoint (\d+) at`)
	for _, l := range strings.Split(out, "\n") {
		l = strings.Replace(l, "breakpoint     del  y", "breakpoint     keep y", 1)
		l = strings.Replace(l, " del  y ", " keep y ", 1)
		if strings.HasPrefix(l, "@") {
			i, _ := strconv.Atoi(l[1:])
			cur = places[i]
		} else if m := set.FindStringSubmatch(l); m != nil {
			num[m[1]] = cur
		} else if m := bpHead.FindStringSubmatch(l); m != nil && m[2] != "<MULTIPLE>" {
			a, _ := strconv.ParseUint(m[2][2:], 16, 64)
			res[num[m[1]]] = append(res[num[m[1]]], a)
		} else if m := bpLoc.FindStringSubmatch(l); m != nil {
			a, _ := strconv.ParseUint(m[2][2:], 16, 64)
			res[num[m[1]]] = append(res[num[m[1]]], a)
		}
	}
	for p, a := range res {
		slices.Sort(a)
		res[p] = slices.Compact(a)
	}
	return res
}

func addrs(sites []Site) (out []uint64) {
	for _, s := range sites {
		out = append(out, s.Addr)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestSitesAgreeWithGDB compares function and line places with GDB's
// breakpoints, for every function and line of the test programs.
func TestSitesAgreeWithGDB(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			prog := build(t, v, "prog.c", "other.c")
			m := open(t, prog)
			compareSites(t, m, prog, []string{
				"count_to", "walk", "sum_all", "mixed", "choose", "vla", "empty",
				"failed", "aligned", "checked", "main", "twice", "thrice", "from_header", "other", "nonsense", "_start", "_init",
			},
				[]string{"prog.c", "other.c", "shared.h"})
		})
	}
}

func compareSites(t *testing.T, m *Module, prog string, funcs, files []string) {
	t.Helper()
	places := slices.Clone(funcs)
	for _, f := range files {
		b, err := os.ReadFile("testdata/" + f)
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.Count(string(b), "\n") + 3 {
			places = append(places, f+":"+strconv.Itoa(l+1))
		}
	}
	want := gdbBreaks(t, prog, places)
	n := 0
	for _, p := range places {
		var got []Site
		var err error
		if file, line, ok := strings.Cut(p, ":"); ok {
			l, _ := strconv.Atoi(line)
			got, err = m.LineSites(file, l)
		} else {
			got, err = m.FuncSites(p)
		}
		var nf *debuginfo.NotFoundError
		if err != nil && !errors.As(err, &nf) {
			t.Errorf("%s: %v", p, err)
		}
		n += len(got)
		if !slices.Equal(addrs(got), want[p]) {
			t.Errorf("%s: got %#x, GDB has %#x", p, addrs(got), want[p])
		}
	}
	if n < 20 {
		t.Errorf("only %d sites compared", n)
	}
}

// TestMovedLines: where a line has no code, Asked and ActualLine say so, and Begins whether a function begins between the
// two, as the source shows it. Optimised code of a function may have no entry in the debug information; without
// optimisation the source decides.
func TestMovedLines(t *testing.T) {
	heading := regexp.MustCompile(`^[a-z_][^;=]*\([^;]*$`)
	for _, v := range variants {
		m := open(t, build(t, v, "prog.c", "other.c"))
		moved, begins := 0, 0
		for _, file := range []string{"prog.c", "other.c", "shared.h"} {
			b, err := os.ReadFile("testdata/" + file)
			if err != nil {
				t.Fatal(err)
			}
			source := strings.Split(string(b), "\n")
			code := m.Lines(file)
			for line := 1; line <= len(source); line++ {
				sites, err := m.LineSites(file, line)
				if err != nil {
					continue
				}
				for _, s := range sites {
					if has := slices.Contains(code, line); has != (s.Asked == 0) || has != (s.Moved() == 0) || !has && s.Asked != line {
						t.Errorf("%v: %s:%d: asked %d, moved %d", v, file, line, s.Asked, s.Moved())
					}
					if s.Asked == 0 {
						continue
					}
					moved++
					want := 0
					for n := line + 1; n <= min(s.ActualLine, len(source)); n++ {
						if heading.MatchString(source[n-1]) {
							want = n
						}
					}
					if s.Begins > 0 {
						begins++
					}
					if s.Begins > 0 && !(line < s.Begins && s.Begins <= s.ActualLine && heading.MatchString(source[s.Begins-1])) ||
						s.Begins == 0 && want > 0 && (strings.Contains(v.String(), "-O0") || s.Func != "twice" && s.Func != "other") {
						t.Errorf("%v: %s:%d: line %d, in %s, which begins at line %d; the source has %d", v, file, line, s.ActualLine, s.Func, s.Begins, want)
					}
				}
			}
		}
		if moved < 10 || begins < 5 {
			t.Errorf("%v: only %d lines without code, %d of them before a function", v, moved, begins)
		}
	}
}

// TestScopeForSite looks at places whose line is a call that was inlined.
func TestScopeForSite(t *testing.T) {
	found := false
	for _, v := range variants {
		m := open(t, build(t, v, "prog.c", "other.c"))
		for _, l := range m.Lines("prog.c") {
			sites, err := m.LineSites("prog.c", l)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range sites {
				a, err := m.ScopeAt(s.Addr)
				b, err2 := m.ScopeForSite(s)
				if err != nil || err2 != nil {
					t.Fatal(err, err2)
				}
				if a.FuncName() == b.FuncName() {
					continue
				}
				found = true
				// Line 77 is `int step = thrice(i);` in count_to, line 63 the call of twice in thrice.
				if l == 63 && b.FuncName() != "thrice" || l == 77 && b.FuncName() != "count_to" {
					t.Errorf("%v: prog.c:%d at %#x: scope of %s", v, l, s.Addr, b.FuncName())
				}
			}
		}
	}
	if !found {
		t.Error("no such place in any build")
	}
}

// TestNotFound checks the suggestions of failed look-ups.
func TestNotFound(t *testing.T) {
	m := open(t, build(t, variants[0], "prog.c", "other.c"))
	check := func(err error, what string, near ...string) {
		t.Helper()
		var nf *debuginfo.NotFoundError
		if !errors.As(err, &nf) || nf.What != what {
			t.Fatalf("%v", err)
		}
		for _, n := range near {
			if !slices.Contains(nf.Why().Nearest, n) {
				t.Errorf("%v: nearest %q lacks %q", err, nf.Nearest, n)
			}
		}
	}
	_, err := m.FuncSites("cont_to")
	check(err, "function", "count_to")
	_, err = m.LineSites("prgo.c", 3)
	check(err, "source file", "prog.c")
	_, err = m.LineSites("prog.c", 100000)
	check(err, "line")
	f, err := m.FuncSites("count_to")
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.ScopeAt(f[0].Addr)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Lookup("limt")
	check(err, "variable", "limit")
	_, err = s.Lookup("global_aray")
	check(err, "variable", "global_array")
	_, err = s.Type(1, "nod_t")
	if err == nil {
		t.Error("a type that is not there was found")
	}
}

// TestStripped looks at a program without symbols: bounds come from the call
// frame information, and the messages say what is missing.
func TestStripped(t *testing.T) {
	prog := build(t, variants[1], "prog.c", "other.c")
	whole := open(t, prog)
	p := t.TempDir() + "/stripped"
	run(t, "strip", "-o", p, prog)
	m := open(t, p)
	w, err := whole.FuncEntry("walk")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := whole.FunctionAt(w[0].Addr)
	got, ok := m.FunctionAt(w[0].Addr + 3)
	if !ok || got.Lo != want.Lo || got.Hi != want.Hi || !got.FromSymbols {
		t.Errorf("got %+v, want %+v", got, want)
	}
	s, err := m.ScopeAt(w[0].Addr)
	if err != nil || s.HasDebugInfo() || len(s.CFA()) == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := s.Lookup("n"); err == nil || !strings.Contains(err.Error(), "no debug information") {
		t.Error(err)
	}
	if m.HasDebugInfo() || m.WhyNoDebugInfo() == "" {
		t.Error("why there is no debug information is not said")
	}
}

// TestFunctionList compares the list of functions with the symbol table.
func TestFunctionList(t *testing.T) {
	prog := build(t, variants[1], "prog.c", "other.c")
	m := open(t, prog)
	have := map[uint64]bool{}
	inlined := 0
	for _, f := range m.Functions("*") {
		if f.Ranges != nil {
			have[f.Lo] = true
		}
		if f.Name == "twice" || f.Name == "thrice" || f.Name == "from_header" {
			inlined += f.Inlined
		}
	}
	if inlined < 4 {
		t.Errorf("%d inlined copies counted", inlined)
	}
	for _, l := range strings.Split(run(t, "nm", prog), "\n") {
		f := strings.Fields(l)
		if len(f) == 3 && (f[1] == "T" || f[1] == "t") && !strings.HasSuffix(f[2], ".cold") {
			if a, _ := strconv.ParseUint(f[0], 16, 64); !have[a] {
				t.Errorf("%s at %#x is not listed", f[2], a)
			}
		}
	}
	if got := m.Functions("count_*"); len(got) != 1 || got[0].Name != "count_to" || got[0].Line != 71 || got[0].FromSymbols {
		t.Errorf("count_*: %+v", got)
	}
}

// TestErrors opens files that are not x86-64 ELF files.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ content, want string }{
		"text":  {"#!/bin/sh\necho hello world, this is a script\n", "not an ELF file"},
		"empty": {"", "empty"},
		"elf32": {"\x7fELF\x01\x01\x01" + strings.Repeat("\x00", 60), "32-bit"},
		"arm":   {"\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\xb7\x00" + strings.Repeat("\x00", 60), "wrong architecture"},
	} {
		p := dir + "/" + name
		if err := os.WriteFile(p, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(p, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
	if _, err := Open(dir+"/none", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestTruncatedWhileOpen cuts a mapped file short: reading it must give errors,
// not kill the process.
func TestTruncatedWhileOpen(t *testing.T) {
	b, err := os.ReadFile(build(t, variants[0], "prog.c", "other.c"))
	if err != nil {
		t.Fatal(err)
	}
	p := t.TempDir() + "/prog"
	if err := os.WriteFile(p, b, 0o600); err != nil {
		t.Fatal(err)
	}
	m := open(t, p)
	if err := os.Truncate(p, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := m.FuncSites("count_to"); err == nil {
		t.Error("a file that is gone was read")
	}
	if _, err := m.LineSites("prog.c", 77); err == nil {
		t.Error("a file that is gone was read")
	}
	m.Functions("*")
	m.FunctionAt(0x1139)
	if _, err := m.Unwind(0x1139); err == nil {
		t.Error("a file that is gone was read")
	}
}
