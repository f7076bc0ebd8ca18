package drain

import (
	"testing"
	"time"
)

// TestAskedWhileSlow: where events take long to show, the time is looked at after each.
func TestAskedWhileSlow(t *testing.T) {
	asked := 0
	d := &Drain{late: func() bool { asked++; return asked == 5 }}
	for n := 1; n <= 5; n++ {
		d.lastAsked = time.Now().Add(-time.Second) // the event took so long
		if late := d.isLate(); late != (n == 5) || asked != n {
			t.Fatalf("event %d: late %v, asked %d times", n, late, asked)
		}
	}
	asked = 0
	const events = 1600
	for range events {
		d.lastAsked = time.Now() // no time passes
		d.isLate()
	}
	if most := events/maxUnasked + 8; asked > most {
		t.Errorf("asked %d times for %d events, more than %d", asked, events, most)
	}
}
