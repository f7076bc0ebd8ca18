package runner

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/script/plan"
)

// counted calls count() with 0, 1, 2, ...
const counted = `
#include <stdlib.h>
__attribute__((noinline)) long count(long i) { __asm__ volatile("" ::: "memory"); return i + 1; }
int main(int argc, char **argv) {
	for (long i = 0; i < atol(argv[1]); i++) count(i);
	return 0;
}
`

// TestOrderAtOnePlace: probes at one place are executed in the order of the script, also those that are at the site as a whole.
func TestOrderAtOnePlace(t *testing.T) {
	path := compileC(t, "counted", counted)
	src := strings.ReplaceAll(`uprobe:PROG:count { @n = arg0; }
uprobe:PROG:count /@n == arg0/ { @same = count(); }
uprobe:PROG:count { @behind = sum(@n - arg0); @n = arg0 + 1; }
uprobe:PROG:count /@n == arg0 + 1/ { @next = count(); }`, "PROG", path)
	got, m := runScript(t, src, Options{Argv: []string{path, "500"}})
	if n := m.SiteMaps(); n != 4 {
		t.Errorf("%d maps are at the sites", n)
	}
	for _, want := range []string{"@same: 500\n", "@behind: 0\n", "@next: 500\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestMoreMapsThanASiteHas: the last maps of a probe with more than a site can have are jalon's.
func TestMoreMapsThanASiteHas(t *testing.T) {
	if plan.MaxMaps > ir.MaxMaps {
		t.Fatalf("a program has %d maps at most, not %d", ir.MaxMaps, plan.MaxMaps)
	}
	path := compileC(t, "counted", counted)
	const maps = plan.MaxMaps + 3
	var b strings.Builder
	fmt.Fprintf(&b, "uprobe:%s:count /@a0 < 1000/ {", path)
	for i := range maps {
		fmt.Fprintf(&b, " @a%d++;", i)
	}
	fmt.Fprintf(&b, "} uprobe:%s:count { @b = count(); }", path)
	got, _ := runScript(t, b.String(), Options{Argv: []string{path, "300"}})
	if n := len(regexp.MustCompile(`(?m)^@\w+: 300$`).FindAllString(got, -1)); n != maps+1 {
		t.Errorf("%d maps have 300, want %d:\n%s", n, maps+1, got)
	}
}
