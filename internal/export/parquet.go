package export

import (
	"io"
	"math"
	"strconv"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/report"
)

var _ = add(Format{Name: "parquet", Doc: "a table, for DuckDB, pandas, Spark", Write: writeParquet})

// The columns that each event has. Fields of the same name and kind share a column.
const (
	columnTime = iota
	columnMonotonic
	columnCPU
	columnPid
	columnTid
	columnComm
	columnPlace
	columnFunction
	columnStack
	columnUnavailable
)

var fixedColumns = []column{
	columnTime:        {name: "time", kind: wallTimes},
	columnMonotonic:   {name: "monotonic", kind: format.SimpleInt},
	columnCPU:         {name: "cpu", kind: format.SimpleInt},
	columnPid:         {name: "pid", kind: format.SimpleInt},
	columnTid:         {name: "tid", kind: format.SimpleInt, optional: true},
	columnComm:        {name: "comm", kind: format.SimpleText},
	columnPlace:       {name: "place", kind: format.SimpleText},
	columnFunction:    {name: "function", kind: format.SimpleText},
	columnStack:       {name: "stack", kind: format.SimpleText, optional: true},
	columnUnavailable: {name: "unavailable", kind: format.SimpleText, optional: true},
}

// wallTimes is the kind of a column with nanoseconds of the wall clock.
const wallTimes = format.SimpleKind(100)

// groupRows are the rows of which the columns are in memory, and one after another in the file.
const groupRows = 1 << 17

// groupBytes ends a group with long texts earlier.
const groupBytes = 64 << 20

// table writes events as rows: a column for each field, with no value where the event does not have the field, or the field has no value;
// then unavailable has the reason.
type table struct {
	r       *report.Reader
	file    *parquetFile
	simples *format.Simples
	sites   map[*event.Schema]*tableSite
	rows    int // of the group
	bytes   int // of texts in the group
	stacks  map[uint32]string
	reasons []byte
	field   event.Value // here to avoid an allocation for each field
}

// tableSite has the fields of a site that have columns.
type tableSite struct {
	place, function []byte
	fields          []tableField
}

type tableField struct {
	leaf   format.Leaf
	name   string
	kind   format.SimpleKind // of the column: int, unsigned, float, bool or text
	column *column
}

func writeParquet(w io.Writer, r *report.Reader, _ *Options) error {
	t := &table{r: r, simples: format.NewSimples(&format.Trace{Unwind: r.Unwind, Symbol: r.Symbol()}), sites: map[*event.Schema]*tableSite{}, stacks: map[uint32]string{}}
	var columns []*column
	names := map[string]*column{}
	for i := range fixedColumns {
		c := fixedColumns[i]
		columns = append(columns, &c)
		names[c.name] = &c
	}
	for _, s := range r.Schemas() {
		x := &tableSite{place: []byte(utf8Text([]byte(s.Place))), function: []byte(utf8Text([]byte(s.Function)))}
		t.sites[s] = x
		x.add(s)
		for i := range x.fields {
			f := &x.fields[i]
			if f.column = names[f.columnName(names)]; f.column == nil {
				f.column = &column{name: f.columnName(names), kind: f.kind, optional: true}
				names[f.column.name] = f.column
				columns = append(columns, f.column)
			}
		}
	}
	var err error
	if t.file, err = newParquet(w, columns); err != nil {
		return err
	}
	if err := r.Each(t.event); err != nil {
		return err
	}
	info := &r.Trace.Info
	if err := t.file.group(t.rows); err != nil {
		return err
	}
	return t.file.end([][2]string{{"host", info.Host}, {"kernel", info.Kernel}, {"lost", strconv.FormatUint(r.Trace.Lost(), 10)}})
}

// add adds the fields of a schema. Static tracepoints have one for each part of their records.
func (x *tableSite) add(s *event.Schema) {
	seen := map[string]bool{}
	for _, l := range format.LeavesOf(s) {
		f := tableField{leaf: l, name: utf8Text([]byte(l.Name)), kind: l.Kind}
		switch l.Kind {
		case format.SimpleNone, format.SimpleJSON:
			f.kind = format.SimpleText
		case format.SimplePointer:
			f.kind = format.SimpleUint
		}
		if !seen[f.name] {
			seen[f.name] = true
			x.fields = append(x.fields, f)
		}
	}
}

var kindNames = map[format.SimpleKind]string{
	format.SimpleInt: "int", format.SimpleUint: "unsigned", format.SimpleFloat: "float", format.SimpleBool: "bool", format.SimpleText: "text",
}

// columnName is the name of a field's column: its own, or with its kind if the name is that of another column.
func (f *tableField) columnName(names map[string]*column) string {
	if c := names[f.name]; c == nil || c.kind == f.kind && c.isField() {
		return f.name
	}
	name := f.name + " (" + kindNames[f.kind] + ")"
	for {
		if c := names[name]; c == nil || c.kind == f.kind && c.isField() {
			return name
		}
		name += "'"
	}
}

// isField reports whether a column is not one that each event has.
func (c *column) isField() bool {
	for i := range fixedColumns {
		if fixedColumns[i].name == c.name {
			return false
		}
	}
	return true
}

func (t *table) event(ev *event.Event) error {
	x, c := t.sites[ev.Schema], t.file.columns
	c[columnTime].int(t.rows, ev.TimeNS+t.r.Trace.Info.WallOffset)
	c[columnMonotonic].int(t.rows, ev.TimeNS)
	c[columnCPU].int(t.rows, int64(ev.CPU))
	c[columnPid].int(t.rows, int64(ev.Pid))
	if ev.KnowsThread() {
		c[columnTid].int(t.rows, int64(ev.Tid))
	}
	c[columnComm].text(t.rows, []byte(utf8Text([]byte(ev.Comm))))
	c[columnPlace].text(t.rows, x.place)
	c[columnFunction].text(t.rows, x.function)
	if n := t.r.Stack(ev); n != 0 {
		t.text(c[columnStack], t.stack(n))
	}
	t.reasons = t.reasons[:0]
	read := -1
	for i := range x.fields {
		f := &x.fields[i]
		if f.leaf.Index != read {
			read, t.field = f.leaf.Index, ev.Value(f.leaf.Index)
		}
		t.value(f, ev)
	}
	if len(t.reasons) > 0 {
		t.text(c[columnUnavailable], string(t.reasons))
	}
	if t.rows++; t.rows < groupRows && t.bytes < groupBytes {
		return nil
	}
	err := t.file.group(t.rows)
	t.rows, t.bytes = 0, 0
	return err
}

func (t *table) text(c *column, s string) {
	c.text(t.rows, []byte(s))
	t.bytes += len(s)
}

func (t *table) value(f *tableField, ev *event.Event) {
	s := t.simples.Leaf(ev, &t.field, &f.leaf)
	switch s.Kind {
	case format.SimpleInt:
		f.column.int(t.rows, s.Int)
	case format.SimpleUint, format.SimplePointer:
		f.column.int(t.rows, int64(s.Uint))
	case format.SimpleBool:
		f.column.bool(t.rows, s.Uint != 0)
	case format.SimpleFloat:
		f.column.int(t.rows, int64(math.Float64bits(s.Float)))
	case format.SimpleText, format.SimpleJSON:
		t.text(f.column, utf8Text(s.Text))
	default:
		if why := t.field.Explain(); why != "" {
			if len(t.reasons) > 0 {
				t.reasons = append(t.reasons, "; "...)
			}
			t.reasons = append(append(append(t.reasons, f.name...), ": "...), why...)
		}
	}
}

// stack is a stack as text: its functions, outermost first.
func (t *table) stack(number uint32) string {
	s, ok := t.stacks[number]
	if !ok {
		var b []byte
		frames := t.r.Trace.State.Frames(number)
		for i := len(frames) - 1; i >= 0; i-- {
			if len(b) > 0 {
				b = append(b, ';')
			}
			b = append(b, report.FrameName(&frames[i])...)
		}
		s = utf8Text(b)
		t.stacks[number] = s
	}
	return s
}
