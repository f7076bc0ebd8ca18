package runner

import (
	"fmt"
	"strings"
	"testing"
)

// sequence calls enter with ever new keys.
const sequence = `
#include <stdlib.h>
static volatile long sum;
__attribute__((noinline)) void enter(long key) { sum += key; }
int main(int argc, char **argv) {
	for (long i = 0; i < atol(argv[1]); i++) enter(i);
	return 0;
}
`

// TestAllKeys: maps have as many elements as they may have, also where an element takes much memory.
func TestAllKeys(t *testing.T) {
	path := compileC(t, "sequence", sequence)
	const keys = 4096 // the default
	for _, c := range []struct {
		updates string
		uprobes bool
	}{
		{`@c[arg0] = count(); @k[arg0]++; @s[arg0] = stats(arg0); @h[arg0] = hist(arg0);`, false},
		{`@l[arg0] = lhist(arg0, 0, 500, 1);`, false},
		{`@c[arg0] = count(); @k[arg0]++; @s[arg0] = stats(arg0);`, true},
	} {
		if c.uprobes {
			needRoot(t)
		}
		src, want, maps := "uprobe:"+path+":enter { "+c.updates+" } end { ", "", 0
		for _, name := range []string{"@c", "@k", "@s", "@h", "@l"} {
			if strings.Contains(c.updates, name) {
				src, want, maps = src+"print(len("+name+")); clear("+name+"); ", want+fmt.Sprintf("%d\n", keys), maps+1
			}
		}
		got, m := runScript(t, src+"}", Options{Argv: []string{path, fmt.Sprint(keys)}, Uprobes: c.uprobes, Warn: func(text string) {
			if strings.Contains(text, " lost") {
				t.Error(text)
			}
		}})
		if got != want || m.SiteMaps() != maps {
			t.Errorf("uprobes %t: %s: %d maps are at the sites; %q, want %q", c.uprobes, c.updates, m.SiteMaps(), got, want)
		}
	}
}
