package torture

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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
	whole bool   // every instruction in the long form; else some rounds
	// prepare makes the program's input, once.
	prepare func(t *testing.T, dir string)
	// commands run one after the other, each traced, in dir.
	commands [][]string
	input    string // on standard input
	preload  bool   // the file is to be there from the start
	late     bool   // the file comes later
	env      []string
	large    int // so many times as many instructions a round
	// known checks the output of the untraced program.
	known func(dir, out string) error
	// same removes parts that may differ between runs: times, addresses.
	same func(string) string
	// drive, for a server: sends requests and returns the replies.
	drive func(t *testing.T, dir string, server *testkit.Process) string

	no map[uint64]bool // addresses that jalon refuses
}

// form is a kind of tracepoint.
type form struct {
	name, cond, collect string
	sites               int    // a round
	dense               bool   // at neighbours
	part                int    // one of so many instructions is swept in this form
	more                string // further options of jalon
}

var forms = []form{
	{name: "false", cond: "$sp == 1", sites: 20000, part: 1},
	{name: "true", cond: "$sp != 1", collect: "$pc, *(long *)$sp", sites: 8000, dense: true, part: 1},
	{name: "plain", collect: "$regs", sites: 3000, part: 16},
	{name: "stacks", cond: "$sp != 1", collect: "$pc, $bt", sites: 3000, part: 16, more: "--stack walk --clock none"},
	{name: "wild", cond: "*(long *)$rdi == 0x7777777788888888", sites: 2000, dense: true, part: 16},
}

// shortSites is how many instructions of a form the short form uses.
const shortSites = 16

// rounds is in how many rounds a form would sweep so many instructions, and in how many
// it does.
func (f *form) rounds(instructions int, s *subject) (of, do int) {
	sites := f.sites * max(1, s.large)
	if !long {
		sites /= shortSites
	}
	of = max(1, (instructions+sites-1)/sites)
	switch {
	case !long:
		return of, 1
	case !s.whole:
		do = min(of, 3)
	default:
		do = (of + f.part - 1) / f.part
	}
	if n := int(number("JALON_TORTURE_ROUNDS", 0)); n > 0 {
		do = min(do, n)
	}
	return of, do
}

// outcome is how the commands of a subject ended.
type outcome struct {
	out    string
	status []int
}

func (o outcome) String() string { return fmt.Sprintf("status %v\n%s", o.status, o.out) }

// slowAfter is how long a traced program may take. After that jalon detaches in the middle of the run,
// which must not harm the program either.
func slowAfter() time.Duration {
	if long {
		return 60 * time.Second
	}
	return 2 * time.Second
}

// run runs the commands; wrap, if any, is put before each.
func (s *subject) run(t *testing.T, dir string, wrap []string) (o outcome, stderr string) {
	t.Helper()
	for _, argv := range s.commands {
		cmd := exec.Command(argv[0], argv[1:]...)
		if wrap != nil {
			cmd = exec.Command(wrap[0], append(append([]string{}, wrap[1:]...), argv...)...)
		}
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+dir, "PYTHONHASHSEED=0", "TZ=UTC", "MALLOC_ARENA_MAX=1")
		cmd.Env = append(cmd.Env, s.env...)
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
		o.out += await(t, p, all, wrap != nil)
		o.status = append(o.status, p.Status)
		stderr += p.Errs.String()
	}
	if s.same != nil {
		o.out = s.same(o.out)
	}
	return o, stderr
}

// readAll reads a pipe until the last program has closed it.
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

// await waits for the end of the output. From a program that takes long jalon detaches; then it must end by
// itself.
func await(t *testing.T, p *testkit.Process, all <-chan string, traced bool) string {
	t.Helper()
	var slow <-chan time.Time
	var armed <-chan struct{}
	if traced {
		armed = p.Errs.Has("armed after")
	}
	limit := time.NewTimer(10 * time.Minute)
	defer limit.Stop()
	for {
		select {
		case out := <-all:
			<-p.Ended
			return out
		case <-armed:
			armed, slow = nil, time.After(slowAfter())
		case <-slow:
			_ = syscall.Kill(p.Pid(), syscall.SIGTERM)
		case <-limit.C:
			state := p.StateOf()
			p.Kill()
			return "hangs:\n" + state
		}
	}
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
	for asked := len(addrs); ; {
		addrs = slices.DeleteFunc(slices.Clone(addrs), func(a uint64) bool { return s.no[a] })
		if len(addrs) == 0 {
			o, _ := s.run(t, dir, nil)
			return attempt{outcome: o, refused: asked}
		}
		placesFile(t, file, module, addrs, f)
		wrap := []string{jalonBin, "trace", "-v", "-f", "none", "--engine", "auto", "--summary-json", "-x", file}
		wrap = append(wrap, strings.Fields(f.more)...)
		if s.late {
			wrap = append(wrap, "--pending")
		}
		o, stderr := s.run(t, dir, append(wrap, "--"))
		no := refused(stderr)
		if o.out != "" || len(no) == 0 {
			a := attempt{outcome: o, refused: asked - len(addrs), stderr: stderr}
			a.sum()
			return a
		}
		known := len(s.no)
		for a := range no {
			s.no[a] = true
		}
		if len(s.no) == known {
			t.Fatalf("jalon refuses what was not asked for: %s", testkit.Tail(stderr))
		}
	}
}

// sum adds up the summaries of the commands.
func (a *attempt) sum() {
	for line := range strings.Lines(a.stderr) {
		if sum, ok := testkit.FindTotals(line); ok {
			a.sites += sum.Sites
			a.hits += sum.Hits
			a.detached = a.detached || strings.Contains(sum.Outcome, "detach")
		}
	}
}

// harm describes how a traced run differs from the untraced one; "" = not at all.
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

// narrow halves the list of addresses while one half still does harm.
func (s *subject) narrow(t *testing.T, dir string, addrs []uint64, f form, want outcome) []uint64 {
	for len(addrs) > 1 {
		mid := len(addrs) / 2
		switch {
		case harm(s.traced(t, dir, addrs[:mid], f), want) != "":
			addrs = addrs[:mid]
		case harm(s.traced(t, dir, addrs[mid:], f), want) != "":
			addrs = addrs[mid:]
		default:
			return addrs // several addresses together do harm, or it is random
		}
	}
	return addrs
}

// sweep is the whole test of one subject: forms, each in rounds.
func (s *subject) sweep(t *testing.T, list []form) {
	dir := t.TempDir()
	if s.prepare != nil {
		s.prepare(t, dir)
	}
	s.no = map[uint64]bool{}
	all := instructions(t, s.file)
	want := s.untraced(t, dir)
	for i := range list {
		f := &list[i]
		of, do := f.rounds(len(all), s)
		first := int(seed) // another part for another seed
		for n := range do {
			s.round(t, dir, share(all, (first+n*of/do)%of, of, f.dense), *f, want)
		}
		t.Logf("%s: form %s: %d of %d rounds, %d instructions in all", s.name, f.name, do, of, len(all))
	}
}

// untraced is the result of the subject without tracing: the same each time.
func (s *subject) untraced(t *testing.T, dir string) outcome {
	t.Helper()
	want, stderr := s.run(t, dir, nil)
	if again, _ := s.run(t, dir, nil); again.String() != want.String() {
		t.Fatalf("untraced runs differ: %s", difference(again.String(), want.String()))
	}
	for _, st := range want.status {
		if st != 0 {
			t.Fatalf("untraced: %v\n%s", want, stderr)
		}
	}
	if s.known != nil {
		if err := s.known(dir, want.out); err != nil {
			t.Fatalf("untraced: %v\n%s", err, want.out)
		}
	}
	return want
}

func (s *subject) round(t *testing.T, dir string, addrs []uint64, f form, want outcome) {
	t.Helper()
	got := s.traced(t, dir, addrs, f)
	r := row{table: "every instruction of", name: s.name, runs: 1, sites: uint64(got.sites), refused: uint64(got.refused), hits: got.hits}
	if why := harm(got, want); why != "" {
		r.harmed = 1
		few := addrs
		if long {
			few = s.narrow(t, dir, addrs, f, want)
		}
		t.Errorf("%s, form %s: %s\nplaces (%d): %#x\njalon: %s", s.name, f.name, why, len(few), few[:min(len(few), 20)], testkit.Tail(got.stderr))
	} else if got.sites == 0 && got.refused < len(addrs) {
		t.Errorf("%s, form %s: nothing was traced: %s", s.name, f.name, testkit.Tail(got.stderr))
	}
	results.add(t, r)
}

// TestEveryInstruction sweeps all subjects; in the short form two of those for it, in
// turn, and a part of their instructions.
func TestEveryInstruction(t *testing.T) {
	for _, s := range subjects(t) {
		t.Run(s.name, func(t *testing.T) {
			if _, ok := turn(s.name, 3, 1); !long && (!s.short || !ok) {
				return
			}
			if !needed(t, append([]string{"objdump"}, s.needs...)...) {
				return
			}
			if long {
				s.sweep(t, forms)
				return
			}
			t.Parallel()
			s.sweep(t, forms[:3])
		})
	}
}
