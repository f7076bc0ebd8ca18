package export

import (
	"io"
	"strconv"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/report"
)

var _ = add(Format{Name: "chrome", Doc: "JSON for chrome://tracing, Perfetto and speedscope", Write: writeChrome})

// chrome writes Chrome's trace event format: an instant event of its thread for each event, with the fields as arguments. ts are
// microseconds of CLOCK_MONOTONIC, with nanoseconds behind the point.
type chrome struct {
	output
	simples *format.Simples
	plans   map[*event.Schema]*plan
	names   map[[2]int]string
	begun   bool
	// complete is from which time on all events are there; 0: that is written
	complete int64
	field    event.Value // here to avoid an allocation for each field
}

func writeChrome(w io.Writer, r *report.Reader, _ *Options) error {
	c := &chrome{output: output{w: w}, simples: format.NewSimples(&format.Trace{Unwind: r.Unwind, Symbol: r.Symbol()}), plans: map[*event.Schema]*plan{}, names: map[[2]int]string{}}
	c.complete = r.Incomplete()
	c.buf = append(c.buf, `{"displayTimeUnit":"ns","traceEvents":[`...)
	if err := r.Each(c.add); err != nil {
		return err
	}
	c.buf = append(c.buf, "\n]}\n"...)
	return c.flush()
}

func (c *chrome) next() {
	if c.begun {
		c.buf = append(c.buf, ',')
	}
	c.begun = true
	c.buf = append(c.buf, '\n')
}

func (c *chrome) thread(ev *event.Event) {
	c.buf = strconv.AppendInt(append(c.buf, `,"pid":`...), int64(ev.Pid), 10)
	c.buf = strconv.AppendInt(append(c.buf, `,"tid":`...), int64(ev.Tid), 10)
}

func (c *chrome) time(ns int64) {
	c.buf = strconv.AppendInt(c.buf, ns/1000, 10)
	c.buf = append(c.buf, '.', '0'+byte(ns/100%10), '0'+byte(ns/10%10), '0'+byte(ns%10))
}

// markComplete writes an event of the whole trace at the time from which on all events are there.
func (c *chrome) markComplete() {
	c.next()
	c.buf = append(c.buf, `{"ph":"i","s":"g","name":"`+completeText+`","pid":0,"tid":0,"ts":`...)
	c.time(c.complete)
	c.buf = append(c.buf, '}')
	c.complete = 0
}

func (c *chrome) add(ev *event.Event) error {
	x := c.plans[ev.Schema]
	if x == nil {
		x = chromePlan(ev.Schema)
		c.plans[ev.Schema] = x
	}
	if c.complete != 0 && ev.TimeNS >= c.complete {
		c.markComplete()
	}
	if name, ok := c.names[[2]int{ev.Pid, ev.Tid}]; !ok || name != ev.Comm {
		c.names[[2]int{ev.Pid, ev.Tid}] = ev.Comm
		c.next()
		c.buf = append(c.buf, `{"ph":"M","name":"thread_name"`...)
		c.thread(ev)
		c.buf = append(format.AppendJSONText(append(c.buf, `,"args":{"name":`...), utf8Text([]byte(ev.Comm))), `}}`...)
	}
	c.next()
	c.buf = append(c.buf, x.head...)
	c.time(ev.TimeNS)
	c.thread(ev)
	c.buf = strconv.AppendInt(append(c.buf, `,"args":{"cpu":`...), int64(ev.CPU), 10)
	read := -1
	for i := range x.leaves {
		l := &x.leaves[i]
		if l.Index != read {
			read, c.field = l.Index, ev.Value(l.Index)
		}
		c.buf = append(c.buf, x.texts[i]...)
		c.value(ev, l)
	}
	c.buf = append(c.buf, `}}`...)
	return c.room()
}

// chromePlan has the texts that are the same in all events of a schema. Of values of one name the first is taken.
func chromePlan(s *event.Schema) *plan {
	x := &plan{}
	x.head = format.AppendJSONText(append(x.head, `{"ph":"i","s":"t","name":`...), utf8Text([]byte(eventName(s))))
	x.head = append(x.head, `,"ts":`...)
	seen := map[string]bool{"cpu": true}
	for _, l := range format.LeavesOf(s) {
		if seen[l.Name] {
			continue
		}
		seen[l.Name] = true
		x.leaves = append(x.leaves, l)
		x.texts = append(x.texts, append(format.AppendJSONText([]byte{','}, utf8Text([]byte(l.Name))), ':'))
	}
	return x
}

// value writes a value of the field that was read.
func (c *chrome) value(ev *event.Event, l *format.Leaf) {
	switch s := c.simples.Leaf(ev, &c.field, l); s.Kind {
	case format.SimpleInt:
		c.buf = strconv.AppendInt(c.buf, s.Int, 10)
	case format.SimpleUint:
		c.buf = strconv.AppendUint(c.buf, s.Uint, 10)
	case format.SimpleBool:
		c.buf = strconv.AppendBool(c.buf, s.Uint != 0)
	case format.SimpleFloat:
		if s.Float-s.Float != 0 { // infinities, NaN
			c.buf = format.AppendJSONText(c.buf, strconv.FormatFloat(s.Float, 'g', -1, 64))
			return
		}
		c.buf = strconv.AppendFloat(c.buf, s.Float, 'g', -1, 64)
	case format.SimplePointer:
		c.buf = append(strconv.AppendUint(append(c.buf, `"0x`...), s.Uint, 16), '"')
	case format.SimpleText:
		c.buf = format.AppendJSONText(c.buf, utf8Text(s.Text))
	case format.SimpleJSON:
		c.buf = append(c.buf, s.Text...)
	default:
		why := c.field.Explain()
		if why == "" {
			why = "no value"
		}
		c.buf = format.AppendJSONText(c.buf, "<"+why+">")
	}
}
