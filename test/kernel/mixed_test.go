package kernel

import (
	"fmt"
	"testing"
)

// TestMixed: places in the program and of the kernel in one session come out on one
// line of time: each function before its system call, each system call's end before the
// next function.
func TestMixed(t *testing.T) {
	n := 3000
	if full {
		n = 100000
	}
	for _, engine := range []string{"auto", "kernel"} {
		t.Run(engine, func(t *testing.T) {
			tr := run(t, "middle", "syscall:getpriority", "syscall:getpriority:exit", "leaf", "-c", "$tid", "--engine", engine, "--", demo(t, "-O2"), fmt.Sprint(n))
			want := []string{"middle", "leaf", "syscall:getpriority", "syscall:getpriority:exit"}
			events := tr.events()
			if len(events) != 4*n {
				t.Fatalf("%d events, want %d\n%s", len(events), 4*n, tr.Errs.String())
			}
			last := int64(0)
			for i, e := range events {
				if e.Place != want[i%4] {
					t.Fatalf("event %d of %d is %s, want %s: %+v after %+v", i, len(events), e.Place, want[i%4], e, events[max(i-1, 0)])
				}
				if e.Time < last {
					t.Fatalf("event %d: time %d after %d", i, e.Time, last)
				}
				last = e.Time
			}
		})
	}
}
