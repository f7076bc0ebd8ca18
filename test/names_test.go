package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/sema"
)

// The meaning of names in C++: the compiler is the oracle. A program's lines CHECK(expressions) print their
// values after "= LINE"; jalon evaluates the same expressions there.

// check is one such line.
type check struct {
	line  int
	exprs []string
	want  map[string]bool // the printed tuples
}

// checksOf reads the lines of a source.
func checksOf(t testing.TB, src string) []*check {
	t.Helper()
	text, err := os.ReadFile(src)
	if err != nil {
		t.Fatal(err)
	}
	var out []*check
	for i, l := range strings.Split(string(text), "\n") {
		l = strings.TrimSpace(l)
		inner, ok := strings.CutPrefix(l, "CHECK(")
		if !ok {
			inner, ok = strings.CutPrefix(l, checkHere)
		}
		if !ok {
			continue
		}
		out = append(out, &check{line: i + 1, exprs: splitArgs(strings.TrimSuffix(inner, ");")), want: map[string]bool{}})
	}
	return out
}

// splitArgs cuts at commas outside of brackets.
func splitArgs(s string) (out []string) {
	depth, from := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[', '<':
			depth++
		case ')', ']':
			depth--
		case '>':
			if i > 0 && s[i-1] != '-' {
				depth--
			}
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(s[from:]))
}

// names is one build of a program with checks.
type namesRun struct {
	t       testing.TB
	prog    string
	src     string
	checks  []*check
	unknown *regexp.Regexp // not in the compiler's debug information
	// unavailable counts expressions that have no value, right those that agree.
	unavailable, right int
}

// compileAt returns jalon's error for one expression at a line: nil if it has a value at all sites of the
// line.
func compileAt(m *dwarf.Module, sites []dwarf.Site, text string) error {
	for _, site := range sites {
		scope, err := m.ScopeForSite(site)
		if err != nil {
			return err
		}
		list, err := lang.ParseCollect(text)
		if err != nil {
			return err
		}
		in := &sema.Input{Scope: scope, Collect: list}
		out, err := sema.Compile(in)
		if err == nil && out.Missing != nil {
			err = out.Missing
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var withoutValue = regexp.MustCompile(`optimised out|has no value here|not in memory here|already released|has no address`)

// choose drops the expressions that have no value, which is right at -O2, and fails
// for those that jalon does not understand.
func (r *namesRun) choose() {
	m, err := dwarf.Open(r.prog, dwarf.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	defer m.Close()
	for _, c := range r.checks {
		sites, err := m.LineSites(filepath.Base(r.src), c.line)
		if err != nil {
			r.t.Errorf("line %d: %v", c.line, err)
			c.exprs = nil
			continue
		}
		sites = slices.DeleteFunc(sites, func(s dwarf.Site) bool { return s.ActualLine > 0 && s.ActualLine != c.line })
		if len(sites) == 0 { // no code of its own
			r.unavailable += len(c.exprs)
			c.exprs = nil
		}
		for i, x := range c.exprs {
			err := compileAt(m, sites, wrapped(x))
			if err == nil {
				continue
			}
			if withoutValue.MatchString(err.Error()) || r.unknown != nil && r.unknown.MatchString(err.Error()) {
				r.unavailable++
			} else {
				r.t.Errorf("line %d: %s:\n%v", c.line, x, err)
			}
			c.exprs[i] = ""
		}
	}
}

// wrapped is the expression as the program prints it.
func wrapped(x string) string { return "(long)(" + x + ")" }

// run traces the program and compares.
func (r *namesRun) run() {
	r.t.Helper()
	r.choose()
	dir := r.t.TempDir()
	var tps strings.Builder
	asked := map[int]*check{}
	for _, c := range r.checks {
		var list []string
		for _, x := range c.exprs {
			if x != "" {
				list = append(list, wrapped(x))
			}
		}
		if len(list) > 0 {
			asked[c.line] = c
			fmt.Fprintf(&tps, "trace %s:%d\nactions\ncollect %s\nend\n", filepath.Base(r.src), c.line, strings.Join(list, ", "))
		}
	}
	file, events := filepath.Join(dir, "tps"), filepath.Join(dir, "events")
	if err := os.WriteFile(file, []byte(tps.String()), 0o600); err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(jalonBin, "trace", "-q", "-f", "json", "-o", events, "-x", file, "--", r.prog)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%v\n%s", err, stderr.String())
	}
	r.printed(string(out))
	seen := map[int]bool{}
	for _, e := range readEvents(r.t, events) {
		_, line, _ := strings.Cut(e.Place, ":")
		n, _ := strconv.Atoi(line)
		if c := asked[n]; c != nil {
			seen[n] = true
			r.compare(c, &e)
		}
	}
	for n, c := range asked {
		if len(c.want) > 0 && !seen[n] {
			r.t.Errorf("line %d was not hit: %v", n, c.exprs)
		}
	}
}

// printed parses the program's output.
func (r *namesRun) printed(out string) {
	byLine := map[string]*check{}
	for _, c := range r.checks {
		byLine[strconv.Itoa(c.line)] = c
	}
	for l := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(l), "= ")
		line, values, _ := strings.Cut(rest, " ")
		if c := byLine[line]; ok && c != nil {
			c.want[values] = true
		}
	}
}

// compare: the values of a hit must be those of one time that the line was run.
func (r *namesRun) compare(c *check, e *event) {
	var best []string
	n := len(c.exprs) + 1
	for w := range c.want {
		wrong := c.differences(strings.Fields(w), e)
		if len(wrong) < n {
			n, best = len(wrong), wrong
		}
	}
	if n > 0 {
		r.t.Errorf("%s: %s", e.Place, strings.Join(best, ", "))
		return
	}
	for _, x := range c.exprs {
		if x != "" {
			r.right++
		}
	}
}

func (c *check) differences(want []string, e *event) (wrong []string) {
	for i, x := range c.exprs {
		if x == "" || i >= len(want) {
			continue
		}
		got := fmt.Sprint(e.Values[wrapped(x)])
		if why, ok := e.Errors[wrapped(x)]; ok {
			got = why
		}
		if got != want[i] {
			wrong = append(wrong, fmt.Sprintf("%s = %s, the program has %s", x, got, want[i]))
		}
	}
	return wrong
}

// nameBuilds are compilers with the flags that affect the form of names.
func nameBuilds() [][]string {
	builds := [][]string{
		{"g++", "-O0", "-gdwarf-5"},
		{"clang++", "-O0", "-gdwarf-5"},
		{"g++", "-O2", "-gdwarf-4"},
		{"clang++", "-O2", "-gdwarf-4"},
		{"g++", "-O1", "-gdwarf-5", "-fdebug-types-section"},
	}
	if full {
		builds = append(builds, [][]string{
			{"g++", "-O0", "-gdwarf-4"},
			{"g++", "-O2", "-gdwarf-5"},
			{"g++", "-Og", "-gdwarf-5"},
			{"g++", "-O0", "-gdwarf-4", "-fdebug-types-section"},
			{"g++", "-O2", "-gdwarf-5", "-gsplit-dwarf"},
			{"clang++", "-O0", "-gdwarf-5", "-fdebug-types-section"},
			{"clang++", "-O0", "-gdwarf-4"},
			{"clang++", "-O2", "-gdwarf-5"},
			{"clang++", "-O1", "-gdwarf-5", "-fstandalone-debug"},
			{"clang++", "-O0", "-gdwarf-5", "-gsplit-dwarf"},
		}...)
	}
	return builds
}

// TestNames: a dense program, as several compilers build it.
func TestNames(t *testing.T) {
	need(t, "g++", "clang++")
	src, _ := filepath.Abs("programs/names.cc")
	for _, b := range nameBuilds() {
		t.Run(strings.Join(b, " "), func(t *testing.T) {
			prog := compile(t, b[0], "names.cc", append([]string{"-std=c++17", "-w"}, b[1:]...)...)
			r := &namesRun{t: t, prog: prog, src: src, checks: checksOf(t, src)}
			if b[0] == "clang++" { // it leaves using-declarations of classes out
				r.unknown = regexp.MustCompile(`"lr" is ambiguous here`)
			}
			r.run()
			t.Logf("%d values right, %d expressions without a value", r.right, r.unavailable)
			if r.right < 100 {
				t.Errorf("only %d values were compared", r.right)
			}
		})
	}
}
