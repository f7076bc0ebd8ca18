// Package figure writes what a benchmark measured to a file, which the tables of the papers are made from.
package figure

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// Figure is one cell of a benchmark's table.
type Figure struct {
	Table  string  `json:"table"`
	Row    string  `json:"row"`
	Column string  `json:"column,omitempty"`
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Values int     `json:"values"` // how many the median is of
	Note   string  `json:"note,omitempty"`
}

// Of makes a figure of the values of all rounds. Without values, note is the reason.
func Of(table, row, column string, values []float64, note string) Figure {
	f := Figure{Table: table, Row: row, Column: column, Values: len(values), Note: note}
	if len(values) == 0 {
		return f
	}
	s := slices.Sorted(slices.Values(values))
	f.Low, f.Median, f.High = s[0], s[len(s)/2], s[len(s)-1]
	return f
}

// File is the content of a file of figures.
type File struct {
	Machine string   `json:"machine"` // kernel and processor
	Unit    string   `json:"unit"`
	Figures []Figure `json:"figures"`
}

// Write writes a file of figures.
func Write(path string, f *File) error {
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

// Read reads a file of figures.
func Read(path string) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := &File{}
	if err := json.Unmarshal(b, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Find returns a figure that has a value.
func (f *File) Find(table, row, column string) (Figure, bool) {
	for _, x := range f.Figures {
		if x.Table == table && x.Row == row && x.Column == column && x.Values > 0 {
			return x, true
		}
	}
	return Figure{}, false
}
