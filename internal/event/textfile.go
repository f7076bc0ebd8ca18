package event

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// textJSON is a KernelText in the file.
type textJSON struct {
	Event     text            `json:"event"`
	Format    text            `json:"format,omitempty"`
	Fields    []textFieldJSON `json:"fields,omitempty"`
	Call      text            `json:"call,omitempty"`
	Return    bool            `json:"return,omitempty"`
	Args      []textArgJSON   `json:"args,omitempty"`
	HZ        uint64          `json:"hz,omitempty"`
	TickCount bool            `json:"tick_count,omitempty"`
	Constants []constantJSON  `json:"constants,omitempty"`
	Types     []namedTypeJSON `json:"types,omitempty"`
}

type textFieldJSON struct {
	Name   text  `json:"name"`
	Type   int   `json:"type"`
	Offset int64 `json:"offset"`
	Size   int64 `json:"size"`
	Signed bool  `json:"signed,omitempty"`
}

type textArgJSON struct {
	Name   text  `json:"name,omitempty"`
	Offset int64 `json:"offset"`
}

type constantJSON struct {
	Name     text  `json:"name"`
	Value    int64 `json:"value"`
	Variable bool  `json:"variable,omitempty"`
}

type namedTypeJSON struct {
	Name text `json:"name"`
	Type int  `json:"type"`
}

// text returns the number of a text, 0 for nil.
func (e *encoder) text(t *KernelText) int {
	if t == nil {
		return 0
	}
	if n, ok := e.texts[t]; ok {
		return n
	}
	x := textJSON{Event: text(t.Event), Format: text(t.Format), Call: text(t.Call), Return: t.Return, HZ: t.HZ, TickCount: t.TickCount}
	for _, f := range t.Fields {
		x.Fields = append(x.Fields, textFieldJSON{text(f.Name), e.types.add(f.Type, true), f.Offset, f.Size, f.Signed})
	}
	for _, a := range t.Args {
		x.Args = append(x.Args, textArgJSON{text(a.Name), a.Offset})
	}
	for _, c := range t.Constants {
		x.Constants = append(x.Constants, constantJSON{text(c.Name), c.Value, c.Variable})
	}
	for _, y := range t.Types {
		x.Types = append(x.Types, namedTypeJSON{text(y.Name), e.types.add(y.Type, true)})
	}
	e.file.Texts = append(e.file.Texts, x)
	if e.texts == nil {
		e.texts = map[*KernelText]int{}
	}
	e.texts[t] = len(e.file.Texts)
	return len(e.file.Texts)
}

func (d *decoder) text(x *textJSON) (*KernelText, error) {
	t := &KernelText{
		Event: string(x.Event), Format: string(x.Format), Call: string(x.Call), Return: x.Return, HZ: x.HZ, TickCount: x.TickCount,
	}
	inside := func(n int64) bool { return n >= 0 && n <= maxRecord }
	for _, f := range x.Fields {
		y, err := d.known(f.Type)
		if err != nil {
			return nil, err
		}
		if !inside(f.Offset) || !inside(f.Size) {
			return nil, errors.New("a field is outside the record")
		}
		t.Fields = append(t.Fields, TextField{string(f.Name), y, f.Offset, f.Size, f.Signed})
	}
	for _, a := range x.Args {
		if !inside(a.Offset) {
			return nil, errors.New("an argument is outside the record")
		}
		t.Args = append(t.Args, TextArg{string(a.Name), a.Offset})
	}
	for _, c := range x.Constants {
		t.Constants = append(t.Constants, TextConstant{string(c.Name), c.Value, c.Variable})
	}
	for _, n := range x.Types {
		y, err := d.known(n.Type)
		if err != nil {
			return nil, err
		}
		t.Types = append(t.Types, TextType{string(n.Name), y})
	}
	return t, nil
}

// known returns a type that must exist.
func (d *decoder) known(n int) (*ctype.Type, error) {
	t, err := d.types.get(n)
	if err == nil && t == nil {
		err = errors.New("a type is missing")
	}
	return t, err
}
