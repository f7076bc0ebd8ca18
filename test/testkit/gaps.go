package testkit

import "testing"

// Gaps counts the places where the numbers n of events of a thread do not ascend by one: between two events of which both are at a time or
// later, and others. last has the number of each thread's last event.
func Gaps(t testing.TB, events []Event, thread, n string, at int64) (before, after int, last map[int64]int64) {
	t.Helper()
	type seen struct{ n, time int64 }
	of := map[int64]seen{}
	last = map[int64]int64{}
	for i := range events {
		e := &events[i]
		th, x := e.Num(t, thread), seen{e.Num(t, n), e.Time}
		if was, ok := of[th]; ok && was.n+1 != x.n {
			if was.time >= at {
				after++
			} else {
				before++
			}
		}
		of[th], last[th] = x, x.n
	}
	return before, after, last
}
