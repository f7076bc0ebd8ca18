package test

import (
	"strings"
	"testing"
)

// A program that is started with SIGCONT blocked is traced, and still has it blocked. (jalon uses SIGCONT to begin.)
func TestStartWithContinueBlocked(t *testing.T) {
	const blocked = "0000000000020200" // SIGCONT and SIGUSR1
	args := append([]string{"env", "--block-signal=CONT", "--block-signal=USR1"}, jalonArgs("trace", "-q", "--pending", "nowhere", "--", "grep", "-E", "SigBlk|SigPnd|ShdPnd", "/proc/self/status")...)
	r := run(t, args...)
	const none = "0000000000000000"
	want := "SigPnd: " + none + " ShdPnd: " + none + " SigBlk: " + blocked
	if got := strings.Join(strings.Fields(r.stdout), " "); r.status != 0 || got != want {
		t.Errorf("status %d, %q, want %q; %s", r.status, got, want, r.stderr)
	}
}
