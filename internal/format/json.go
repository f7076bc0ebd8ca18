package format

import (
	"io"
	"strconv"

	"github.com/jalon-trace/jalon/internal/event"
)

// JSONOptions says how JSON shows events. The zero value is ready for use.
type JSONOptions struct {
	Unwind Unwinder                 // frames for $bt; nil shows the innermost only, or addresses where the kernel gave them
	Symbol func(addr uint64) string // names of frames shown without Unwind; may be nil
	// Kernel names the kernel's addresses in texts of $_sdata; may be nil.
	Kernel event.KernelNames
}

var _ = addOutput(Output{Name: "json", Doc: "one object per line", order: 1, New: func(w io.Writer, t *Trace) Sink {
	return NewJSON(w, JSONOptions{Kernel: t.Kernel, Unwind: t.Unwind, Symbol: t.Symbol})
}})

// JSON writes an event as one JSON object on one line:
//
//	{"time":ns,"cpu":1,"pid":4242,"tid":4243,"comm":"prog","place":"main.c:9",
//	 "function":"main","values":{"2*i+9*j":31},"errors":{"p->x":"unreadable address 0x10"}}
//
// "line":12 follows place where the line that it names has no code: it is the one that is traced.
//
// time is CLOCK_MONOTONIC in nanoseconds, null with --clock none. tid is null if the thread is not known: several
// threads have the same thread pointer. The keys of values are the expressions
// as written, in their order; an expression written twice is there once. A
// value that could not be taken is in errors only. The values:
//
//   - integers and characters are numbers, exact at any size; _Bool is true or
//     false; enums are the name ("A | B" for flags), or the number when it has none;
//   - floating numbers have enough digits to distinguish them from their
//     neighbours; those that JSON has no number for are "NaN", "Infinity" and
//     "-Infinity"; complex ones are {"re":1,"im":2};
//   - pointers are strings, "0x55d4c1b2a139". A char * is the string it points
//     to, null when it is the null pointer or (with an entry in errors) unreadable.
//     Inside of a struct, union or array that was collected whole too, up to 48 strings; further ones are
//     pointers. If one could not be read or is cut off, errors has an entry for the whole;
//   - arrays of char and of wide characters are strings, without the NULs at
//     their end. Arrays of signed char and unsigned char are arrays of numbers,
//     unless collected with /s. Other arrays are arrays, all of them, however long.
//     A flexible member of a struct is a pointer, null where its address is not known;
//   - structs and unions are objects; members of anonymous members are beside
//     the others, base classes are members with the name of the class;
//   - $args and $locals are objects of their variables ("$args.p" is the key in
//     errors), and so are $args@1 and $locals@1, without what the caller does not have; $regs is an object of numbers, with rsp, rbp and rip as pointers;
//     $bt is an array of {"pc":"0x..","function":"..","offset":4,"file":"..","line":9,"module":".."},
//     from which unknown things are absent;
//   - $_sdata is an object of the fields of the kernel's record, and "text", what
//     the kernel would print of it ("$text" where a field has that name). Dynamic
//     arrays are strings or arrays, null where the record ends before they do.
//
// Members that are optimised out are null in a struct, array or complex number that has other members with
// a value; errors has an entry for the whole ("partly optimised out"). So are virtual bases that could not be
// read. A virtual base that several bases share is there once, where it comes first.
//
// Format letters other than /s change nothing here. A string or array that is
// longer than was taken has an entry in errors that says so.
//
// Text is UTF-8. A byte B that is not part of valid UTF-8 is written as the
// escape \udcBB (Python's "surrogateescape"), which valid text never has, so
// no byte is lost.
type JSON struct {
	output
	o      JSONOptions
	texts  kernelTexts
	plans  map[*event.Schema]*jsonPlan
	last   *event.Schema
	plan   *jsonPlan
	errors []byte
	value  event.Value // here to avoid an allocation for each field
}

// NewJSON returns a JSON that writes to w.
func NewJSON(w io.Writer, o JSONOptions) *JSON {
	return &JSON{output: output{w: w}, o: o, texts: kernelTexts{names: o.Kernel}, plans: map[*event.Schema]*jsonPlan{}}
}

// jsonPlan is the part that is the same in all events of a schema.
type jsonPlan struct {
	where []byte // ,"place":...,"values":{
	keys  []jsonKey
}

type jsonKey struct {
	skip  bool
	key   []byte // "name":
	err   []byte // "name": or "$args.name":
	open  []byte // "$args":{ before the first of a group
	close bool   // } behind the last of a group
}

func newPlan(s *event.Schema) *jsonPlan {
	p := &jsonPlan{keys: make([]jsonKey, len(s.Fields))}
	p.where = appendString(append(p.where, `,"place":`...), s.Place)
	if s.Moved > 0 {
		p.where = appendInt(append(p.where, `,"line":`...), int64(s.Moved))
	}
	p.where = appendString(append(p.where, `,"function":`...), s.Function)
	p.where = append(p.where, `,"values":{`...)
	seen := map[[2]string]bool{}
	done := map[string]bool{} // groups that are closed
	last := -1                // the last key that was not skipped
	for i := range s.Fields {
		f := &s.Fields[i]
		k := &p.keys[i]
		if isCallString(f) { // part of its record
			k.skip = true
			continue
		}
		if seen[[2]string{f.Group, f.Name}] || f.Group != "" && done[f.Group] || f.Group == "" && done[f.Name] {
			k.skip = true
			continue
		}
		seen[[2]string{f.Group, f.Name}] = true
		k.key = append(appendString(nil, f.Name), ':')
		k.err = k.key
		if f.Group != "" {
			k.err = append(appendString(nil, f.Group+"."+f.Name), ':')
		}
		before := ""
		if last >= 0 {
			before = s.Fields[last].Group
		}
		if before != f.Group {
			if before != "" {
				p.keys[last].close = true
				done[before] = true
			}
			if f.Group != "" {
				k.open = append(appendString(nil, f.Group), ':', '{')
			}
		}
		last = i
	}
	if last >= 0 && s.Fields[last].Group != "" {
		p.keys[last].close = true
	}
	return p
}

func (j *JSON) planOf(s *event.Schema) *jsonPlan {
	if s == j.last {
		return j.plan
	}
	p := j.plans[s]
	if p == nil {
		p = newPlan(s)
		j.plans[s] = p
	}
	j.last, j.plan = s, p
	return p
}

// Event writes the line of an event.
func (j *JSON) Event(ev *event.Event) error {
	plan := j.planOf(ev.Schema)
	b := append(j.buf, `{"time":`...)
	if ev.Untimed {
		b = append(b, "null"...)
	} else {
		b = appendInt(b, ev.TimeNS)
	}
	b = appendInt(append(b, `,"cpu":`...), int64(ev.CPU))
	b = appendInt(append(b, `,"pid":`...), int64(ev.Pid))
	if b = append(b, `,"tid":`...); ev.KnowsThread() {
		b = appendInt(b, int64(ev.Tid))
	} else {
		b = append(b, "null"...)
	}
	b = appendString(append(b, `,"comm":`...), ev.Comm)
	b = append(b, plan.where...)
	j.errors = j.errors[:0]
	for i := range plan.keys {
		k := &plan.keys[i]
		if k.skip {
			continue
		}
		if k.open != nil {
			b = append(comma(b), k.open...)
		}
		j.value = ev.Value(i)
		v := &j.value
		if hidden, all := otherFrame(ev, v, i); hidden {
			if all {
				j.fail(&jsonKey{err: append(appendString(nil, v.Field.Group), ':')}, v.Explain())
			}
		} else if v.Status != event.OK {
			j.fail(k, v.Explain())
		} else {
			b = append(comma(b), k.key...)
			b = j.field(b, ev, v, k)
		}
		if k.close {
			b = append(b, '}')
		}
	}
	b = append(b, `},"errors":{`...)
	b = append(append(b, j.errors...), '}')
	if ev.Overwritten {
		b = append(b, `,"overwritten":true`...)
	}
	b = append(b, '}', '\n')
	j.buf = b
	return j.eventsEnd(1)
}

// comma writes a separator if there is text before it.
func comma(b []byte) []byte {
	switch b[len(b)-1] {
	case '{', '[':
		return b
	}
	return append(b, ',')
}

func (j *JSON) fail(k *jsonKey, why string) {
	if len(j.errors) > 0 {
		j.errors = append(j.errors, ',')
	}
	j.errors = append(j.errors, k.err...)
	j.errors = appendString(j.errors, why)
}

// field writes an available value.
func (j *JSON) field(b []byte, ev *event.Event, v *event.Value, k *jsonKey) []byte {
	f := v.Field
	switch f.Kind {
	case event.Header:
		n, s, isString := headerValue(ev, f.Name)
		if isString {
			return appendString(b, s)
		}
		return appendInt(b, n)
	case event.Regs:
		return jsonRegs(b, v.Data)
	case event.SData:
		if v.Truncated {
			j.fail(k, "truncated after "+strconv.Itoa(len(v.Data))+" bytes")
		}
		return j.jsonSData(b, ev, v)
	case event.Stack, event.KernelFrames, event.UserFrames:
		return jsonFrames(b, frames(j.o.Unwind, &Printer{Symbol: j.o.Symbol}, ev, v))
	case event.Counted:
		if v.Truncated {
			j.fail(k, "truncated after "+strconv.Itoa(len(v.Data))+" bytes")
		}
		return jsonCounted(b, v)
	}
	if f.Type == nil {
		return append(b, "null"...)
	}
	if v.Str != nil {
		return j.pointed(b, v, k)
	}
	if why := Partly(v, j.o.Symbol); why != "" {
		j.fail(k, why)
	}
	return appendJSON(b, f.Type, valueItem(v, j.o.Symbol), f.Show.Letter == 's', nil)
}

// pointed writes the string that a char * points to.
func (j *JSON) pointed(b []byte, v *event.Value, k *jsonKey) []byte {
	if isZero(v.Data) {
		return append(b, "null"...)
	}
	if v.Str.Status != event.OK {
		j.fail(k, event.Explain(v.Str.Status, v.Str.Addr, ""))
		return append(b, "null"...)
	}
	if v.Str.Truncated {
		j.fail(k, "truncated after "+strconv.Itoa(len(v.Str.Data))+" bytes")
	}
	return appendChars(b, stringChars(v.Field.Type), v.Str.Data)
}

func jsonCounted(b []byte, v *event.Value) []byte { return jsonCountedItem(b, v, valueItem(v, nil)) }

func jsonCountedItem(b []byte, v *event.Value, it item) []byte {
	if len(v.Counts) > 1 {
		return jsonGrid(b, v)
	}
	elem := countedElem(v.Field)
	if elem == nil {
		return appendChars(b, stringChars(v.Field.Type), v.Data)
	}
	size := elem.Strip().Size
	if size <= 0 {
		return append(b, "null"...)
	}
	return jsonArray(b, elem, it, int64(len(v.Data))/size, size, v.Field.Show.Letter == 's', nil)
}

func jsonRegs(b, data []byte) []byte {
	b = append(b, '{')
	for i, name := range regNames {
		b = append(comma(b), '"')
		b = append(append(b, name...), '"', ':')
		switch i {
		case regFP, regSP, regPC:
			b = jsonPointer(b, register(data, i))
		default:
			b = appendInt(b, int64(register(data, i)))
		}
	}
	return append(b, '}')
}

func jsonPointer(b []byte, v uint64) []byte {
	return append(appendHex(append(b, '"'), v), '"')
}

func jsonFrames(b []byte, list []Frame) []byte {
	b = append(b, '[')
	for i := range list {
		f := &list[i]
		b = append(comma(b), `{"pc":`...)
		b = jsonPointer(b, f.PC)
		if f.Function != "" {
			b = appendString(append(b, `,"function":`...), f.Function)
			b = strconv.AppendUint(append(b, `,"offset":`...), f.Offset, 10)
		}
		if f.File != "" {
			b = appendString(append(b, `,"file":`...), f.File)
			b = appendInt(append(b, `,"line":`...), int64(f.Line))
		}
		if f.Module != "" {
			b = appendString(append(b, `,"module":`...), f.Module)
		}
		if f.Inlined {
			b = append(b, `,"inlined":true`...)
		}
		if f.Cut != "" {
			b = appendString(append(b, `,"cut":`...), f.Cut)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}
