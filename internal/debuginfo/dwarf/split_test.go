package dwarf

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// compareScopes checks that two modules with the same code have the same variables at every line of the
// files.
func compareScopes(t *testing.T, a, b *Module, files ...string) {
	t.Helper()
	n := 0
	for _, f := range files {
		if !reflect.DeepEqual(a.Lines(f), b.Lines(f)) {
			t.Errorf("%s: lines %v and %v", f, a.Lines(f), b.Lines(f))
		}
		for _, l := range a.Lines(f) {
			x, err := a.LineSites(f, l)
			y, err2 := b.LineSites(f, l)
			if err != nil || err2 != nil || len(x) != len(y) {
				t.Fatalf("%s:%d: %v, %v; %v, %v", f, l, x, err, y, err2)
			}
			for i := range x {
				if x[i].meant > 0 && y[i].meant > 0 {
					x[i].meant, y[i].meant = 0, 0 // offsets, which differ
				}
				if x[i] != y[i] {
					t.Errorf("%s:%d: site %+v and %+v", f, l, x[i], y[i])
				}
				n += compareScope(t, a, b, x[i].Addr)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d variables compared", n)
	}
}

func compareScope(t *testing.T, a, b *Module, pc uint64) int {
	t.Helper()
	s1, err1 := a.ScopeAt(pc)
	s2, err2 := b.ScopeAt(pc)
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	v1, v2 := append(s1.Args(), s1.Locals()...), append(s2.Args(), s2.Locals()...)
	if len(v1) != len(v2) {
		t.Errorf("%#x: %d and %d variables", pc, len(v1), len(v2))
		return 0
	}
	for i := range v1 {
		same := v1[i].Name == v2[i].Name && v1[i].Line == v2[i].Line && v1[i].Kind == v2[i].Kind &&
			v1[i].Type.Kind == v2[i].Type.Kind && v1[i].Type.Size == v2[i].Type.Size &&
			// GCC rounds the ends of DWARF 4 split lists differently, so Elsewhere may differ.
			v1[i].Loc.Unavailable == v2[i].Loc.Unavailable && reflect.DeepEqual(v1[i].Loc.Pieces, v2[i].Loc.Pieces)
		if !same {
			t.Errorf("%#x: %+v and %+v", pc, v1[i], v2[i])
		}
	}
	return len(v1)
}

// TestSplit compares split DWARF (.dwo files, and a .dwp package) with the same
// program built whole.
func TestSplit(t *testing.T) {
	for _, cc := range []string{"gcc", "clang"} {
		for _, flags := range []string{"-O2 -gdwarf-5", "-O2 -gdwarf-4", "-O0 -gdwarf-5"} {
			t.Run(cc+" "+flags, func(t *testing.T) {
				whole := open(t, build(t, variant{cc, flags}, "prog.c", "other.c"))
				split := open(t, build(t, variant{cc, flags + " -gsplit-dwarf"}, "prog.c", "other.c"))
				compareScopes(t, whole, split, "prog.c", "other.c", "shared.h")
			})
		}
	}
}

func TestSplitMissing(t *testing.T) {
	src := build(t, variant{"gcc", "-O2 -gdwarf-5 -gsplit-dwarf -DMISSING"}, "prog.c", "other.c")
	dwos, _ := filepath.Glob(filepath.Join(filepath.Dir(src), "*.dwo"))
	for _, d := range dwos {
		os.Remove(d)
	}
	var warned []string
	m, err := Open(src, Options{Warn: func(s string) { warned = append(warned, s) }})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if _, err := m.LineSites("prog.c", 60); err != nil {
		t.Error("lines must work without the .dwo files:", err)
	}
	f, err := m.FuncSites("count_to")
	if err != nil || len(f) == 0 {
		t.Fatal("the symbol must be found without the .dwo files:", err)
	}
	if len(warned) == 0 || !strings.Contains(warned[0], "split DWARF") {
		t.Errorf("warnings: %q", warned)
	}
}

// TestSeparate compares separate debug files (debug link, build-id directory,
// supplementary dwz file) with the same program built whole.
func TestSeparate(t *testing.T) {
	for _, flags := range []string{"-O2 -gdwarf-5", "-O2 -gdwarf-4", "-O0 -gdwarf-4"} {
		v := variant{"gcc", flags + " -Wl,--build-id"}
		prog := build(t, v, "prog.c", "other.c")
		whole := open(t, prog)
		dir := t.TempDir()
		t.Run("debuglink "+flags, func(t *testing.T) {
			p := filepath.Join(dir, "a")
			run(t, "objcopy", "--only-keep-debug", prog, p+".debug")
			run(t, "objcopy", "--strip-all", "--remove-section=.note.gnu.build-id", "--add-gnu-debuglink="+p+".debug", prog, p)
			m := open(t, p)
			if m.DebugInfoFrom() != p+".debug" {
				t.Fatalf("debug information from %q: %s", m.DebugInfoFrom(), m.WhyNoDebugInfo())
			}
			compareScopes(t, whole, m, "prog.c", "other.c")
			if err := os.WriteFile(p+".debug", []byte("damaged"), 0o600); err != nil {
				t.Fatal(err)
			}
			m = open(t, p)
			if m.HasDebugInfo() || !strings.Contains(m.WhyNoDebugInfo(), "not an ELF file") {
				t.Errorf("a damaged debug file is used: %s", m.WhyNoDebugInfo())
			}
		})
		t.Run("build-id "+flags, func(t *testing.T) {
			id := whole.BuildID()
			sub := filepath.Join(dir, "debug", ".build-id", id[:2])
			if err := os.MkdirAll(sub, 0o700); err != nil {
				t.Fatal(err)
			}
			run(t, "objcopy", "--only-keep-debug", "--compress-debug-sections=zstd", prog, filepath.Join(sub, id[2:]+".debug"))
			p := filepath.Join(dir, "b")
			run(t, "objcopy", "--strip-all", prog, p)
			m, err := Open(p, Options{DebugDirs: []string{filepath.Join(dir, "debug")}})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			compareScopes(t, whole, m, "prog.c", "other.c")
		})
		t.Run("dwz "+flags, func(t *testing.T) {
			p, q := filepath.Join(dir, "c"), filepath.Join(dir, "d")
			other := build(t, variant{"gcc", flags + " -DSECOND -Wl,--build-id"}, "prog.c", "other.c")
			run(t, "cp", prog, p)
			run(t, "cp", other, q)
			run(t, "dwz", "-m", filepath.Join(dir, "common.debug"), "-r", p, q)
			m := open(t, p)
			if m.alt == nil {
				t.Fatal("no supplementary file in use")
			}
			compareScopes(t, whole, m, "prog.c", "other.c")
			compareTypes(t, whole, m)
			var warned string
			if err := os.Remove(filepath.Join(dir, "common.debug")); err != nil {
				t.Fatal(err)
			}
			m2, err := Open(p, Options{Warn: func(s string) { warned = s }})
			if err != nil {
				t.Fatal(err)
			}
			defer m2.Close()
			if !strings.Contains(warned, "common.debug") {
				t.Errorf("warning %q", warned)
			}
			if _, err := m2.FuncSites("count_to"); err != nil {
				t.Error(err)
			}
		})
		t.Run("dwz single "+flags, func(t *testing.T) {
			p := filepath.Join(dir, "e")
			run(t, "cp", prog, p)
			run(t, "dwz", p)
			compareScopes(t, whole, open(t, p), "prog.c", "other.c")
		})
	}
}

func compareTypes(t *testing.T, a, b *Module) {
	t.Helper()
	f, err := a.FuncEntry("main")
	if err != nil {
		t.Fatal(err)
	}
	s1, _ := a.ScopeAt(f[0].Addr)
	s2, _ := b.ScopeAt(f[0].Addr)
	scopes := []debuginfo.Scope{s1, s2}
	var text [2]string
	for i, s := range scopes {
		text[i] = describeTypes(t, s)
	}
	if text[0] != text[1] {
		t.Errorf("types differ:\n%s\n%s", text[0], text[1])
	}
}
