package report

import (
	"strings"
	"testing"
)

// TestStatOfManyPlaces: a thread's places are named by their events, the first ones only, and lines are no longer than they have to be; no name breaks them.
func TestStatOfManyPlaces(t *testing.T) {
	s := &Stat{Events: 30}
	many := map[int]uint64{}
	for i, name := range []string{"a", "b", "c", "d", "e", "f"} {
		s.Places = append(s.Places, &PlaceStat{Place: name})
		many[i] = uint64(i + 1)
	}
	s.Threads = []*ThreadStat{{Pid: 1, Tid: 1, Comm: "many", Events: 21, By: many}, {Pid: 2, Tid: 2, Comm: "o\nn\te\xff", Events: 9, By: map[int]uint64{1: 9}}}
	var out strings.Builder
	if err := s.Text(&out, 10); err != nil {
		t.Fatal(err)
	}
	_, threads, _ := strings.Cut(out.String(), "events by place\n")
	if want := "      21  70.0%       many:1  f 6, e 5, d 4, c 3, 2 more places\n       9  30.0%  o n e\\xff:2  b 9\n"; threads != want {
		t.Errorf("%q\nwant %q", threads, want)
	}
}
