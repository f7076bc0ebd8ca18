package patch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// sweepPrograms are those whose functions are planned. More can be named in
// JALON_SWEEP, separated by colons.
func sweepPrograms(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, path := range append([]string{
		"/usr/lib/x86_64-linux-gnu/libc.so.6", "/bin/bash", "/usr/bin/python3.11",
		"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0",
	}, filepath.SplitList(os.Getenv("JALON_SWEEP"))...) {
		if _, err := os.Stat(path); err == nil {
			out = append(out, path)
		}
	}
	if len(out) < 2 {
		t.Fatal("neither libc nor bash found: nothing to sweep")
	}
	return out
}

// knownTargets lists the targets of all direct branches as objdump sees them.
func knownTargets(t testing.TB, path string) []uint64 {
	var out []uint64
	objdump(t, path, func(l line) {
		if in, err := Decode(l.code, l.addr); err == nil && in.Target != 0 {
			out = append(out, in.Target)
		}
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// TestSweep plans a site at the entry of every function of real programs, at every source line in the line
// tables, and at every instruction of a sample of functions. No plan may cover a branch target in objdump's
// output, and every plan must be emitted and jump back.
func TestSweep(t *testing.T) {
	for _, path := range sweepPrograms(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			p := openProgram(t, path)
			s := sweeper{t: t, p: p, targets: knownTargets(t, path), codes: map[uint64]*Code{}}
			entries, lines, all := newTally(), newTally(), newTally()
			for i, f := range p.funcs {
				s.plan(f.addr, entries)
				if i%8 == 0 {
					if c := s.code(f); c != nil {
						for _, in := range c.analyse().insts {
							s.plan(in.Addr, all)
						}
					}
				}
			}
			for _, a := range p.lines {
				s.plan(a, lines)
			}
			t.Logf("%d functions (%s)", len(p.funcs), s.opaque())
			t.Logf("entries:      %s", entries)
			t.Logf("lines:        %s", lines)
			t.Logf("instructions: %s", all)
			logCounts(t, "refused altogether", s.refused)
		})
	}
}

type tally struct {
	n      int
	tactic [numTactics]int
	none   int
}

func newTally() *tally { return new(tally) }

func (c *tally) String() string {
	if c.n == 0 {
		return "none known"
	}
	pc := func(n int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(c.n)) }
	return fmt.Sprintf("%d sites: jump %s, several %s, pun %s, int3 %s, refused %s", c.n,
		pc(c.tactic[Jump]), pc(c.tactic[JumpMany]), pc(c.tactic[Pun]), pc(c.tactic[Trapping]), pc(c.none))
}

type sweeper struct {
	t       *testing.T
	p       *program
	targets []uint64
	codes   map[uint64]*Code
	refused map[string]int
}

func (s *sweeper) code(f funcSym) *Code {
	c, ok := s.codes[f.addr]
	if !ok {
		c = s.p.code(f)
		s.codes[f.addr] = c
	}
	return c
}

// opaque counts the functions that are not understood.
func (s *sweeper) opaque() string {
	wild, broken := 0, 0
	for _, c := range s.codes {
		if c == nil {
			continue
		}
		if a := c.analyse(); a.broken != "" {
			broken++
		} else if a.wild != "" {
			wild++
		}
	}
	return fmt.Sprintf("%d with an indirect jump not understood, %d not decoded", wild, broken)
}

func (s *sweeper) plan(addr uint64, c *tally) {
	f, ok := s.p.funcAt(addr)
	code := s.code(f)
	if !ok || code == nil {
		return
	}
	c.n++
	p, err := Make(code, addr, Options{Boundary: true, Pun: true})
	if err != nil {
		c.none++
		if s.refused == nil {
			s.refused = map[string]int{}
		}
		s.refused[err.Error()]++
		return
	}
	s.check(p)
	if p.Tactic == Pun { // counted under its tactic without punning
		if q, err := Make(code, addr, Options{Boundary: true}); err != nil || q.Tactic != Trapping {
			s.t.Errorf("%#x: without punning: %v %v", addr, q, err)
		}
	}
	c.tactic[p.Tactic]++
}

// check verifies a plan against objdump's branch targets and emits it.
func (s *sweeper) check(p *Plan) {
	if p.Tactic == Jump || p.Tactic == JumpMany {
		i, _ := slices.BinarySearch(s.targets, p.Addr+1)
		if i < len(s.targets) && s.targets[i] < p.Addr+uint64(p.Len) {
			s.t.Errorf("%#x: %s of %d bytes covers the branch target %#x", p.Addr, p.Tactic, p.Len, s.targets[i])
		}
		if p.Len < jumpLen {
			s.t.Errorf("%#x: %d bytes for a jump", p.Addr, p.Len)
		}
	}
	at := p.Addr&^0xfff + 0x1000000
	code, pcs, err := p.Emit(at, nil)
	if err != nil || len(pcs) == 0 {
		s.t.Errorf("%#x: %v", p.Addr, err)
		return
	}
	if !p.Reach(at, len(code)) && p.Tactic != Pun {
		s.t.Errorf("%#x: emitted, but not in reach", p.Addr)
	}
	decodesTo(s.t, code, at)
}

// decodesTo checks that emitted code decodes again, apart from the pool of a far
// jump.
func decodesTo(t *testing.T, code []byte, at uint64) {
	t.Helper()
	for off := 0; off < len(code); {
		in, err := Decode(code[off:], at+uint64(off))
		if err != nil {
			t.Errorf("emitted % x: %v", code, err)
			return
		}
		off += in.Len
	}
}
