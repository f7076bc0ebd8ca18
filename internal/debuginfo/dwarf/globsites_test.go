package dwarf

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestGlobSites: a glob means what the names that it matches mean, one by one; without
// debug information too, where a demangled name is no symbol's.
func TestGlobSites(t *testing.T) {
	for _, v := range []variant{{"g++", "-O0 -gdwarf-5"}, {"g++", "-O2 -gdwarf-4"}, {"clang++", "-O2 -gdwarf-5"}} {
		t.Run(v.String(), func(t *testing.T) {
			prog := build(t, v, "prog.cc")
			stripped := filepath.Join(t.TempDir(), "stripped")
			if out, err := exec.Command("strip", "-g", "-o", stripped, prog).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for _, path := range []string{prog, stripped} {
				m := open(t, path)
				for _, glob := range []string{"geo::*", "*area*", "*", "_ZN3geo*"} {
					for _, entry := range []bool{false, true} {
						got, err := m.GlobSites(glob, entry, nil)
						if err != nil {
							t.Fatal(err)
						}
						var want []uint64
						for _, f := range m.Functions(glob) {
							find := m.FuncSites
							if entry {
								find = m.FuncEntry
							}
							// The linkage name means this function alone.
							sites, err := find(f.Linkage)
							if err != nil || len(f.Ranges) == 0 {
								sites, _ = find(f.Name)
							}
							if !entry && f.Inlined > 0 {
								more, _ := find(f.Name)
								sites = append(sites, more...)
							}
							for _, s := range sites {
								want = append(want, s.Addr)
							}
						}
						slices.Sort(want)
						want = slices.Compact(want)
						for _, a := range addrs(got) {
							if !slices.Contains(want, a) {
								t.Errorf("%s %q: %#x belongs to no function that is listed", filepath.Base(path), glob, a)
							}
						}
						for _, f := range m.Functions(glob) { // each function that has code has a site
							if len(f.Ranges) == 0 || f.FromSymbols && f.Lo == 0 {
								continue
							}
							if !slices.ContainsFunc(got, func(s Site) bool { return s.Addr >= f.Lo && s.Addr < f.Hi }) {
								t.Errorf("%s %q: %s at %#x has no site", filepath.Base(path), glob, f.Name, f.Lo)
							}
						}
						if len(got) == 0 {
							t.Errorf("%s %q: no sites", filepath.Base(path), glob)
						}
					}
				}
			}
		})
	}
}

// TestGlobCancelled: the search for a pattern ends where the caller wants it, also while symbols are listed.
func TestGlobCancelled(t *testing.T) {
	m := open(t, build(t, variant{"g++", "-O0 -g -static"}, "prog.cc")) // thousands of symbols
	all := 0
	if _, err := m.GlobSites("geo::*", true, func() error { all++; return nil }); err != nil || all < 10 {
		t.Fatalf("%v, %d checks", err, all)
	}
	cancelled := errors.New("cancelled")
	for end := 1; end <= all; end += 1 + all/20 {
		n := 0
		sites, err := m.GlobSites("geo::*", true, func() error {
			if n++; n >= end {
				return cancelled
			}
			return nil
		})
		if err != cancelled || sites != nil || n != end {
			t.Errorf("cancelled at check %d of %d: %v, %d sites, %d checks", end, all, err, len(sites), n)
		}
	}
}

// TestDemangledNames: names with scopes are found in a program without debug
// information.
func TestDemangledNames(t *testing.T) {
	prog := build(t, variant{"g++", "-O0 -g0"}, "prog.cc")
	m := open(t, prog)
	for _, f := range m.Functions("geo::*") {
		sites, err := m.FuncEntry(f.Name)
		if err != nil || !slices.Contains(addrs(sites), f.Lo) {
			t.Errorf("%s: %#x, %v; it is at %#x", f.Name, addrs(sites), err, f.Lo)
		}
	}
	if s, err := m.FuncEntry("geo::Shape::area"); err != nil || len(s) == 0 {
		t.Errorf("without its parameters: %v, %v", s, err)
	}
	stop := errors.New("enough")
	n := 0
	w := globWork{check: func() error { n++; return stop }}
	for !w.stopped() {
	}
	if n != 1 || w.err != stop {
		t.Errorf("asked %d times, %v", n, w.err)
	}
}
