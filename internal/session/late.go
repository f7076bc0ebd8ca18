package session

import "time"

// endLimit is how long events are still shown and written while the user waits for the end.
const endLimit = 2 * time.Second

// endIsLate returns a function that reports, while the last events are shown, whether the user has waited
// for the end for too long. If the program has ended by itself, or the requested number of events is
// reached, the output is not cut off unless the user ends the session then.
func (s *Session) endIsLate() func() bool {
	var since time.Time
	return func() bool {
		if since.IsZero() && (s.endAsked || s.interrupted() != nil || !s.endsAt.IsZero() && time.Now().After(s.endsAt)) {
			since = time.Now()
		}
		return !since.IsZero() && time.Since(since) > endLimit
	}
}
