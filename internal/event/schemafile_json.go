package event

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

type fileJSON struct {
	Format  string       `json:"format"`
	Version int          `json:"version"`
	Types   []typeJSON   `json:"types,omitempty"`
	Texts   []textJSON   `json:"texts,omitempty"`
	Schemas []schemaJSON `json:"schemas"`
	Names   namesJSON    `json:"names,omitzero"`
}

type schemaJSON struct {
	Site       uint32      `json:"site"`
	Place      text        `json:"place,omitempty"`
	Function   text        `json:"function,omitempty"`
	File       text        `json:"file,omitempty"`
	Line       int         `json:"line,omitempty"`
	Moved      int         `json:"moved,omitempty"`
	PC         uint64      `json:"pc,omitempty"`
	Size       int         `json:"size"`
	Short      int         `json:"short,omitempty"`
	Stack      int         `json:"stack,omitempty"`
	Kernel     bool        `json:"kernel,omitempty"`
	Comm       int         `json:"comm,omitempty"`
	TextArrays bool        `json:"text_arrays,omitempty"`
	Flat       bool        `json:"flat,omitempty"`
	Elapsed    []Elapsed   `json:"elapsed,omitempty"`
	Fields     []fieldJSON `json:"fields,omitempty"`
}

type fieldJSON struct {
	Name   text `json:"name,omitempty"`
	Group  text `json:"group,omitempty"`
	Kind   word `json:"kind"`
	Type   int  `json:"type,omitempty"`
	Offset int  `json:"offset,omitempty"`
	Size   int  `json:"size,omitempty"`
	// Status is StatusOffset+1, 0 if the field cannot fail.
	Status int        `json:"status,omitempty"`
	Static word       `json:"static,omitempty"`
	Reason text       `json:"reason,omitempty"`
	Show   *showJSON  `json:"show,omitempty"`
	String *slotJSON  `json:"string,omitempty"`
	Addr   int        `json:"address,omitempty"`
	Text   int        `json:"text,omitempty"` // number in the table of texts, from 1
	Gaps   []gapJSON  `json:"gaps,omitempty"`
	Bases  []baseJSON `json:"bases,omitempty"`
	Texts  []partJSON `json:"texts,omitempty"`
	Grid   *gridJSON  `json:"grid,omitempty"`
}

// gapJSON is the first bit of a gap, and the bit behind it.
type gapJSON [2]int64

type showJSON struct {
	Letter text `json:"letter,omitempty"`
	Size   text `json:"size,omitempty"`
	Count  int  `json:"count,omitempty"`
}

type slotJSON struct {
	Offset int `json:"offset"`
	Size   int `json:"size"`
	Status int `json:"status,omitempty"`
}

type namesJSON struct {
	Symbols map[uint64]text       `json:"symbols,omitempty"`
	Kernel  map[uint64]symbolJSON `json:"kernel,omitempty"`
	Strings map[uint64]text       `json:"strings,omitempty"`
}

type symbolJSON struct {
	Name   text   `json:"name"`
	Offset uint64 `json:"offset,omitempty"`
	Size   uint64 `json:"size,omitempty"`
	Module text   `json:"module,omitempty"`
}

// text is a string that may have bytes which are not UTF-8, because names come from other people's files.
// Such a string is written as {"bytes": base64}.
type text string

type bytesJSON struct {
	Bytes string `json:"bytes"`
}

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(bytesJSON{base64.StdEncoding.EncodeToString([]byte(t))})
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var x bytesJSON
		if err := json.Unmarshal(b, &x); err != nil {
			return err
		}
		raw, err := base64.StdEncoding.DecodeString(x.Bytes)
		*t = text(raw)
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}

// word is a name of an enumerated value.
type word string

// words are the names of the values of an enumeration, by number. An empty word stands for a value that is
// left out of the file.
type words []word

func (w words) of(n int) (word, error) {
	if n < 0 || n >= len(w) {
		return "", fmt.Errorf("BUG: no word for the value %d", n)
	}
	return w[n], nil
}

func (w words) number(x word) (int, error) {
	for n := range w {
		if w[n] == x {
			return n, nil
		}
	}
	return 0, fmt.Errorf("unknown word %q: a newer jalon wrote it", x)
}
