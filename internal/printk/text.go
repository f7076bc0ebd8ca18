package printk

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/event"
)

// Describe returns the data for printing an event's records on any machine. It resolves names and types by r
// now; r may be nil.
func Describe(ev *tracefs.Event, r *Resolver) *event.KernelText {
	t := &event.KernelText{Event: ev.Name, Format: ev.PrintFmt}
	if r != nil {
		t.HZ = r.HZ
	}
	if name, enter := ev.SyscallName(); name != "" {
		t.Call, t.Return, t.Format = name, !enter, ""
		for _, a := range newSyscallText(ev, name, enter).args {
			t.Args = append(t.Args, event.TextArg{Name: a.name, Offset: int64(a.off)})
		}
		return t
	}
	for _, f := range ev.Fields {
		t.Fields = append(t.Fields, event.TextField{Name: f.Name, Type: f.Type, Offset: f.Offset, Size: f.Size, Signed: f.Signed})
	}
	f, err := Parse(ev.PrintFmt, ev.Fields)
	if err != nil {
		return t // the printer reports the reason
	}
	names := f.Names()
	t.TickCount = slices.Contains(names, jiffies)
	for _, n := range names {
		if v, ok := r.enumerator(n); ok {
			t.Constants = append(t.Constants, event.TextConstant{Name: n, Value: v})
		} else if v, ok := r.variable(n); ok && n != jiffies {
			t.Constants = append(t.Constants, event.TextConstant{Name: n, Value: int64(v), Variable: true})
		}
	}
	for _, n := range f.TypeNames() {
		if typ := r.typ(n); typ != nil {
			t.Types = append(t.Types, event.TextType{Name: n, Type: typ})
		}
	}
	return t
}

// TypeNames lists the types that the format needs from a resolver.
func (f *Format) TypeNames() []string {
	var out []string
	for _, a := range f.args {
		walk(a, func(n node) {
			var t *typeName
			switch n := n.(type) {
			case *cast:
				t = n.typ
			case *sizeof:
				t = n.typ
			case *declare:
				t = n.typ
			}
			if t != nil && t.fixed == nil && !slices.Contains(out, t.name) {
				out = append(out, t.name)
			}
		})
	}
	return out
}

// Printer prints the records of one event from its data. It must be used from one goroutine.
type Printer struct {
	f      *Format
	r      Resolver
	refuse string // the text to print if the format cannot be parsed
	time   int64  // of the record that is printed
}

// NewPrinter parses the format of t. names resolves kernel addresses; it may be nil.
func NewPrinter(t *event.KernelText, names event.KernelNames) *Printer {
	p := &Printer{}
	p.r.HZ = t.HZ
	if names != nil {
		p.r.Symbol, p.r.String = names.KernelSymbol, names.KernelString
	}
	constants := map[string]event.TextConstant{}
	for _, c := range t.Constants {
		constants[c.Name] = c
	}
	p.r.Enumerator = func(name string) (int64, bool) {
		c, ok := constants[name]
		return c.Value, ok && !c.Variable
	}
	p.r.Variable = func(name string) (uint64, bool) {
		c, ok := constants[name]
		return uint64(c.Value), ok && c.Variable
	}
	types := map[string]*ctype.Type{}
	for _, x := range t.Types {
		types[x.Name] = x.Type
	}
	p.r.Type = func(name string) *ctype.Type { return types[name] }
	if t.TickCount {
		p.r.Jiffies = func(record []byte) (uint64, bool) { return tickCount(record, p.time, t.HZ) }
	}
	if t.Call != "" {
		s := &syscallText{name: "sys_" + t.Call, exit: t.Return}
		for _, a := range t.Args {
			s.args = append(s.args, syscallArg{a.Name, int(a.Offset)})
		}
		p.f = &Format{call: s}
		return p
	}
	fields := make([]tracefs.Field, len(t.Fields))
	for i, f := range t.Fields {
		fields[i] = tracefs.Field{Name: f.Name, Type: f.Type, Offset: f.Offset, Size: f.Size, Signed: f.Signed}
	}
	f, err := Parse(t.Format, fields)
	if err != nil {
		p.refuse = fmt.Sprintf("<cannot parse the print format: %v>", err)
		return p
	}
	f.name = t.Event + ": "
	p.f = f
	return p
}

// Line appends the text of a record as in the kernel's `trace` file after the time. time is the record's,
// CLOCK_MONOTONIC in nanoseconds.
func (p *Printer) Line(dst, record []byte, time int64) []byte {
	if p.f == nil {
		return append(dst, p.refuse...)
	}
	p.time = time
	return p.f.Line(dst, record, &p.r)
}

// tickCount returns the kernel's tick count at the time of a record. The record has its low 32 bits. The high
// bits are computed from the uptime: the low 32 bits first become zero 300 seconds after the start.
func tickCount(record []byte, time int64, hz uint64) (uint64, bool) {
	low, ok := load(record, 0, 4)
	if !ok || hz == 0 || time <= 0 {
		return 0, false
	}
	about := 1<<32 - 300*hz + uint64(time)/1e9*hz
	return about + uint64(int64(int32(uint32(low)-uint32(about)))), true
}
