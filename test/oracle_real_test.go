package test

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestOracleReal compares values at random places of programs that were not written for
// jalon: JALON_ORACLE_REAL names them, each with its arguments, separated by semicolons.
// scripts/oracle-real.sh builds some and sets it. JALON_ORACLE_SEED chooses the places,
// JALON_ORACLE_PLACES how many of them.
func TestOracleReal(t *testing.T) {
	list := os.Getenv("JALON_ORACLE_REAL")
	if list == "" {
		t.Skip("no programs are named: scripts/oracle-real.sh builds some")
	}
	seed, _ := strconv.ParseInt(os.Getenv("JALON_ORACLE_SEED"), 10, 64)
	number, err := strconv.Atoi(os.Getenv("JALON_ORACLE_PLACES"))
	if err != nil {
		number = 400
	}
	for _, line := range strings.Split(list, ";") {
		args := strings.Fields(line)
		if len(args) == 0 {
			continue
		}
		t.Run(filepath.Base(args[0]), func(t *testing.T) {
			start := time.Now()
			s := subjectOf(t, args[0], filepath.Base(args[0]))
			s.args, s.real = args[1:], true
			points := s.points(s.seldomHit(s.randomAddresses(rand.New(rand.NewSource(seed)), number)))
			theirs := s.gdb(points, hitsLooked)
			ours := s.jalonValues(points)
			c := &comparison{s: s}
			c.run(points, theirs, ours)
			t.Logf("%d addresses, %d stops, %s; %v", len(points), len(theirs), c.tally(), time.Since(start).Round(time.Millisecond))
		})
	}
}

// randomAddresses are run-time addresses of random functions: of their entries, the ends of
// their prologues, of random lines and instructions.
func (s *subject) randomAddresses(r *rand.Rand, number int) []uint64 {
	s.t.Helper()
	all := s.mod.Functions("*")
	files := map[string][]int{}
	instructions := map[uint64][]uint64{} // by function
	list, at := s.allInstructions(), 0
	for _, f := range all {
		at, _ = slices.BinarySearch(list, f.Lo)
		end, _ := slices.BinarySearch(list, f.Hi)
		instructions[f.Lo] = list[at:end]
	}
	seen := map[uint64]bool{}
	for tries := 0; len(seen) < number && tries < 20*number; tries++ {
		f := all[r.Intn(len(all))]
		switch r.Intn(4) {
		case 0:
			if x, err := s.mod.FuncEntry(f.Name); err == nil {
				seen[x[0].Addr] = true
			}
		case 1:
			if x, err := s.mod.FuncSites(f.Name); err == nil {
				for _, y := range x[:min(len(x), 3)] {
					seen[y.Addr] = true
				}
			}
		case 2:
			file := filepath.Base(f.File)
			if files[file] == nil {
				files[file] = s.mod.Lines(file)
			}
			if n := len(files[file]); n > 0 {
				if x, err := s.mod.LineSites(file, files[file][r.Intn(n)]); err == nil {
					for _, y := range x[:min(len(x), 3)] {
						seen[y.Addr] = true
					}
				}
			}
		case 3:
			if own := instructions[f.Lo]; len(own) > 0 {
				seen[own[r.Intn(len(own))]] = true
			}
		}
	}
	var out []uint64
	for a := range seen {
		code, err := s.mod.Text(a, 1)
		// See addresses.
		if _, known := s.mod.FunctionAt(a); known && err == nil && code[0] != 0xc4 && code[0] != 0xc5 {
			if sc, err := s.mod.ScopeAt(a); err == nil && sc.HasDebugInfo() {
				out = append(out, a+s.bias)
			}
		}
	}
	slices.Sort(out)
	return out
}

// allInstructions are the vaddrs of the instructions of .text, but for nops.
func (s *subject) allInstructions() (list []uint64) {
	for _, line := range strings.Split(run(s.t, "objdump", "-d", "--no-show-raw-insn", "-j", ".text", s.prog).stdout, "\n") {
		head, text, ok := strings.Cut(line, ":\t")
		if !ok || strings.Contains(text, "nop") || strings.HasPrefix(text, "data16") || strings.HasPrefix(text, "xchg   %ax,%ax") {
			continue
		}
		if a, err := strconv.ParseUint(strings.TrimSpace(head), 16, 64); err == nil {
			list = append(list, a)
		}
	}
	return list
}

// hitsAllowed is how often a place may be hit: GDB stops there once and again, and jalon
// records all of them.
const hitsAllowed = 300

// seldomHit leaves out places that are hit too often.
func (s *subject) seldomHit(addrs []uint64) []uint64 {
	var file strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&file, "trace *%#x\n  actions\n    collect $rip/x\n  end\n", a)
	}
	count := map[uint64]int{}
	for _, h := range s.jalon(file.String()) {
		count[h.pc]++
	}
	return slices.DeleteFunc(addrs, func(a uint64) bool { return count[a] == 0 || count[a] > hitsAllowed })
}
