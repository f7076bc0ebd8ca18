package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon"
)

// triggerEvery is how often the counts of the places of --snapshot-on are looked at: events are in memory meanwhile.
const triggerEvery = 5 * time.Millisecond

// askedFor receives SIGUSR1 from now on, unless it is ignored: the program inherits that.
func askedFor() chan os.Signal {
	asked := make(chan os.Signal, 1)
	if !signal.Ignored(unix.SIGUSR1) {
		signal.Notify(asked, unix.SIGUSR1)
	}
	return asked
}

// requests serves SIGUSR1 and the places of --snapshot-on, which are the tracepoints behind the first ones: a flight recorder writes what it
// has, any other recording the state of the system.
func (c *recordCmd) requests(t *traceCmd, trace *jalon.Trace, rec *jalon.Recording, asked chan os.Signal, flight bool, first int) (stop func()) {
	var tick <-chan time.Time
	if flight && len(c.SnapshotOn) > 0 {
		tick = time.Tick(triggerEvery)
	}
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Add(1)
	go func() {
		defer ended.Done()
		last := uint64(0)
		for {
			select {
			case <-done:
				return
			case <-asked:
				if !flight {
					rec.DumpState()
					continue
				}
			case <-tick:
				n, err := triggered(trace, first)
				if err != nil || n == last {
					continue
				}
				last = n
			}
			if _, err := rec.Snapshot(context.Background(), trace); err != nil {
				t.warn(fmt.Sprintf("no snapshot: %v", err))
			}
		}
	}()
	return func() {
		signal.Stop(asked)
		close(done)
		ended.Wait()
	}
}

// triggered is how often the tracepoints behind the first ones have been hit with a condition that held.
func triggered(trace *jalon.Trace, first int) (n uint64, err error) {
	list, err := trace.Counts(context.Background())
	for i := range list {
		if list[i].Tracepoint > first {
			n += list[i].Recorded + list[i].Replaced + list[i].Lost
		}
	}
	return n, err
}
