package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/event"
)

// Timeline counts events in columns of time, by thread and by CPU.
type Timeline struct {
	From, To int64
	Columns  int
	Threads  []*TimelineRow
	CPUs     []*TimelineRow
	Events   uint64
	Other    uint64 // events of threads that have no row
}

// TimelineRow is a row of counts.
type TimelineRow struct {
	Name   string
	Counts []uint32
	Events uint64
	order  int
}

// MakeTimeline counts events in columns over [from, to].
func MakeTimeline(r *Reader, from, to int64, columns int) (*Timeline, error) {
	x := &Timeline{From: from, To: max(to, from+1), Columns: max(columns, 10)}
	threads, cpus := map[[2]int]*TimelineRow{}, map[int]*TimelineRow{}
	span := uint64(x.To-x.From) + 1
	err := r.Each(func(ev *event.Event) error {
		x.Events++
		if ev.TimeNS < x.From || ev.TimeNS > x.To {
			return nil
		}
		col := int(float64(ev.TimeNS-x.From) / float64(span) * float64(x.Columns))
		c := cpus[ev.CPU]
		if c == nil {
			c = &TimelineRow{Name: fmt.Sprintf("CPU %d", ev.CPU), Counts: make([]uint32, x.Columns), order: ev.CPU}
			cpus[ev.CPU] = c
		}
		c.add(col)
		key := [2]int{ev.Pid, ev.Tid}
		t := threads[key]
		if t == nil {
			if len(threads) >= maxRows {
				x.Other++
				return nil
			}
			t = &TimelineRow{Counts: make([]uint32, x.Columns), order: ev.Tid}
			threads[key] = t
		}
		if t.Events == 0 || t.Name == "" {
			t.Name = threadName(ev.Comm, ev.Pid, ev.Tid)
		}
		t.add(col)
		return nil
	})
	x.Threads, x.CPUs = rows(threads), rows(cpus)
	slices.SortStableFunc(x.Threads, func(a, b *TimelineRow) int { return -cmp.Compare(a.Events, b.Events) })
	return x, err
}

const maxRows = 1 << 14

func (t *TimelineRow) add(col int) {
	t.Events++
	t.Counts[min(col, len(t.Counts)-1)]++
}

func rows[K comparable](m map[K]*TimelineRow) (list []*TimelineRow) {
	for _, t := range m {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *TimelineRow) int { return cmp.Compare(a.order, b.order) })
	return list
}

// Text draws the rows: the height of a block is the rate, the same for all rows.
func (x *Timeline) Text(w io.Writer, top int) error {
	if x.Events == 0 {
		_, err := fmt.Fprintln(w, "no events")
		return err
	}
	threads := x.Threads
	if top > 0 && len(threads) > top {
		threads = threads[:top]
	}
	width := 8
	for _, list := range [][]*TimelineRow{threads, x.CPUs} {
		for _, t := range list {
			width = max(width, len([]rune(t.Name)))
		}
	}
	width = min(width, 32)
	span := time.Duration(x.To - x.From)
	var b strings.Builder
	mark := "+" + span.String()
	fmt.Fprintf(&b, "%-*s 0%s%s\n", width, "", strings.Repeat(" ", max(x.Columns-1-len(mark), 1)), mark)
	draw := func(list []*TimelineRow) {
		most := uint32(1)
		for _, t := range list {
			most = max(most, slices.Max(t.Counts))
		}
		for _, t := range list {
			name := []rune(oneLine(t.Name))
			if len(name) > width {
				name = append(name[:width-1], '…')
			}
			fmt.Fprintf(&b, "%-*s ", width, string(name))
			for _, n := range t.Counts {
				b.WriteRune(block(n, most))
			}
			fmt.Fprintf(&b, " %d\n", t.Events)
		}
		fmt.Fprintf(&b, "%-*s █ is %d events in %v\n", width, "", most, (span / time.Duration(x.Columns)).Round(time.Nanosecond))
	}
	draw(threads)
	if n := len(x.Threads) - len(threads); n > 0 {
		fmt.Fprintf(&b, "%d threads with fewer events are not shown (--top)\n", n)
	}
	b.WriteByte('\n')
	draw(x.CPUs)
	_, err := io.WriteString(w, b.String())
	return err
}

var blocks = []rune(" ▁▂▃▄▅▆▇█")

func block(n, most uint32) rune {
	if n == 0 {
		return ' '
	}
	return blocks[1+int(uint64(n)*7/uint64(most))]
}
