package image

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// redZone is what is recorded below the stack pointer.
const redZone = 128

// recorded is a stack as GDB found it.
type recorded struct {
	regs, stack []byte   // the stack from the red zone up
	pcs         []uint64 // of GDB's frames
}

// stackPrograms are optimised programs of several compilers.
var stackPrograms = []struct {
	name  string
	build []string // and the output
}{
	{"gcc", []string{"gcc", "-O2", "-mavx2", "testdata/stacks/work.c", "-lm", "-o"}},
	{"clang", []string{"clang", "-O2", "testdata/stacks/work.c", "-lm", "-o"}},
	{"go", []string{"go", "build", "-o"}},
	{"rust", []string{"rustc", "-O", "testdata/stacks/work.rs", "-o"}},
}

// recordStacks runs a program under GDB and gives n of its stacks, and its image while it exists.
func recordStacks(t testing.TB, build []string, n int, use func(*Image, []recorded)) {
	t.Helper()
	dir := t.TempDir()
	prog, file := filepath.Join(dir, "prog"), filepath.Join(dir, "stacks")
	args := append(slices.Clone(build), prog)
	if args[0] == "go" {
		args = append(args, "./testdata/stacks/gowork")
	}
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	var names []string
	for _, r := range host.Processor.Dump {
		names = append(names, host.Processor.Register(r).Name)
	}
	cmd := exec.Command("gdb", "-nx", "-batch", "-x", "testdata/stacks/stacks.py", prog)
	cmd.Env = append(os.Environ(), fmt.Sprint("COUNT=", n), "REGISTERS="+strings.Join(names, " "), "STACKS="+file)
	var errs strings.Builder
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = cmd.Wait()
	}()
	pid := 0
	for sc := bufio.NewScanner(out); pid == 0 && sc.Scan(); {
		fmt.Sscanf(sc.Text(), "PID %d", &pid)
	}
	if pid == 0 {
		t.Fatalf("GDB recorded nothing: %s", errs.String())
	}
	files := NewFiles(dwarf.Options{NoCache: true})
	defer files.Close()
	im, err := OfProcess(pid, files)
	if err != nil {
		t.Fatal(err)
	}
	use(im, readStacks(t, file))
}

func readStacks(t testing.TB, file string) (list []recorded) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	word := func() (n uint64) {
		if err = binary.Read(r, binary.LittleEndian, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for {
		s := recorded{regs: make([]byte, 8*len(host.Processor.Dump))}
		if _, err := io.ReadFull(r, s.regs); err == io.EOF {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		s.stack = make([]byte, word())
		if _, err := io.ReadFull(r, s.stack); err != nil {
			t.Fatal(err)
		}
		for range word() {
			s.pcs = append(s.pcs, word())
		}
		list = append(list, s)
	}
}

// physical are the pcs of frames that are not inlined.
func physical(frames []debuginfo.Frame) (pcs []uint64, cut string) {
	for i := range frames {
		if !frames[i].Inlined {
			pcs = append(pcs, frames[i].PC)
		}
		cut = frames[i].Cut
	}
	return pcs, cut
}

// TestStacksAsGDB stops programs of four compilers at random instructions, in libraries and signal handlers
// too. The frames are those that GDB finds, or fewer, and then the last one says why. JALON_FULL takes 100,000
// stacks.
func TestStacksAsGDB(t *testing.T) {
	n := 100
	if os.Getenv("JALON_FULL") != "" {
		n = 25000
	}
	for _, p := range stackPrograms {
		t.Run(p.name, func(t *testing.T) {
			recordStacks(t, p.build, n, func(im *Image, list []recorded) {
				if len(list) != n {
					t.Fatalf("%d stacks of %d", len(list), n)
				}
				equal, inFull, shorter, reasons, ends := 0, 0, 0, map[string]int{}, map[unwind.End]int{}
				for i := range list {
					s := &list[i]
					r := firstRegisters(s.regs)
					// As at a hit: the walk reads what is below the stack pointer, too.
					walked, end := unwind.Walk(r, &unwind.Memory{Base: r.SP - redZone, Bytes: s.stack}, im.rule, make([]uint64, 0, maxFrames))
					frames := im.Walked(walked, end)
					if end == unwind.Special {
						inFull++
						frames = im.Unwind(s.regs, s.stack[redZone:])
					}
					ends[end]++
					pcs, cut := physical(frames)
					if slices.Equal(pcs, realFrames(im, s.pcs)) {
						equal++
						continue
					}
					why := classify(pcs, s.pcs, cut)
					if why == cutShort+cut {
						shorter++
					}
					if reasons[why]++; reasons[why] <= 2 {
						t.Logf("%s\n  jalon %#x %s\n  gdb   %#x\n %v", why, pcs, cut, s.pcs, frames)
					}
				}
				t.Logf("%d of %d stacks are GDB's; %d needed the information in full; others: %v; ends: %v", equal, n, inFull, reasons, ends)
				if inFull*10 > n {
					t.Errorf("%d of %d stacks cannot be walked by the tables", inFull, n)
				}
				if (n-equal-shorter)*1000 > n {
					t.Errorf("%d of %d stacks are not GDB's", n-equal-shorter, n)
				}
				if shorter*20 > n {
					t.Errorf("%d of %d stacks end early", shorter, n)
				}
			})
		})
	}
}

// realFrames removes the frames that GDB shows after the outermost frame of Go's threads: a caller at 0, or
// outside code.
func realFrames(im *Image, pcs []uint64) []uint64 {
	for i := 1; i < len(pcs); i++ {
		if pcs[i] == 0 || !im.IsCode(pcs[i]-1) {
			return pcs[:i]
		}
	}
	return pcs
}

// cutShort is the prefix of the class of stacks that end early with a reason.
const cutShort = "shorter: "

// classify returns how a stack differs from GDB's.
func classify(ours, gdb []uint64, cut string) string {
	common := 0
	for common < min(len(ours), len(gdb)) && ours[common] == gdb[common] {
		common++
	}
	switch {
	case common == len(ours) && cut != "":
		return cutShort + cut
	case common == len(ours):
		return "shorter, and does not say so"
	case common == len(gdb):
		return "GDB's is shorter"
	}
	return "different"
}

// BenchmarkUnwind is what a stack costs: a copied one by the tables with its names, the names of one that was followed
// at the hit, a copied one by the tables, and by the call frame information in full.
func BenchmarkUnwind(b *testing.B) {
	recordStacks(b, stackPrograms[0].build, 50, func(im *Image, list []recorded) {
		frames := 0
		for i := range list {
			frames += len(list[i].pcs)
		}
		for _, c := range []struct {
			name string
			run  func(s *recorded)
		}{
			{"named", func(s *recorded) { im.Unwind(s.regs, s.stack[redZone:]) }},
			{"walked", func(s *recorded) { im.Walked(s.pcs, unwind.Whole) }},
			{"tables", func(s *recorded) { im.walks.follow(s.regs, s.stack[redZone:], lookup{im.rule, im.File}) }},
			{"full", func(s *recorded) { unwindAll(s.regs, s.stack[redZone:], im.File, make([]uint64, 0, maxFrames)) }},
		} {
			for i := range list {
				c.run(&list[i])
			}
			b.Run(c.name, func(b *testing.B) {
				for i := range b.N {
					c.run(&list[i%len(list)])
				}
				b.ReportMetric(float64(frames)/float64(len(list)), "frames/op")
			})
		}
	})
}
