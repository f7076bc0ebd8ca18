package unwind

import (
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// frames reads the call frame information of a file.
func frames(t testing.TB, path string) *frame.Table {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	src := frame.Sources{Read: f.ReadVaddr}
	if s, ok := f.Section(".eh_frame"); ok && !s.NoBits {
		if src.EHFrame, err = f.Bytes(".eh_frame"); err != nil {
			t.Fatal(err)
		}
		src.EHFrameVaddr = s.Vaddr
	}
	src.HeaderVaddr, src.Header = f.EhFrameHdr()
	if b, err := f.Bytes(".debug_frame"); err == nil {
		src.DebugFrame = b
	}
	return frame.New(src)
}

const libc = "/usr/lib/x86_64-linux-gnu/libc.so.6"

// files are programs and libraries of several compilers.
func files(t testing.TB) []string {
	dir := t.TempDir()
	avx, goprog := filepath.Join(dir, "avx"), filepath.Join(dir, "goprog")
	for _, cmd := range [][]string{
		{"gcc", "-O3", "-mavx2", "-o", avx, "testdata/aligned.c"},
		{"go", "build", "-o", goprog, "./testdata/goprog"},
	} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	return []string{avx, goprog, libc, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"}
}

// TestTable: at the ends of every row of call frame information the table says what the information says in
// full, or that it cannot; and that it knows nothing between the entries.
func TestTable(t *testing.T) {
	for _, path := range files(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c := frames(t, path)
			table := Compile(c)
			if table == nil {
				t.Fatal("there is no table")
			}
			counts := map[Kind]int{}
			n, wrong, aligned := 0, 0, 0
			check := func(pc uint64) {
				r := table.Find(pc)
				counts[r.Kind()]++
				n++
				if why := disagrees(t, c, pc, r); why != "" && wrong < 10 {
					wrong++
					t.Errorf("%#x: %v: %s", pc, r, why)
				}
			}
			c.Each(func(e *frame.Entry) {
				_ = e.Rows(func(r *frame.Row) {
					fp, _ := r.Column(regFP)
					if fp.Kind == frame.AtExpr {
						if aligned++; r.CFAExpr == nil && r.CFAReg == regSP && r.CFAOff == wordSize {
							t.Errorf("%#x: the frame pointer is in the frame, of which only the return address is left", r.Lo)
						}
					}
					check(r.Lo)
					check(r.Hi - 1)
				})
				if c.Find(e.Hi) == nil {
					check(e.Hi)
				}
			})
			if filepath.Base(path) == "avx" && aligned == 0 {
				t.Error("no function aligns its stack")
			}
			t.Logf("%d rows, %d KiB; %d addresses: %v", table.Rows(), table.Size()>>10, n, counts)
			if general := counts[General]; n > 1000 && general*50 > n {
				t.Errorf("%d rules of %d are general", general, n)
			}
			if filepath.Base(path) == "avx" && counts[SavedByFP] == 0 {
				t.Error("gcc made no frame whose address is in memory")
			}
		})
	}
}

// disagrees compares a rule with what the call frame information says at pc.
func disagrees(t *testing.T, c *frame.Table, pc uint64, r Rule) string {
	e := c.Find(pc)
	if e == nil {
		return unless(r.Kind() == None, "nothing is known there")
	}
	full, err := e.Rule(pc)
	if err != nil {
		return unless(r.Kind() == General, err.Error())
	}
	ra, fp := full.Regs[full.RA], full.Regs[regFP]
	cfa := func(reg int, rest ...debuginfo.Op) bool {
		want := append([]debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(reg)}}, rest...)
		if k := r.Kind(); (k == BySP || k == ByFP) && r.Distance() == 0 {
			want = want[:1]
		}
		if len(want) != len(full.CFA) {
			return false
		}
		for i := range want {
			if want[i] != full.CFA[i] {
				return false
			}
		}
		return true
	}
	add := func(n uint64) debuginfo.Op { return debuginfo.Op{Code: debuginfo.OpAddConst, Arg: int64(n)} }
	deref := debuginfo.Op{Code: debuginfo.OpDeref, Arg: 8}
	returns := ra.Kind == frame.AtCFA && ra.Offset == -8
	_, hasFP := full.Regs[regFP]
	saved := r.Saved() == 0 && (!hasFP || fp.Kind == frame.SameValue) ||
		r.Saved() != 0 && fp.Kind == frame.AtCFA && fp.Offset == -int64(r.Saved())
	switch r.Kind() {
	case General:
		return ""
	case BySP:
		return unless(returns && saved && cfa(regSP, add(r.Distance())), full)
	case ByFP:
		return unless(returns && saved && cfa(regFP, add(r.Distance())), full)
	case SavedByFP:
		return unless(returns && fp.Kind == frame.AtExpr && cfa(regFP, add(-r.Distance()), deref), full)
	case Outermost:
		return unless(ra.Kind == frame.Undefined, full)
	case Signal:
		return unless(full.Signal && cfa(regSP, add(160), deref), full)
	}
	return "it is known there"
}

func unless(ok bool, want any) string {
	if ok {
		return ""
	}
	switch w := want.(type) {
	case string:
		return w
	case *frame.Rule:
		return fmt.Sprintf("%+v", w)
	}
	return "?"
}

// TestWalk follows a stack made by hand through each kind of frame.
func TestWalk(t *testing.T) {
	const base = 0x7000
	words := make([]uint64, 64)
	put := func(addr, v uint64) { words[(addr-base)/8] = v }
	rules := map[uint64]Rule{
		0x100:     NewRule(BySP, 16, 0),
		0x200 - 1: NewRule(ByFP, 16, 16),
		0x300 - 1: NewRule(SavedByFP, 8, 0),
		0x400 - 1: Rule(Signal),
		0x500:     NewRule(BySP, 8, 0), // interrupted: no byte before
		0x600 - 1: Rule(Outermost),
	}
	put(0x7008, 0x200)                // of 0x100: CFA 0x7010
	put(0x7038, 0x300)                // of 0x200: CFA fp+16 = 0x7040
	put(0x7030, 0x7060)               // its caller's fp
	put(0x7058, 0x7080)               // of 0x300: CFA is saved at fp-8
	put(0x7060, 0x1234)               // and the fp at fp
	put(0x7078, 0x400)                // the return address below it
	put(0x7080+signalPC, 0x500)       // of 0x400
	put(0x7080+signalSP, 0x7180)      //
	put(0x7080+signalFP, 0x5678)      //
	put(0x7180, 0x600)                // of 0x500
	mem := make([]byte, 8*len(words)) //
	for i, w := range words {
		binary.LittleEndian.PutUint64(mem[8*i:], w)
	}
	find := func(addr uint64) Rule { return rules[addr] }
	all := []uint64{0x100, 0x200, 0x300, 0x400, 0x500, 0x600}
	for _, tt := range []struct {
		name string
		mem  Memory
		room int
		drop uint64
		n    int
		end  End
	}{
		{"whole", Memory{Base: base, Bytes: mem}, 10, 0, 6, Whole},
		{"as much as fits", Memory{Base: base, Bytes: mem}, 6, 0, 6, Whole},
		{"deep", Memory{Base: base, Bytes: mem}, 4, 0, 4, Deep},
		{"short memory", Memory{Base: base, Bytes: mem[:0x30]}, 10, 0, 2, Unreadable},
		{"memory begins above", Memory{Base: base + 16, Bytes: mem[16:]}, 10, 0, 1, Unreadable},
		{"no table", Memory{Base: base, Bytes: mem}, 10, 0x300 - 1, 3, Unknown},
	} {
		rule, had := rules[tt.drop]
		delete(rules, tt.drop)
		got, end := Walk(Registers{0x100, base, 0x7030}, &tt.mem, find, make([]uint64, 0, tt.room))
		if had {
			rules[tt.drop] = rule
		}
		if end != tt.end || len(got) != tt.n {
			t.Errorf("%s: %#x, %v; want %d frames, %v", tt.name, got, end, tt.n, tt.end)
		}
		for i := range got {
			if got[i] != all[i] {
				t.Errorf("%s: frame %d is %#x", tt.name, i, got[i])
			}
		}
	}
	rules[0x100] = Rule(General)
	if _, end := Walk(Registers{0x100, base, 0}, &Memory{Base: base, Bytes: mem}, find, make([]uint64, 0, 9)); end != Special {
		t.Errorf("a general rule: %v", end)
	}
	rules[0x100] = NewRule(ByFP, 8, 0)
	if _, end := Walk(Registers{0x100, base + 64, base}, &Memory{Base: base, Bytes: mem}, find, make([]uint64, 0, 9)); end != Damaged {
		t.Errorf("a caller below: %v", end)
	}
}

func BenchmarkCompile(b *testing.B) {
	c := frames(b, libc)
	for range b.N {
		Compile(c)
	}
}

func BenchmarkFind(b *testing.B) {
	t := Compile(frames(b, libc))
	at := t.base
	for range b.N {
		at += 0x12345
		if at >= t.end {
			at -= t.end - t.base
		}
		t.Find(at)
	}
}
