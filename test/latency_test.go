package test

import (
	"regexp"
	"testing"
)

// TestLatencyPlaces: --latency is computed at the returns of functions, however they are named.
func TestLatencyPlaces(t *testing.T) {
	prog := recordProgram(t)
	for _, place := range []string{"handle", "rec.c:handle", "handle%return", "uprobe:" + prog + ":handle", "uretprobe:" + prog + ":handle", "uretprobe:" + prog + ":hand*", "u:" + prog + ":handle if $retval != 7"} {
		r := jalon(t, "trace", place, "--latency", "--", prog, "50")
		if r.status != 0 || !regexp.MustCompile(`(?m)^\S*hand.*\s50$`).MatchString(r.stderr) {
			t.Errorf("%s: status %d\n%s%s", place, r.status, r.stdout, r.stderr)
		}
	}
}
