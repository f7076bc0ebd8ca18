package torture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// globbed is a program of a language with a run-time system: threads, a collector, a compiler, faults that
// become exceptions. It prints "ready", waits for a line, works, and ends with status 7. Its output is
// always the same.
type globbed struct {
	name  string
	needs []string
	build func(t *testing.T) []string // the command
	files func(argv []string) []string
	// lines: sites after the prologues of functions, too (there is debug information).
	lines bool
	// late: some files come after the start.
	late bool
	// some are patterns of function names for the short form; nil: all names.
	some []string
}

var languages = []globbed{
	{
		name: "java", needs: []string{"java", "javac"}, build: buildJava, late: true,
		files: func([]string) []string {
			return []string{"java", "libjvm.so", "libjli.so", "libjava.so", "libzip.so", "libnio.so"}
		},
		some: []string{"*"},
	},
	{
		name: "node", needs: []string{"node"}, build: func(t *testing.T) []string { return []string{"node", data(t, "work.js")} },
		files: func([]string) []string { return []string{"node"} },
		some:  []string{"*Parser*", "*Heap*", "*Zone*", "uv_*", "*Builtin*", "*Isolate*", "*Compiler*", "node::*"},
	},
	{name: "go", needs: []string{"go"}, build: buildGo, files: itself, lines: true},
	{
		name: "rust", needs: []string{"rustc"}, files: itself, lines: true,
		build: func(t *testing.T) []string { return []string{compile(t, "rustc", "work.rs", "-O", "-g")} },
	},
}

func itself(argv []string) []string { return argv[:1] }

func buildJava(t *testing.T) []string {
	dir := t.TempDir()
	must(t, dir, "javac", "-d", dir, data(t, "Work.java"))
	return []string{"java", "-cp", dir, "Work"}
}

func buildGo(t *testing.T) []string {
	bin := filepath.Join(t.TempDir(), "work")
	cmd := exec.Command("go", "build", "-o", bin, ".")
	cmd.Dir = filepath.Join("programs", "golang") // a module of its own
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return []string{bin}
}

// globWay is how a program of globs is traced.
type globWay struct {
	name   string
	attach bool
	cond   string
	list   string
}

var globWays = []globWay{
	{name: "launched, false", cond: " if ($sp == 1)"},
	{name: "attached, true", attach: true, list: "$pc, *(long *)$sp"},
	{name: "launched, true", list: "$pc, *(long *)$sp"},
	{name: "attached, false", attach: true, cond: " if ($sp == 1)"},
}

// places are the tracepoints: functions of the files whose names match.
func (g *globbed) places(argv []string, pattern, cond string) (list []string) {
	for _, f := range g.files(argv) {
		list = append(list, "uprobe:"+f+":"+pattern+cond)
	}
	if g.lines {
		list = append(list, pattern+cond)
	}
	return list
}

func (g *globbed) command(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = tempDir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+tempDir)
	return cmd
}

func (g *globbed) untraced(t *testing.T, argv []string) outcome {
	t.Helper()
	cmd := g.command(argv)
	cmd.Stdin = strings.NewReader("\n")
	p := testkit.StartCmd(t, cmd).Wait()
	if p.Status != 7 {
		t.Fatalf("untraced: status %d\n%s%s", p.Status, p.Out.String(), testkit.Tail(p.Errs.String()))
	}
	return outcome{p.Out.String(), []int{p.Status}}
}

// traced runs the program under tracepoints at everything.
func (g *globbed) traced(t *testing.T, argv []string, w globWay, pattern string) attempt {
	t.Helper()
	args := []string{jalonBin, "trace", "-v", "-f", "none", "--engine", "auto", "--summary-json"}
	if g.late {
		args = append(args, "--pending")
	}
	args = append(args, g.places(argv, pattern, w.cond)...)
	if w.list != "" {
		args = append(args, "-c", w.list)
	}
	a := attempt{}
	if w.attach {
		g.attached(t, argv, args, &a)
	} else {
		g.launched(t, argv, args, &a)
	}
	a.sum()
	a.detached = a.detached && !w.attach // the status is the program's own
	for _, m := range leftOut.FindAllStringSubmatch(a.stderr, -1) {
		n, _ := strconv.Atoi(m[1])
		a.refused += n
	}
	return a
}

var leftOut = regexp.MustCompile(`(\d+) of \d+ addresses are skipped`)

func (g *globbed) launched(t *testing.T, argv, args []string, a *attempt) {
	t.Helper()
	cmd := g.command(append(append(args, "--"), argv...))
	cmd.Stdin = strings.NewReader("\n")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	p := testkit.StartCmd(t, cmd)
	_ = w.Close()
	a.out = await(t, p, readAll(r), true)
	a.status, a.stderr = []int{p.Status}, p.Errs.String()
}

func (g *globbed) attached(t *testing.T, argv, args []string, a *attempt) {
	t.Helper()
	x := testkit.StartTold(t, g.command(argv)).AwaitOut("ready\n")
	j := testkit.StartCmd(t, g.command(append(args, "-p", fmt.Sprint(x.Pid()))))
	select {
	case <-j.Errs.Has("armed after"):
	case <-j.Ended:
	}
	x.Send("")
	all := make(chan string, 1)
	go func() { <-x.Ended; all <- x.Out.String() }()
	a.out = await(t, j, all, true)
	a.status, a.stderr = []int{x.Status}, j.Errs.String()
}

// TestGlobs places tracepoints on all functions of programs of four languages, and of the
// run-time systems under them. In the short form it is one language a day, and of node
// some of the functions.
func TestGlobs(t *testing.T) {
	for i := range languages {
		g := &languages[i]
		t.Run(g.name, func(t *testing.T) {
			if !long && int(seed%uint64(len(languages))) != i || !needed(t, g.needs...) {
				return
			}
			argv := g.build(t)
			want := g.untraced(t, argv)
			if again := g.untraced(t, argv); again.out != want.out {
				t.Fatalf("untraced runs differ: %s", difference(again.out, want.out))
			}
			list, pattern := globWays, "*"
			if !long {
				turn := int(seed) / len(languages)
				list = globWays[turn%2*2:][:2] // false and true, launched and attached
				if len(g.some) > 0 {
					pattern = g.some[turn%len(g.some)]
				}
			}
			for _, w := range list {
				t.Run(w.name, func(t *testing.T) {
					if !long {
						t.Parallel()
					}
					g.check(t, argv, w, pattern, want)
				})
			}
		})
	}
}

func (g *globbed) check(t *testing.T, argv []string, w globWay, pattern string, want outcome) {
	t.Helper()
	got := g.traced(t, argv, w, pattern)
	r := row{table: "every function of", name: g.name, runs: 1, sites: uint64(got.sites), refused: uint64(got.refused), hits: got.hits}
	switch why := harm(got, want); {
	case why != "":
		r.harmed = 1
		t.Errorf("%s, pattern %s: %s\njalon: %s", w.name, pattern, why, testkit.Tail(got.stderr))
	case got.sites == 0 || got.hits == 0:
		t.Errorf("%s, pattern %s: %d sites, %d hits: %s", w.name, pattern, got.sites, got.hits, testkit.Tail(got.stderr))
	}
	results.add(t, r)
}
