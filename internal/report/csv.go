package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
)

// CSV writes events as comma-separated values (RFC 4180): a line with the names, then one for each event. A field that a place has not, or
// that has no value in an event, is empty.
type CSV struct {
	w       *csv.Writer
	simples *format.Simples
	columns map[string]int
	of      map[*event.Schema][]int // the column of each field
	row     []string
	begun   bool
	names   []string
}

// headColumns are the columns that each event has.
var headColumns = []string{"time", "cpu", "pid", "tid", "comm", "place", "function"}

// NewCSV returns a CSV for events of these schemas; columns begin with those that are named.
func NewCSV(w io.Writer, columns []string, schemas []*event.Schema, t *format.Trace) *CSV {
	c := &CSV{w: csv.NewWriter(w), simples: format.NewSimples(t), columns: map[string]int{}, of: map[*event.Schema][]int{}}
	c.names = append(c.names, headColumns...)
	for _, name := range columns {
		c.column(name)
	}
	for _, s := range schemas {
		for i := range s.Fields {
			c.column(s.Fields[i].Name)
		}
	}
	return c
}

func (c *CSV) column(name string) int {
	n, ok := c.columns[name]
	if !ok {
		n = len(c.names)
		c.columns[name] = n
		c.names = append(c.names, name)
	}
	return n
}

// Event writes a line.
func (c *CSV) Event(ev *event.Event) error {
	if !c.begun {
		c.begun = true
		if err := c.w.Write(c.names); err != nil {
			return fmt.Errorf("writing the events: %w", err)
		}
	}
	at, ok := c.of[ev.Schema]
	if !ok {
		for i := range ev.Schema.Fields {
			at = append(at, c.column(ev.Schema.Fields[i].Name))
		}
		c.of[ev.Schema] = at
	}
	c.row = append(c.row[:0], strconv.FormatInt(ev.TimeNS, 10), strconv.Itoa(ev.CPU), strconv.Itoa(ev.Pid), "", ev.Comm, ev.Schema.Place, ev.Schema.Function)
	if ev.KnowsThread() {
		c.row[3] = strconv.Itoa(ev.Tid)
	}
	for len(c.row) < len(c.names) {
		c.row = append(c.row, "")
	}
	for i, col := range at {
		v := ev.Value(i)
		if v.Status == event.OK && col < len(c.row) {
			c.row[col] = c.value(ev, &v)
		}
	}
	if err := c.w.Write(c.row); err != nil {
		return fmt.Errorf("writing the events: %w", err)
	}
	return nil
}

// value is a value as text: JSON's text where it is no number and no text.
func (c *CSV) value(ev *event.Event, v *event.Value) string {
	switch x := c.simples.Value(ev, v, format.SimpleOf(v.Field)); x.Kind {
	case format.SimpleInt:
		return strconv.FormatInt(x.Int, 10)
	case format.SimpleUint:
		return strconv.FormatUint(x.Uint, 10)
	case format.SimplePointer:
		return "0x" + strconv.FormatUint(x.Uint, 16)
	case format.SimpleBool:
		return strconv.FormatUint(x.Uint, 10)
	case format.SimpleFloat:
		return strconv.FormatFloat(x.Float, 'g', -1, 64)
	case format.SimpleText:
		return string(x.Text)
	case format.SimpleJSON:
		return plainJSON(x.Text)
	}
	return ""
}

// plainJSON is a JSON value; a text without its quotes.
func plainJSON(b []byte) string {
	if len(b) > 0 && b[0] == '"' {
		var s string
		if json.Unmarshal(b, &s) == nil {
			return s
		}
	}
	return string(b)
}

// Flush writes what is in the buffer.
func (c *CSV) Flush() error {
	c.w.Flush()
	return c.w.Error()
}

// End writes the line with the names if there were no events.
func (c *CSV) End() error {
	if c.begun {
		return nil
	}
	return c.w.Write(c.names)
}
