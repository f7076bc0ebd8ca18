package dwarf

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// TestCxx looks up C++ names, compares the places with GDB's and reads landing
// pads.
func TestCxx(t *testing.T) {
	for _, v := range []variant{{"g++", "-O0 -gdwarf-5"}, {"g++", "-O2 -gdwarf-4"}, {"clang++", "-O0 -gdwarf-5"}, {"clang++", "-O2 -gdwarf-5"}} {
		t.Run(v.String(), func(t *testing.T) {
			prog := build(t, v, "prog.cc")
			m := open(t, prog)
			names := []string{
				"risky", "geo::Shape::area", "Shape::area", "area", "geo::Base::area", "main",
				"geo::largest<int>", "largest", "hidden", "geo::nonsense",
			}
			want := gdbBreaks(t, prog, names)
			for _, n := range names {
				got, err := m.FuncSites(n)
				if !slices.Equal(addrs(got), want[n]) {
					t.Errorf("%s: got %#x (%v), GDB has %#x", n, addrs(got), err, want[n])
				}
			}
			pads(t, m)
			cxxTypes(t, m)
		})
	}
}

func pads(t *testing.T, m *Module) {
	f, err := m.FuncEntry("risky")
	if err != nil {
		t.Fatal(err)
	}
	fn, ok := m.FunctionAt(f[0].Addr)
	if !ok || fn.Name != "risky" && fn.Name != "risky(int)" {
		t.Fatalf("%+v", fn)
	}
	list, err := m.LandingPads(fn)
	if err != nil || len(list) == 0 {
		t.Errorf("landing pads %#x, %v", list, err)
	}
	for _, p := range list {
		if !slices.ContainsFunc(fn.Ranges, func(r rangeT) bool { return p >= r.Lo && p < r.Hi }) {
			t.Errorf("landing pad %#x is outside %+v", p, fn.Ranges)
		}
	}
}

func cxxTypes(t *testing.T, m *Module) {
	f, err := m.FuncSites("main")
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.ScopeAt(f[0].Addr)
	if err != nil {
		t.Fatal(err)
	}
	ty, err := s.Type(ctype.Struct, "geo::Shape")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range ty.Fields() {
		n := f.Name
		if f.Base {
			n = "<" + n + ">"
		}
		names = append(names, n)
	}
	if got := strings.Join(names, " "); got != "<geo::Base> w h ref" {
		t.Errorf("members of Shape: %s", got)
	}
	if r := ty.Fields()[3].Type; r.Strip().Kind != ctype.Reference {
		t.Errorf("ref is %+v", r)
	}
	if _, err := s.Type(ctype.Typedef, "geo::Shape"); err != nil {
		t.Error("a class name is a type name:", err)
	}
	if _, v, ok := s.Enumerator("geo::Mode::On"); !ok || v != 200 {
		t.Error("geo::Mode::On is", v, ok)
	}
	v, err := s.Lookup("geo::Shape::made")
	if err != nil || v.Loc.Unavailable != "" {
		t.Errorf("geo::Shape::made: %+v, %v", v, err)
	}
	if _, err := s.LookupIn("geo::Shape", "made"); err != nil {
		t.Error(err)
	}
}

type rangeT = debuginfo.Range

func TestRseq(t *testing.T) {
	for _, flags := range [][]string{{"-static", "-no-pie"}, {"-pie"}} {
		out := filepath.Join(t.TempDir(), "rseq")
		src, _ := filepath.Abs("testdata/rseq.S")
		run(t, "gcc", append(flags, "-nostdlib", src, "-o", out)...)
		m := open(t, out)
		got, err := m.RseqRanges()
		f, err2 := m.FuncEntry("_start")
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		at := f[0].Addr
		want := []rangeT{{Lo: at + 1, Hi: at + 11}, {Lo: at + 12, Hi: at + 16}}
		if !slices.Equal(got, want) {
			t.Errorf("%v: %#x, want %#x", flags, got, want)
		}
	}
}
