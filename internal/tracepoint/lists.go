package tracepoint

import "github.com/jalon-trace/jalon/internal/lang"

// Lists are all collect lists of a tracepoint as one text, since a record has
// one list of fields.
type Lists struct {
	Text  string
	Items []lang.Collect
	parts []part
}

type part struct {
	from Text
	lo   int // where it starts in the joined text
}

// Join parses the collect lists of a tracepoint.
func (tp *Tracepoint) Join(isType func(string) bool) (*Lists, error) {
	l := &Lists{}
	var bad lang.Diagnostics
	for _, t := range tp.Lists {
		if l.Text != "" {
			l.Text += ", "
		}
		lo := len(l.Text)
		// Each list by itself first: what is wrong in it is shown in it.
		if _, err := lang.ParseCollect(t.Text, isType); err != nil {
			bad = Append(bad, t.Within(lang.Named(err, t.Source)))
			continue
		}
		l.Text += t.Text
		l.parts = append(l.parts, part{t, lo})
	}
	if len(bad) > 0 {
		return nil, bad.Err()
	}
	if l.Text == "" {
		return l, nil
	}
	items, err := lang.ParseCollect(l.Text, isType)
	if err != nil {
		return nil, lang.Named(err, "collect")
	}
	l.Items = items
	return l, nil
}

func (l *Lists) partAt(pos int) *part {
	for i := len(l.parts) - 1; i >= 0; i-- {
		if l.parts[i].lo <= pos {
			return &l.parts[i]
		}
	}
	return nil
}

// Within moves diagnostics about the joined lists to the list or file they are
// about; those about the condition go to where the condition stands.
func (l *Lists) Within(tp *Tracepoint, err error) error {
	var out lang.Diagnostics
	for _, d := range Append(nil, err) {
		if d.Source != "collect" {
			out = Append(out, tp.Cond.Within(d))
			continue
		}
		p := l.partAt(d.Span.Lo)
		if p == nil {
			out = append(out, d)
			continue
		}
		moved := *d
		moved.Text, moved.Source = p.from.Text, p.from.Source
		moved.Span = lang.Span{Lo: d.Span.Lo - p.lo, Hi: min(d.Span.Hi-p.lo, len(p.from.Text))}
		out = Append(out, p.from.Within(&moved))
	}
	return out.Err()
}
