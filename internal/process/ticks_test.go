package process

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

// TestTicks: ticks of a timer that come while a thread is stopped again and again, at the first instruction of a
// handler that does not block its signal, do not fill the stack with frames. None of timer_create is lost.
func TestTicks(t *testing.T) {
	const rounds, few = 200, 20
	for kind, name := range []string{"setitimer", "timer_create"} {
		t.Run(name, func(t *testing.T) {
			f := launchFree(t, build(t, "ticks"), fmt.Sprint(kind))
			f.out.wait(t, "ready")
			p := attach(t, f.cmd.Process.Pid, Config{})
			if err := p.do(func() error {
				defer p.world.thaw()
				if err := p.world.freeze(); err != nil {
					return err
				}
				k := p.threads.Get(p.pid)
				for range rounds {
					for start := time.Now(); pendingShared(k.TID)&sys.SigBit(unix.SIGALRM) == 0; {
						if time.Since(start) > testPatience {
							return fmt.Errorf("the timer does not expire")
						}
					}
					if err := p.world.deliver(k); err != nil {
						return err
					}
					if err := p.world.settle(k); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := p.Detach(); err != nil {
				t.Fatal(err)
			}
			_ = f.in.Close()
			err := f.cmd.Wait()
			var frames, overrun int
			out := f.out.all()
			if i := strings.Index(out, "frames"); i >= 0 {
				_, _ = fmt.Sscanf(out[i:], "frames %d overrun %d", &frames, &overrun)
			}
			if err != nil || frames < 1 || frames > few {
				t.Errorf("%v: %d frames at once after %d stops: %s", err, frames, rounds, out)
			}
			if kind == 1 && overrun < rounds-few {
				t.Errorf("si_overrun tells of %d ticks, %d were merged", overrun, rounds-few)
			}
		})
	}
}
