package test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
)

// entryBuilds are the builds in which every function is compared at its entry. Those after the first lines
// run only with JALON_FULL.
var entryBuilds = []struct {
	src, flags string
	more       bool
}{
	{"entries.c", "gcc -O1 -gdwarf-4", false},
	{"entries.c", "gcc -O2 -gdwarf-5", false},
	{"entries.c", "gcc -O3 -gdwarf-5 -flto", false},
	{"entries.c", "clang -O2 -gdwarf-5", false},
	{"vars.c", "gcc -O2 -gdwarf-5", false},
	{"vars.c", "clang -O2 -gdwarf-4", false},

	{"entries.c", "gcc -O1 -gdwarf-5", true},
	{"entries.c", "gcc -O2 -gdwarf-4 -fno-pie -no-pie", true},
	{"entries.c", "gcc -O3 -gdwarf-4", true},
	{"entries.c", "gcc -Os -gdwarf-5", true},
	{"entries.c", "gcc -O2 -gdwarf-4 -flto -flto-partition=one", true},
	{"entries.c", "clang -O1 -gdwarf-4", true},
	{"entries.c", "clang -O3 -gdwarf-4", true},
	{"entries.c", "clang -O2 -gdwarf-5 -flto", true},
	{"vars.c", "gcc -O1 -gdwarf-4", true},
	{"vars.c", "gcc -O3 -gdwarf-5 -flto", true},
	{"vars.c", "clang -O3 -gdwarf-5", true},
}

// TestOracleEntries compares jalon and GDB at the place of a function's name (GDB: its breakpoint), for
// every function of a program: the function, the arguments and the locals. JALON_ORACLE_PROGRAM="PROGRAM
// ARG..." adds another program.
func TestOracleEntries(t *testing.T) {
	for _, b := range entryBuilds {
		if b.more && !full {
			continue
		}
		t.Run(b.src+" "+b.flags, func(t *testing.T) {
			s := newSubject(t, b.src, b.flags)
			s.compareEntries(len(s.functions()))
		})
	}
	if extra := strings.Fields(os.Getenv("JALON_ORACLE_PROGRAM")); len(extra) > 0 {
		t.Run(filepath.Base(extra[0]), func(t *testing.T) {
			s := subjectOf(t, extra[0], "")
			s.args = extra[1:]
			s.compareEntries(1)
		})
	}
}

// entryPoint is a point that is named by a function.
type entryPoint struct {
	name string
	addr uint64
}

// compareEntries compares at least as many places.
func (s *subject) compareEntries(least int) {
	start := time.Now()
	points := map[entryPoint]*point{}
	var names []string
	without := 0
	for _, f := range s.mod.Functions("*") {
		if f.Name == "" || f.FromSymbols || len(names) > 0 && names[len(names)-1] == f.Name {
			continue
		}
		if strings.ContainsAny(f.Name, "<( ") { // a tracepoint file has no notation for it
			without++
			continue
		}
		sites, err := s.mod.FuncSites(f.Name)
		if err != nil {
			if strings.Contains(f.Name, "::") { // a constructor that is inlined everywhere
				without++
				continue
			}
			s.t.Errorf("%s: %v", f.Name, err)
			continue
		}
		names = append(names, f.Name)
		for _, x := range sites {
			points[entryPoint{f.Name, x.Addr + s.bias}] = s.entry(x)
		}
	}
	theirs := s.gdbEntries(names)
	ours := s.jalonEntries(names)
	c := &comparison{s: s, counts: map[string]int{}, hits: map[uint64]int{}}
	if without > 0 {
		c.counts["names that are no places"] = without
	}
	inlined := 0
	for at, g := range theirs {
		p, h := points[at], ours[at]
		switch {
		case p == nil:
			c.counts["GDB only"]++ // places are compared by TestOracleAddresses
		case h == nil:
			s.t.Errorf("%s at %#x (%s): GDB stops there, jalon has no event", at.name, at.addr, c.where(at.addr))
		default:
			if sc, err := s.mod.ScopeAt(at.addr - s.bias); err != nil || sc.FuncName() != p.fn {
				inlined++
			}
			c.elsewhere(p, g)
			c.stop(p, &g.gdbStop, h)
		}
	}
	for _, x := range c.suspects {
		if x.want == "<optimized out>" && strings.Contains(s.flags, "-flto") {
			c.counts["known: GDB does not find static variables of gcc -flto"]++
			continue
		}
		c.counts["different"]++
		s.t.Error(x.text)
	}
	if len(theirs) < least {
		s.t.Errorf("only %d places compared", len(theirs))
	}
	s.t.Logf("%d functions, %d places (%d begin with an inlined function), %s; %v", len(names), len(theirs), inlined, c.tally(), time.Since(start).Round(time.Millisecond))
}

// elsewhere removes the locals that GDB lists without a value and jalon does not list: those of blocks
// around other code (for a function inlined by clang, GDB shows them everywhere), and labels.
func (c *comparison) elsewhere(p *point, g *gdbEntry) {
	g.Locals = slices.DeleteFunc(g.Locals, func(n named) bool {
		ours := slices.ContainsFunc(p.locals, func(v *debuginfo.Variable) bool { return v.Name == n.name })
		drop := !ours && (n.a.V != nil && *n.a.V == "<optimized out>" || strings.HasPrefix(n.a.E, "No symbol"))
		if drop {
			c.counts["not in scope"]++
		}
		return drop
	})
}

func (s *subject) entry(x dwarf.Site) *point {
	sc, err := s.mod.ScopeForSite(x)
	if err != nil {
		s.t.Fatal(err)
	}
	if sc.FuncName() != x.Func {
		s.t.Errorf("%#x: the scope is that of %s, the event's function is %s", x.Addr, sc.FuncName(), x.Func)
	}
	p := &point{addr: x.Addr + s.bias, fn: x.Func, args: sc.Args(), locals: sc.Locals(), gone: map[string]string{}, missing: map[string]string{}}
	p.refuse(sc, s.bias)
	return p
}

type gdbEntry struct {
	gdbStop
	Place string
}

// gdbEntries runs entries.py.
func (s *subject) gdbEntries(names []string) map[entryPoint]*gdbEntry {
	s.t.Helper()
	job, out := filepath.Join(s.dir, "job"), filepath.Join(s.dir, "stops")
	b, err := json.Marshal(map[string]any{"prog": s.prog, "args": append([]string{}, s.args...), "names": names, "out": out})
	if err == nil {
		err = os.WriteFile(job, b, 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("gdb", "-nx", "-batch", "-x", "testdata/entries.py")
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "DEBUGINFOD_URLS=", "JOB="+job)
	log, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(log), "Traceback") {
		s.t.Fatalf("gdb: %v\n%s", err, lastPart(string(log), 2000))
	}
	f, err := os.Open(out)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	stops := map[entryPoint]*gdbEntry{}
	for d := json.NewDecoder(bufio.NewReader(f)); d.More(); {
		st := &gdbEntry{}
		if err := d.Decode(st); err != nil {
			s.t.Fatal(err)
		}
		if st.Unexpected {
			s.t.Fatalf("GDB stopped at %#x, where there is no breakpoint", st.PC)
		}
		stops[entryPoint{st.Place, st.PC}] = st
	}
	return stops
}

// jalonEntries are the first events of all functions.
func (s *subject) jalonEntries(names []string) map[entryPoint]*hit {
	s.t.Helper()
	var file strings.Builder
	for _, n := range names {
		fmt.Fprintf(&file, "trace %s\n  actions\n    collect $rip/x, $args, $locals\n  end\n", n)
	}
	first := map[entryPoint]*hit{}
	hits := s.jalon(file.String())
	for i := range hits {
		h := &hits[i]
		if at := (entryPoint{h.place, h.pc}); first[at] == nil {
			first[at] = h
		}
	}
	return first
}
