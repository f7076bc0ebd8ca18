package kernelguest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const (
	hotHits = 200_000
	manyHit = 28_572 // of them about process 1
)

// exact fails the test unless every hit of `calls hot` is accounted for.
func exact(t *testing.T, o *outcome, places uint64) {
	t.Helper()
	s := o.totals
	if sum := s.Recorded + s.False + s.Faults + s.Lost + s.Missed; sum != hotHits*places || s.Hits != sum || s.Torn != 0 || s.Faults != 0 {
		t.Errorf("%d hits: %+v", hotHits*places, s)
	}
}

// Many hits are counted exactly, by several programs at once: recorded, false,
// lost in a ring that is too small.
func TestGuest_Hot(t *testing.T) {
	hot := []string{"--format=none", "--", calls, "hot", fmt.Sprint(hotHits)}
	fn := processor.call + "getpgid"
	o := trace(t, append([]string{
		"fentry:" + fn + " if (regs->" + processor.callArg + " == 1)", "kprobe:" + fn + " if (((struct pt_regs *)arg0)->" + processor.callArg + " == 1)",
		"kretprobe:" + fn + " if (retval == 1)", "fexit:" + fn + " if ((int)retval == 1)",
	}, hot...)...)
	exact(t, o, 4)
	// Process 1 is in group 0 or 1, by the kernel: the return's value is not
	// predicted here, the argument's is.
	if o.totals.Recorded+o.totals.Lost < 2*manyHit {
		t.Errorf("the condition on the argument is true %d times at two places: %+v", manyHit, o.totals)
	}
	o = trace(t, append([]string{"kprobe:" + fn, "--buffer=64k", "-c", "*(char *)arg0@100, $regs"}, hot...)...)
	exact(t, o, 1)
	if o.totals.Lost == 0 || o.totals.Recorded == 0 {
		t.Errorf("a ring of 64 KiB takes all of it: %+v", o.totals)
	}
	// A condition with faults all the time.
	o = trace(t, append([]string{"kprobe:" + fn + " if (*(long *)(8 + ((struct pt_regs *)arg0)->" + processor.callArg + ") == 3)"}, hot...)...)
	if o.totals.Faults != hotHits || o.totals.Hits != hotHits {
		t.Errorf("totals %+v", o.totals)
	}
}

// A session has a thousand sites. If the kernel attaches them one by one, this takes minutes in emulation,
// so fewer are used unless JALON_FULL is set.
func TestGuest_ManySites(t *testing.T) {
	want, patterns := 1000, append([]string{"kprobe:" + processor.call + "*", "kprobe:tcp_*", "kprobe:udp*", "kprobe:ipv6_*"}, processor.calls...)
	if kernelIs(t, "6.1") && os.Getenv(fullVar) == "" {
		want, patterns = 20, []string{"kprobe:" + processor.call + "get*"}
	}
	o := trace(t, append(patterns, "--format=none", "--", calls, "hot", "10000")...)
	if o.totals.Sites < want || o.totals.Recorded < 10_000 || o.totals.Recorded != o.totals.Hits {
		t.Errorf("totals %+v", o.totals)
	}
	if strings.Contains(o.stderr, "are skipped") {
		t.Errorf("not all that is found can be probed: %s", o.stderr)
	}
	t.Logf("%d sites, %d hits", o.totals.Sites, o.totals.Hits)
}
