package report

import (
	"cmp"
	"slices"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/lang"
)

// view shows of the events of a schema the fields that the user chose: recorded ones as they are, and computed ones.
type view struct {
	schema   event.Schema
	items    []int    // by field: its number in the user's list
	from     []int    // by field: the recorded field that it is; -1: it is computed
	list     *program // of the computed fields; nil: there are none
	computed []int
	ev       event.Event
	raw      []byte
}

// views makes the views of all schemas. some: a place that has not all items shows those that it has; otherwise it is skipped.
func (r *Reader) views(items []lang.Collect, some bool) error {
	for i := range items {
		if err := unknownNames(items[i].X, items[i].From, r.scopes); err != nil && !r.isField(items[i].Text) && len(r.scopes) > 0 {
			return err
		}
	}
	var first error
	done := 0
	r.items = len(items)
	for _, sc := range r.scopes {
		x := r.sites[sc.schema]
		if x.skip {
			continue
		}
		v, err := sc.view(items)
		switch {
		case err == nil:
			v.items = numbersTo(len(items))
		case !isUsers(err):
			return err
		default:
			have, missing := sc.has(items, r.all)
			if some && len(have) > 0 && len(missing) > 0 {
				v, err = sc.partOf(items, have)
			} else if why := lackText(missing); why != "" {
				r.skip(sc, why)
				continue
			}
		}
		if err != nil {
			r.skip(sc, reason(err))
			first = cmp.Or(first, err)
			continue
		}
		x.view = v
		done++
	}
	if done == 0 {
		return first
	}
	return nil
}

func numbersTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// has are the numbers of the items for which a place has all fields, if one of them is more than a word, and the fields of the others.
func (sc *scope) has(items []lang.Collect, all *union) (have []int, missing []string) {
	fields := false
	for i, it := range items {
		if names := sc.lacks(it.X, all); len(names) > 0 && sc.fieldNamed(it.Text) < 0 {
			missing = append(missing, names...)
			continue
		}
		have = append(have, i)
		w, isReg := it.X.(*lang.Reg)
		fields = fields || !isReg || !isWord(w.Name)
	}
	if !fields {
		have = nil
	}
	return have, missing
}

// partOf is the view of some items of a list.
func (sc *scope) partOf(items []lang.Collect, numbers []int) (*view, error) {
	var part []lang.Collect
	for _, i := range numbers {
		part = append(part, items[i])
	}
	v, err := sc.view(part)
	if err == nil {
		v.items = numbers
	}
	return v, err
}

// Columns are the names of the fields that events can have, in the order of the list that the user gave.
func (r *Reader) Columns() (list []string) {
	for i := range r.items {
		for _, sc := range r.scopes {
			x := r.sites[sc.schema]
			if x.view == nil {
				continue
			}
			if n := slices.Index(x.view.items, i); n >= 0 {
				list = append(list, x.view.schema.Fields[n].Name)
			}
		}
	}
	return list
}

func (r *Reader) isField(name string) bool {
	return slices.ContainsFunc(r.scopes, func(sc *scope) bool { return sc.fieldNamed(name) >= 0 })
}

// fieldNamed is the recorded field with a name as it was written, -1 if there is none.
func (sc *scope) fieldNamed(name string) int {
	return slices.IndexFunc(sc.schema.Fields, func(f event.Field) bool { return f.Name == name })
}

// view compiles the items of a list.
func (sc *scope) view(items []lang.Collect) (*view, error) {
	v := &view{schema: *sc.schema}
	v.schema.Fields = nil
	var computed []lang.Collect
	var at []int // their places in the list
	for _, it := range items {
		n := sc.fieldNamed(it.Text)
		if n < 0 {
			if x, d := lang.Decide(it.X, sc.isType); d == nil {
				if name, ok := sc.forms[lang.String(x)]; ok {
					n = sc.fieldNamed(name)
				}
			}
		}
		w, isReg := it.X.(*lang.Reg)
		switch {
		case n >= 0:
			f := sc.schema.Fields[n]
			if it.Format != (lang.Format{}) {
				f.Show = event.Show{Letter: it.Format.Letter, Size: it.Format.Size, Count: it.Format.Count}
			}
			v.schema.Fields, v.from = append(v.schema.Fields, f), append(v.from, n)
		case isReg && isWord(w.Name):
			v.schema.Fields, v.from = append(v.schema.Fields, event.Field{Name: "$" + w.Name, Kind: event.Header, StatusOffset: -1}), append(v.from, -1)
		default:
			v.schema.Fields, v.from = append(v.schema.Fields, event.Field{}), append(v.from, -1)
			at = append(at, len(v.from)-1)
			computed = append(computed, it)
		}
	}
	if len(computed) > 0 {
		p, err := sc.list(computed)
		if err != nil {
			return nil, err
		}
		v.list = p
		v.place(at)
	}
	return v, nil
}

// place gives the computed fields their slots: what is collected is behind the record.
func (v *view) place(at []int) {
	base := v.schema.RecordSize
	for i, f := range v.list.schema.Fields {
		if i == len(at) {
			break
		}
		f.Offset += base
		if f.StatusOffset >= 0 {
			f.StatusOffset += base
		}
		if f.StrSize > 0 {
			f.StrOffset += base
			if f.StrStatusOffset >= 0 {
				f.StrStatusOffset += base
			}
		}
		f.AddrOffset, f.Bases = 0, nil // addresses of the record, which are none of the program
		if f.Reason == "" {
			f.Reason = notInTrace
		}
		v.schema.Fields[at[i]] = f
	}
	v.computed = at
	v.schema.RecordSize += v.list.schema.RecordSize
}

const notInTrace = "the trace does not have what it is computed from"

// show returns an event with the fields of the view, valid until the next call.
func (v *view) show(ev *event.Event) *event.Event {
	v.ev = *ev
	v.ev.Schema = &v.schema
	if v.list == nil {
		return &v.ev
	}
	rec, _, _ := v.list.run(ev)
	v.raw = append(append(v.raw[:0], ev.Raw[:v.schema.RecordSize-v.list.schema.RecordSize]...), rec...)
	for _, i := range v.computed {
		v.settle(&v.schema.Fields[i])
	}
	v.ev.Raw = v.raw
	return &v.ev
}

// settle replaces states that mean something in a program only.
func (v *view) settle(f *event.Field) {
	if f.Static != event.OK || f.Kind == event.Header {
		return
	}
	if f.StatusOffset >= 0 && event.Status(v.raw[f.StatusOffset]) == event.Unreadable {
		v.raw[f.StatusOffset] = byte(event.Unsupported)
	}
	if f.StrSize > 0 && f.StrStatusOffset >= 0 && event.Status(v.raw[f.StrStatusOffset]) == event.Unreadable {
		v.raw[f.StrStatusOffset] = byte(event.Unsupported)
	}
}

// isWord reports whether $name has a value in each event.
func isWord(name string) bool {
	for _, w := range words {
		if w.name == name {
			return true
		}
	}
	return false
}
