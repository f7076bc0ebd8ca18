package kernel

import (
	"strings"
	"testing"
)

// TestGoEntry: the entry of a Go function is behind the check of its stack, so that calls are counted
// once where the stack grows, and parameters are still where the caller left them.
func TestGoEntry(t *testing.T) {
	prog := buildGo(t, "goentry")
	for _, tt := range []struct {
		function string
		depth    int
		text     string // of the parameter s
		moved    bool
	}{
		{"main.small", 300, `small`, true},
		{"main.medium", 200, `medium`, true},
		{"main.large", 50, `large`, true},
		{"main.leaf", 0, "", false},
	} {
		place := "uprobe:" + prog + ":" + tt.function
		for _, engine := range []string{"--engine=kernel", "--engine=process"} {
			t.Run(tt.function+" "+engine, func(t *testing.T) {
				args := []string{place, engine, "--collect", "n"}
				if tt.text != "" {
					args = append(args, "--collect", "s.str/s")
				}
				tr := run(t, append(args, "--", prog)...)
				tr.check(tt.function, tr.counts().Recorded, uint64(20*(tt.depth+1)))
				seen := map[int64]int{}
				for _, e := range tr.events() {
					seen[e.Num(t, "n")]++
					if got := e.Str("s.str"); !strings.HasPrefix(got, tt.text) {
						t.Fatalf("s begins with %q, not with %q: %v", got, tt.text, e)
					}
				}
				for n, times := range seen {
					if times != 20 || len(seen) != tt.depth+1 {
						t.Fatalf("n is %d %d times; it has %d values", n, times, len(seen))
					}
				}
			})
		}
		list := jalon(t, "list", place)
		if shown := strings.Contains(list.Out.String(), "behind the check of Go's stack"); shown != tt.moved {
			t.Errorf("jalon list shows where it is: %v, want %v:\n%s", shown, tt.moved, list.Out.String())
		}
		if tr := jalon(t, "trace", place, "--engine=kernel", "--collect", "arg0", "--", prog); tr.Status != 2 || !strings.Contains(tr.Errs.String(), "this is Go code") {
			t.Errorf("arg0 in Go: status %d: %s", tr.Status, tr.Errs.String())
		}
	}
	// The instruction itself runs again where the stack has grown.
	if tr := run(t, "uprobe:"+prog+":main.large+3", "--engine=kernel", "--", prog); tr.counts().Recorded <= 20*51 {
		t.Errorf("main.large+3 is hit %d times: no stack has grown", tr.counts().Recorded)
	}
}
