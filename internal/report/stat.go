package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
)

// Stat counts the events of places.
type Stat struct {
	Places  []*PlaceStat  `json:"places"`
	Threads []*ThreadStat `json:"threads"`
	FirstNS int64         `json:"first"`
	LastNS  int64         `json:"last"`
	Events  uint64        `json:"events"`
	Lost    uint64        `json:"lost"`
	// CompleteFrom is from which time on there are all events, if there are older ones.
	CompleteFrom int64 `json:"complete_from,omitempty"`
	// Other is how many events of threads are not in Threads.
	Other uint64 `json:"other_threads,omitempty"`
}

// PlaceStat has the counts of a place in a function. Those that are nil are not known: jalon was killed, the program has overwritten them, or the report does not have the
// whole trace.
type PlaceStat struct {
	Place    string  `json:"place"`
	Function string  `json:"function,omitempty"`
	Hits     *uint64 `json:"hits"` // also those for which the condition did not hold
	Recorded uint64  `json:"recorded"`
	Lost     *uint64 `json:"lost"`
	Rate     float64 `json:"rate"` // events of a second
	First    int64   `json:"first"`
	Last     int64   `json:"last"`
	unknown  bool    // the program has overwritten counts
}

// ThreadStat has the counts of a thread, by the index of a place.
type ThreadStat struct {
	Pid    int            `json:"pid"`
	Tid    int            `json:"tid"`
	Comm   string         `json:"comm"`
	Events uint64         `json:"events"`
	By     map[int]uint64 `json:"by"`

	by []uint64 // the same while events are read
}

// maxThreads limits what reports keep for threads.
const maxThreads = 1 << 16

// MakeStat reads all events. whole: the report has the whole trace, so that losses can be shown.
func MakeStat(r *Reader, whole bool) (*Stat, error) {
	s := &Stat{}
	c := &statCounter{s: s, r: r, place: make([]int, r.Trace.Sites()), names: map[[2]string]int{}, threads: map[[2]int]*ThreadStat{}}
	for _, sc := range r.Schemas() {
		c.index(sc)
	}
	err := r.Each(c.event)
	s.Threads, s.CompleteFrom = c.list(), r.Incomplete()
	if span := s.LastNS - s.FirstNS; span > 0 {
		for _, p := range s.Places {
			p.Rate = float64(p.Recorded) / (float64(span) / 1e9)
		}
	}
	if whole {
		s.Lost = r.Trace.Lost()
		s.summary(r, c.names)
	}
	return s, err
}

// statCounter counts events for a Stat.
type statCounter struct {
	s       *Stat
	r       *Reader
	place   []int // by the number of a site: one more than the index of its place; 0: not known yet
	names   map[[2]string]int
	threads map[[2]int]*ThreadStat
	recent  [64]*ThreadStat // by the low bits of their numbers
}

// index is the index of a schema's place in s.Places.
func (c *statCounter) index(sc *event.Schema) int {
	key := [2]string{sc.Place, sc.Function}
	n, ok := c.names[key]
	if !ok {
		n = len(c.s.Places)
		c.names[key] = n
		c.s.Places = append(c.s.Places, &PlaceStat{Place: sc.Place, Function: sc.Function})
	}
	return n
}

func (c *statCounter) event(ev *event.Event) error {
	s, site := c.s, c.r.Site()
	if c.place[site] == 0 {
		c.place[site] = 1 + c.index(ev.Schema)
	}
	n := c.place[site] - 1
	p := s.Places[n]
	if p.Recorded == 0 {
		p.First = ev.TimeNS
	}
	p.Recorded++
	p.Last = ev.TimeNS
	if s.Events == 0 {
		s.FirstNS = ev.TimeNS
	}
	s.Events++
	s.LastNS = ev.TimeNS
	if th := c.thread(ev); th != nil {
		th.add(ev.Comm, n)
	} else {
		s.Other++
	}
	return nil
}

// thread is the thread of an event; nil: there are too many.
func (c *statCounter) thread(ev *event.Event) *ThreadStat {
	at := &c.recent[uint(ev.Tid)%uint(len(c.recent))]
	if th := *at; th != nil && th.Tid == ev.Tid && th.Pid == ev.Pid {
		return th
	}
	key := [2]int{ev.Pid, ev.Tid}
	th := c.threads[key]
	if th == nil {
		if len(c.threads) >= maxThreads {
			return nil
		}
		th = &ThreadStat{Pid: ev.Pid, Tid: ev.Tid, By: map[int]uint64{}}
		c.threads[key] = th
	}
	*at = th
	return th
}

// list are the threads, those with most events first.
func (c *statCounter) list() (list []*ThreadStat) {
	for _, th := range c.threads {
		for n, count := range th.by {
			if count > 0 {
				th.By[n] = count
			}
		}
		list = append(list, th)
	}
	slices.SortFunc(list, func(a, b *ThreadStat) int {
		return cmp.Or(-cmp.Compare(a.Events, b.Events), cmp.Compare(a.Tid, b.Tid))
	})
	return list
}

// add counts an event of place n.
func (th *ThreadStat) add(comm string, n int) {
	if th.Comm != comm {
		th.Comm = comm
	}
	th.Events++
	for len(th.by) <= n {
		th.by = append(th.by, 0)
	}
	th.by[n]++
}

// summary adds the counts from the end of the recording.
func (s *Stat) summary(r *Reader, names map[[2]string]int) {
	sum := r.Trace.Summary
	if sum == nil {
		return
	}
	for i := range sum.Sites {
		x := &sum.Sites[i]
		n, ok := names[[2]string{x.Place, x.Function}]
		if !ok {
			n = len(s.Places)
			names[[2]string{x.Place, x.Function}] = n
			s.Places = append(s.Places, &PlaceStat{Place: x.Place, Function: x.Function})
		}
		p := s.Places[n]
		if x.Overwritten {
			p.unknown = true
		}
		if p.unknown {
			p.Lost, p.Hits = nil, nil
			continue
		}
		if p.Lost == nil {
			p.Lost, p.Hits = new(uint64), new(uint64)
		}
		*p.Lost += x.Lost
		*p.Hits += x.Recorded + x.Replaced + x.Lost + x.False + x.Faults
	}
}

// JSON writes an object.
func (s *Stat) JSON(w io.Writer) error { return json.NewEncoder(w).Encode(s) }

// Text writes tables: places, and threads, of which the first top are shown.
func (s *Stat) Text(w io.Writer, top int) error {
	fmt.Fprintf(w, "%d events in %v\n\n", s.Events, time.Duration(s.LastNS-s.FirstNS))
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "hits\trecorded\tlost\tevents/s\tpart\t  place\t")
	for _, p := range s.Places {
		fmt.Fprintf(tw, "%s\t%d\t%s\t%.0f\t%s\t  %s\t\n", known(p.Hits), p.Recorded, known(p.Lost), p.Rate, percent(p.Recorded, s.Events), oneLine(leftAligned(p.name(), s.Places)))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if s.Lost > 0 {
		fmt.Fprintf(w, "\n%d hits were lost: there was no room in the rings (--buffer)\n", s.Lost)
	}
	fmt.Fprintln(w)
	fmt.Fprintln(tw, "events\tpart\tthread\t  events by place") // what is behind the last tab is not aligned
	for i, th := range s.Threads {
		if i == top {
			fmt.Fprintf(tw, "\t\t%d more threads\t\n", len(s.Threads)-top)
			break
		}
		fmt.Fprintf(tw, "%d\t%s\t%s\t  %s\n", th.Events, percent(th.Events, s.Events), oneLine(threadName(th.Comm, th.Pid, th.Tid)), oneLine(s.places(th)))
	}
	return tw.Flush()
}

// mostPlaces is how many places are named for a thread.
const mostPlaces = 4

// places names the places of most of a thread's events; none if there is only one place.
func (s *Stat) places(th *ThreadStat) string {
	var of []int
	for n := range s.Places {
		if th.By[n] > 0 && len(s.Places) > 1 {
			of = append(of, n)
		}
	}
	slices.SortStableFunc(of, func(a, b int) int { return cmp.Compare(th.By[b], th.By[a]) })
	var by []string
	for i, n := range of {
		if i == mostPlaces {
			return fmt.Sprintf("%s, %d more places", strings.Join(by, ", "), len(of)-i)
		}
		by = append(by, fmt.Sprintf("%s %d", s.Places[n].name(), th.By[n]))
	}
	return strings.Join(by, ", ")
}

func (p *PlaceStat) name() string {
	if p.Function == "" || strings.Contains(p.Place, p.Function) {
		return p.Place
	}
	return p.Place + " in " + p.Function
}

// leftAligned pads a name to the longest, since the columns of the table are aligned to the right.
func leftAligned(name string, list []*PlaceStat) string {
	width := 0
	for _, p := range list {
		width = max(width, len(p.name()))
	}
	return fmt.Sprintf("%-*s", min(width, 80), name)
}

func known(n *uint64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func percent(n, of uint64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(of))
}

func threadName(comm string, pid, tid int) string {
	if tid == 0 {
		return fmt.Sprintf("%s:%d/?", comm, pid)
	}
	if pid == tid || pid == 0 {
		return fmt.Sprintf("%s:%d", comm, tid)
	}
	return fmt.Sprintf("%s:%d/%d", comm, pid, tid)
}
