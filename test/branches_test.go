package test

import (
	"strings"
	"testing"
)

// Functions with jumps into their middle from other code, with debug information (which does not show this)
// and without: no jump may be placed there. Without such a jump, a site is not refused.
func TestEnteredInTheMiddle(t *testing.T) {
	names := []string{"near", "after", "far", "cond", "label", "pointer", "table", "written"}
	for _, flags := range [][]string{{"-g"}, {"-g", "-no-pie", "-fno-pie"}, {"-g", "-Wl,-z,pack-relative-relocs"}, {}, {"-no-pie", "-fno-pie"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			prog := compile(t, "gcc", "branches.c", append(flags, "-O1", "@branches.S")...)
			var places []string
			for _, n := range names {
				places = append(places, "uprobe:"+prog+":"+n, "uprobe:"+prog+":"+n+"_in")
			}
			r := unchanged(t, []string{prog}, places...)
			if want := uint64(2 * 100 * len(names)); r.sum.Hits != want {
				t.Errorf("%d hits, want %d", r.sum.Hits, want)
			}
			for _, n := range names {
				l := jalon(t, "list", "--tactics", prog, n)
				if !strings.Contains(l.stdout, "may come to") || strings.Contains(l.stdout, ": jump over several (") {
					t.Errorf("%s is entered in the middle:\n%s", n, l.stdout)
				}
				l = jalon(t, "list", "--tactics", prog, n+"_in")
				if !strings.Contains(l.stdout, ": jump over several (") && !strings.Contains(l.stdout, "is not a jump table") {
					t.Errorf("%s_in is not entered:\n%s", n, l.stdout)
				}
			}
		})
	}
}

// mempcpy jumps into the middle of libc's memcpy. All variants are traced, and those that this processor
// supports run.
func TestMempcpy(t *testing.T) {
	need(t, "python3")
	prog := compile(t, "gcc", "mempcpy.c", "-O1", "-fno-builtin")
	r := unchanged(t, []string{prog}, "uprobe:libc.so.6:__mem*cpy*", "uprobe:libc.so.6:__memmove*", "-f", "none")
	if r.sum.Hits == 0 {
		t.Errorf("%+v", r.sum)
	}
	if full {
		// Every function of libc at once.
		py := []string{"python3", "-c", "import json; print(len(json.dumps(list(range(100000)))))"}
		for _, p := range [][]string{{prog}, py} {
			if r := unchanged(t, p, "uprobe:libc.so.6:* if ($rsp==1)", "-f", "none"); r.sum.Hits == 0 || r.sum.Recorded != 0 {
				t.Errorf("%v: %+v", p, r.sum)
			}
		}
	}
}
