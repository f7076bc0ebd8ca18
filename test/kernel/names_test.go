package kernel

import (
	"fmt"
	"strings"
	"testing"
)

// TestNamesInFiles: at markers, uprobes and returns names are resolved as by the compiler, and as in the
// other engine.
func TestNamesInFiles(t *testing.T) {
	bin := compile(t, "g++", "members.cc", "-g", "-fno-eliminate-unused-debug-types", "-no-pie", "-O1")
	for place, list := range map[string][]string{
		"usdt:" + bin + ":demo:inside": {
			"w 1", "both 5", "::both 13", "N::both 12", "::w 3", "st 107", "K + 0 79", "sizeof(In) 7", "this->w 1", "arg0/d 4", "D::Base::w 1",
		},
		"uprobe:" + bin + ":N::D::f": {"w 1", "both 5", "::both 13", "st 107", "K + 0 79", "sizeof(In) 7"},
		"uretprobe:" + bin + ":N::D::f": {
			"::both 13", "N::both 12", "st 107", "K + 0 79", "sizeof(In) 7", "sizeof(N::In) 9", "retval/d 10",
		},
	} {
		var names []string
		want := map[string]string{}
		for _, l := range list {
			at := strings.LastIndexByte(l, ' ')
			names = append(names, l[:at])
			name, _, _ := strings.Cut(l[:at], "/")
			want[name] = l[at+1:]
		}
		tr := run(t, place, "--engine=kernel", "-c", strings.Join(names, ", "), "--", bin)
		events := tr.events()
		if len(events) != 1 || len(events[0].Values) != len(want) {
			t.Errorf("%s: %d events: %s", place, len(events), tr.Errs.String())
			continue
		}
		for x, v := range events[0].Values {
			if got := fmt.Sprint(v); got != want[x] {
				t.Errorf("%s: %s = %s, want %s", place, x, got, want[x])
			}
		}
	}
	// At a return the names of the function's frame are not available, and no other object is used.
	tr := run(t, "uretprobe:"+bin+":N::D::f", "--engine=kernel", "-c", "w, both", "--", bin)
	if text := tr.Errs.String(); tr.Status != 0 || strings.Count(text, "the function has returned") < 2 {
		t.Errorf("members have a value at the return: status %d\n%s", tr.Status, text)
	}
}
