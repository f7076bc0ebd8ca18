package event

import (
	"errors"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// MemberText is the text at a pointer that is a part of a recorded value, or the content of a part that is an object of
// a string class or a container. It has a Counted slot of its own.
type MemberText struct {
	In      *ctype.Type // of the part, stripped
	At      int64       // of the part in the value, bytes
	Chars   *ctype.Type // of the characters
	Content bool        // the part is an object of a string class or a container
	// Elements: the part is a container; Chars is the type of its elements. If they were not read, the part's own
	// bytes are its value.
	Elements bool
	// Of, if not 0, is 1 and the index of the container of the same list whose elements have the part; At is then counted from the
	// first element.
	Of int
	// Grid: the part is an array of Fortran; Chars is the type of the elements.
	Grid         *Grid
	Offset, Size int
	StatusOffset int // as Field.StatusOffset
}

// Text returns the text of a part of the value.
func (v *Value) Text(t *MemberText) String {
	if v.event == nil {
		return String{Status: Unsupported}
	}
	return v.event.counted(t.Offset, t.Size, t.StatusOffset)
}

// Elements is the array that a part of the value is.
func (v *Value) Elements(t *MemberText) Value {
	f := &Field{Name: "", Type: ctype.ArrayOf(t.Chars, -1), Kind: Counted, Offset: t.Offset, Size: t.Size, StatusOffset: t.StatusOffset, Grid: t.Grid}
	if v.event == nil {
		return Value{Field: f, Status: Unsupported}
	}
	return v.event.valueOf(f)
}

// partJSON is a MemberText in a schema file.
type partJSON struct {
	In       int       `json:"in"`
	At       int64     `json:"at,omitempty"`
	Chars    int       `json:"chars"`
	Content  bool      `json:"content,omitempty"`
	Elements bool      `json:"elements,omitempty"`
	Of       int       `json:"of,omitempty"`
	Grid     *gridJSON `json:"grid,omitempty"`
	slotJSON
}

func (e *encoder) memberTexts(list []MemberText) (out []partJSON) {
	for i := range list {
		t := &list[i]
		out = append(out, partJSON{
			e.types.add(t.In, true), t.At, e.types.add(t.Chars, true), t.Content, t.Elements, t.Of, e.grid(t.Grid), slotJSON{t.Offset, t.Size, t.StatusOffset + 1},
		})
	}
	return out
}

// maxMemberTexts bounds the texts of a field in a schema file.
const maxMemberTexts = 1 << 12

func (d *decoder) memberTexts(list []partJSON) (out []MemberText, err error) {
	if len(list) > maxMemberTexts {
		return nil, errors.New("it has too many texts")
	}
	for i := range list {
		x := &list[i]
		if !inRecord(x.Offset) || !inRecord(x.Size) || !inRecord(x.Status) {
			return nil, errors.New("a text is outside the record")
		}
		if x.Of < 0 || x.Of > i || x.Of > 0 && !list[x.Of-1].Elements {
			return nil, errors.New("a text is in no elements")
		}
		t := MemberText{At: x.At, Content: x.Content, Elements: x.Elements, Of: x.Of, Offset: x.Offset, Size: x.Size, StatusOffset: x.Status - 1}
		if t.In, err = d.types.get(x.In); err != nil {
			return nil, err
		}
		if t.Chars, err = d.types.get(x.Chars); err != nil {
			return nil, err
		}
		if t.Grid, err = d.grid(x.Grid, Counted); err != nil {
			return nil, err
		}
		if t.In == nil || t.Chars == nil {
			return nil, errors.New("a text has no type")
		}
		out = append(out, t)
	}
	return out, nil
}
