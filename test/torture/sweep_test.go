package torture

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

// A sweep places tracepoints on thousands of instructions of a file, round by round,
// and each time runs a program that uses the file and whose output is known.

// subject is a program that checks itself, or whose output is always the same.
type subject struct {
	name  string
	needs []string
	file  string // whose instructions are swept
	short bool   // swept by `make test` too
	// prepare makes what the program works on, once.
	prepare func(t *testing.T, dir string)
	// commands are run one after the other, each traced, in dir.
	commands [][]string
	input    string // on standard input
	preload  bool   // the file is to be there from the start
	late     bool   // the file comes later
	// same makes equal what may differ between runs: times, addresses.
	same func(string) string
	// drive, for a server: talks to it and returns what it answered.
	drive func(t *testing.T, dir string, server *testkit.Process) string
}

// form is a kind of tracepoint.
type form struct {
	name, cond, collect string
	sites               int // a round
}

var forms = []form{
	{"false", "$sp == 1", "", 4000},
	{"true", "$sp != 1", "$pc, *(long *)$sp", 1500},
	{"plain", "", "$regs", 600},
	{"wild", "*(long *)$rdi == 0x7777777788888888", "", 300},
}

// outcome is how the commands of a subject ended.
type outcome struct {
	out    string
	status []int
}

func (o outcome) String() string { return fmt.Sprintf("status %v\n%s", o.status, o.out) }

// slowAfter is when jalon is told to detach from a program that traps make slow: a
// detaching in the middle, which must not harm either.
func slowAfter() time.Duration {
	if long {
		return 60 * time.Second
	}
	return 2 * time.Second
}

// run runs the commands; wrap, if any, is what stands before each.
func (s *subject) run(t *testing.T, dir string, wrap []string) (o outcome, stderr string) {
	t.Helper()
	for _, argv := range s.commands {
		cmd := exec.Command(argv[0], argv[1:]...)
		if wrap != nil {
			cmd = exec.Command(wrap[0], append(append([]string{}, wrap[1:]...), argv...)...)
		}
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+dir, "PYTHONHASHSEED=0", "TZ=UTC", "MALLOC_ARENA_MAX=1")
		if s.preload {
			cmd.Env = append(cmd.Env, "LD_PRELOAD="+s.file)
		}
		cmd.Stdin = strings.NewReader(s.input)
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = w
		p := testkit.StartCmd(t, cmd)
		_ = w.Close()
		all := readAll(r)
		if s.drive != nil {
			o.out += s.drive(t, dir, p)
		}
		o.out += s.await(t, p, all, wrap != nil)
		o.status = append(o.status, p.Status)
		stderr += p.Errs.String()
	}
	if s.same != nil {
		o.out = s.same(o.out)
	}
	return o, stderr
}

// readAll collects what comes out of a pipe until the last program has closed it.
func readAll(r *os.File) <-chan string {
	c := make(chan string, 1)
	go func() {
		defer r.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(r)
		c <- b.String()
	}()
	return c
}

// await waits for the output's end. A traced program that takes long is let go, and
// then has to end by itself.
func (s *subject) await(t *testing.T, p *testkit.Process, all <-chan string, traced bool) string {
	t.Helper()
	slow := time.NewTimer(slowAfter())
	defer slow.Stop()
	limit := time.NewTimer(5 * time.Minute)
	defer limit.Stop()
	for {
		select {
		case out := <-all:
			<-p.Ended
			return out
		case <-slow.C:
			if traced {
				_ = syscall.Kill(p.Pid(), syscall.SIGTERM)
			}
		case <-limit.C:
			state := p.StateOf()
			p.Kill()
			return "hangs:\n" + state
		}
	}
}

// instructions lists the addresses of all instructions of a file, as objdump has them.
func instructions(t *testing.T, file string) []uint64 {
	t.Helper()
	listings.Lock()
	defer listings.Unlock()
	if list := listings.of[file]; list != nil {
		return list
	}
	cmd := exec.Command("objdump", "-d", "--no-show-raw-insn", "-j", ".text", file)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var list []uint64
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		addr, text, ok := strings.Cut(sc.Text(), ":\t")
		if !ok || strings.HasPrefix(text, "(bad)") || strings.HasPrefix(text, "...") {
			continue
		}
		if a, err := strconv.ParseUint(strings.TrimSpace(addr), 16, 64); err == nil {
			list = append(list, a)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("objdump -d %s: %v", file, err)
	}
	if len(list) < 1000 {
		t.Fatalf("objdump -d %s lists %d instructions", file, len(list))
	}
	listings.of[file] = list
	return list
}

var listings = struct {
	sync.Mutex
	of map[string][]uint64
}{of: map[string][]uint64{}}

// choose takes n of the instructions: every k-th of all, or, dense, whole stretches of
// neighbours.
func choose(rng *rand.Rand, all []uint64, n int, dense bool) []uint64 {
	n = min(n, len(all))
	var out []uint64
	if !dense {
		k := len(all) / n
		for i := rng.IntN(k); i < len(all) && len(out) < n; i += k {
			out = append(out, all[i])
		}
		return out
	}
	const stretch = 60
	seen := map[int]bool{}
	for range n / stretch {
		from := rng.IntN(max(1, len(all)-stretch))
		for i := from; i < min(from+stretch, len(all)); i++ {
			if !seen[i] {
				seen[i] = true
				out = append(out, all[i])
			}
		}
	}
	return out
}

// placesFile writes the tracepoints as a file of GDB's.
func placesFile(t *testing.T, name, module string, addrs []uint64, f form) {
	t.Helper()
	var b bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&b, "trace uprobe:%s:%#x\n", module, a)
		if f.cond != "" {
			fmt.Fprintf(&b, "condition $bpnum %s\n", f.cond)
		}
		if f.collect != "" {
			fmt.Fprintf(&b, "actions $bpnum\ncollect %s\nend\n", f.collect)
		}
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

var refusedPlace = regexp.MustCompile(`(?m)^ *\d+ \| uprobe:[^ ]*:(0x[0-9a-f]+)\s*$`)

// refused are the addresses that jalon's diagnostics are about.
func refused(stderr string) map[uint64]bool {
	out := map[uint64]bool{}
	for _, m := range refusedPlace.FindAllStringSubmatch(stderr, -1) {
		if a, err := strconv.ParseUint(m[1], 0, 64); err == nil {
			out[a] = true
		}
	}
	return out
}

// attempt is one traced run.
type attempt struct {
	outcome
	sites, refused int
	hits           uint64
	detached       bool
	stderr         string
}

// traced runs the subject with tracepoints at addrs, without those that jalon refuses
// before it starts anything.
func (s *subject) traced(t *testing.T, dir string, addrs []uint64, f form) attempt {
	t.Helper()
	module, err := filepath.EvalSymlinks(s.file)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "places")
	gone := 0
	for {
		placesFile(t, file, module, addrs, f)
		wrap := []string{jalonBin, "trace", "-f", "none", "--engine", "process", "--summary-json", "-x", file}
		if s.late {
			wrap = append(wrap, "--pending")
		}
		o, stderr := s.run(t, dir, append(wrap, "--"))
		no := refused(stderr)
		if o.out != "" || len(no) == 0 {
			a := attempt{outcome: o, refused: gone, stderr: stderr}
			for line := range strings.Lines(stderr) {
				if sum, ok := testkit.FindTotals(line); ok {
					a.sites += sum.Sites
					a.hits += sum.Hits
					a.detached = a.detached || strings.Contains(sum.Outcome, "detach")
				}
			}
			return a
		}
		var kept []uint64
		for _, x := range addrs {
			if !no[x] {
				kept = append(kept, x)
			}
		}
		if len(kept) == len(addrs) {
			t.Fatalf("jalon refuses what was not asked for: %s", testkit.Tail(stderr))
		}
		gone += len(addrs) - len(kept)
		if addrs = kept; len(addrs) == 0 {
			o, _ := s.run(t, dir, nil)
			return attempt{outcome: o, refused: gone}
		}
	}
}

// harm says in what a traced run differs from the untraced one; "" = in nothing.
func harm(got attempt, want outcome) string {
	switch {
	case got.out != want.out:
		return "the output differs: " + difference(got.out, want.out)
	case !got.detached && fmt.Sprint(got.status) != fmt.Sprint(want.status):
		return fmt.Sprintf("status %v, untraced %v", got.status, want.status)
	case strings.Contains(got.stderr, "BUG:") || strings.Contains(got.stderr, "goroutine "):
		return "jalon has a bug"
	}
	return ""
}

// difference shows where two texts part.
func difference(got, want string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	from := max(0, i-100)
	return fmt.Sprintf("at byte %d (lengths %d, %d)\n got: ...%q\nwant: ...%q", i, len(got), len(want),
		got[from:min(len(got), i+200)], want[from:min(len(want), i+200)])
}

// narrow halves the list of addresses as long as one half still harms.
func (s *subject) narrow(t *testing.T, dir string, addrs []uint64, f form, want outcome) []uint64 {
	for len(addrs) > 1 {
		mid := len(addrs) / 2
		switch {
		case harm(s.traced(t, dir, addrs[:mid], f), want) != "":
			addrs = addrs[:mid]
		case harm(s.traced(t, dir, addrs[mid:], f), want) != "":
			addrs = addrs[mid:]
		default:
			return addrs // it takes several, or chance
		}
	}
	return addrs
}

// sweep is the whole test of one subject.
func (s *subject) sweep(t *testing.T, rng *rand.Rand, list []form, rounds int) {
	dir := t.TempDir()
	if s.prepare != nil {
		s.prepare(t, dir)
	}
	all := instructions(t, s.file)
	want, stderr := s.run(t, dir, nil)
	if again, _ := s.run(t, dir, nil); again.String() != want.String() {
		t.Fatalf("untraced runs differ: %s", difference(again.String(), want.String()))
	}
	for _, st := range want.status {
		if st != 0 {
			t.Fatalf("untraced: %v\n%s", want, stderr)
		}
	}
	for round := range rounds {
		for i, f := range list {
			n := f.sites
			if !long {
				n /= 4
			}
			addrs := choose(rng, all, n, (round+i)%2 == 1)
			got := s.traced(t, dir, addrs, f)
			r := row{table: "every instruction of", name: s.name, runs: 1, sites: uint64(got.sites), refused: uint64(got.refused), hits: got.hits}
			if why := harm(got, want); why != "" {
				r.harmed = 1
				few := addrs
				if long {
					few = s.narrow(t, dir, addrs, f, want)
				}
				t.Errorf("%s, form %s: %s\nplaces (%d): %#x\njalon: %s", s.name, f.name, why, len(few), few[:min(len(few), 20)], testkit.Tail(got.stderr))
			}
			results.add(r)
		}
	}
}

func TestEveryInstruction(t *testing.T) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for _, s := range subjects(t) {
		t.Run(s.name, func(t *testing.T) {
			if !long && !s.short {
				return
			}
			if !needed(t, append([]string{"objdump"}, s.needs...)...) {
				return
			}
			if long {
				s.sweep(t, rng, forms, int(number("JALON_TORTURE_ROUNDS", 6)))
			} else {
				s.sweep(t, rng, forms[:3], 1)
			}
		})
	}
}
