package inproc

import "time"

// graceEvery is the time between two stops for a grace, at first.
const graceEvery = 5 * time.Millisecond

// Grace implements engine.Engine: a thread has ended the hits that it had begun when it is seen outside of hits.
func (r *reclaimer) Grace() (over func() (bool, error), err error) {
	seen, next, delay := map[int]bool{}, time.Time{}, graceEvery
	return func() (bool, error) {
		if time.Now().Before(next) {
			return false, nil
		}
		all, err := r.Outside(seen, func(bool) error { return nil })
		next, delay = time.Now().Add(delay), min(2*delay, reclaimMost)
		return all, err
	}, nil
}
