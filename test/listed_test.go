package test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// listedName is the name in a line of jalon list.
var listedName = regexp.MustCompile(`^  (\S.*?) +(0x[0-9a-f]+|-) `)

// listed returns the names that jalon list prints.
func listed(t *testing.T, prog string, patterns ...string) (names []string) {
	t.Helper()
	r := jalon(t, append([]string{"list", prog}, patterns...)...)
	for line := range strings.Lines(r.stdout) {
		if m := listedName.FindStringSubmatch(line); m != nil && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// TestListedPlaces: each name that jalon list prints is a place.
func TestListedPlaces(t *testing.T) {
	cpp := filepath.Join(t.TempDir(), "listed")
	run(t, "g++", "-g", "-O0", "-w", "-o", cpp, "programs/listed.cc")
	for _, tt := range []struct {
		prog     string
		patterns []string
		least    int
	}{
		{cpp, []string{"ns::*", "over", "pairs*", "num*", "*anon*", "*ambda*", "main"}, 25},
		{listedRust(t), []string{"listed::*"}, 11},
		{listedGo(t), []string{"main.*"}, 10},
	} {
		if tt.prog == "" {
			continue
		}
		names := listed(t, tt.prog, tt.patterns...)
		if len(names) < tt.least {
			t.Errorf("%s: %d names: %q", tt.prog, len(names), names)
		}
		args := append([]string{"trace", "-f", "none"}, names...)
		if r := jalon(t, append(args, "--", tt.prog)...); r.status != 0 {
			t.Errorf("%s: status %d\n%s", tt.prog, r.status, r.stderr)
		}
	}
	for _, name := range []string{"over(int)", "over(const char*)", "over(char const *)", "over(std::vector<int, std::allocator<int> >&)", "over(const std::string&)", "over(std::string const &)", "ns::S::f(int) const", "ns::S::f(double)", "pairs<int,double>", "ns::S::g<long>"} {
		if r := jalon(t, "trace", "-f", "none", "--summary-json", name, "--", cpp); r.status != 0 || !strings.Contains(r.stderr, `"sites":1,`) {
			t.Errorf("%s: not one site, status %d\n%s", name, r.status, r.stderr)
		}
	}
}

// listedRust and listedGo are empty where there is no compiler.
func listedRust(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("rustc"); err != nil {
		t.Log("no rustc")
		return ""
	}
	source, err := filepath.Abs("programs/listed.rs")
	if err != nil {
		t.Fatal(err)
	}
	prog := filepath.Join(t.TempDir(), "listed")
	buildOther(t, t.TempDir(), "rustc", "-g", "-o", prog, source)
	return prog
}

func listedGo(t *testing.T) string {
	t.Helper()
	prog := filepath.Join(t.TempDir(), "listed")
	buildOther(t, "programs/listed", "go", "build", "-gcflags=all=-N -l", "-o", prog, ".")
	return prog
}

// TestGoInstances: a generic function of Go is a place without its type arguments, which means all its instances, and with them as
// they are in the source.
func TestGoInstances(t *testing.T) {
	need(t, "go")
	prog := listedGo(t)
	stripped := prog + "-stripped"
	if r := run(t, "objcopy", "--strip-all", prog, stripped); r.status != 0 {
		t.Fatal(r.stderr)
	}
	for place, sites := range map[string]int{"main.Map": 2, "main.Map[int,string]": 1, "main.(*L).Add": 2, "main.(*L[...]).Add": 2, "main.(*L[int]).Add": 1} {
		for _, prog := range []string{prog, stripped} {
			r := jalon(t, "trace", "-f", "none", "--summary-json", place, "--", prog)
			if s := fmt.Sprintf(`"sites":%d,`, sites); r.status != 0 || !strings.Contains(r.stderr, s) {
				t.Errorf("%s in %s: without %s, status %d\n%s", place, filepath.Base(prog), s, r.status, r.stderr)
			}
		}
	}
	for place, want := range map[string]string{"main.Map[int,bool]": "main.Map[go.shape.", "Ptr": "main.(*S).Ptr", "S.Val": "main.S.Val"} {
		if r := jalon(t, "trace", "-f", "none", place, "--", prog); r.status != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: without %s, status %d\n%s", place, want, r.status, r.stderr)
		}
	}
}

// TestInlinedAway: a function of which the compiler has left no instruction is said to be one, also where its name has characters of
// patterns; the hint does not lead back to the place.
func TestInlinedAway(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "away")
	run(t, "g++", "-g", "-O2", "-w", "-o", prog, "programs/listed.cc")
	for _, place := range []string{"ns::S::operator[]", "ns::S::operator+", "uprobe:" + prog + ":ns::S::operator+"} {
		if r := jalon(t, "trace", "-f", "none", place, "--", prog); r.status != 2 || !strings.Contains(r.stderr, "has left no instruction") {
			t.Errorf("%s: status %d\n%s", place, r.status, r.stderr)
		}
	}
}
