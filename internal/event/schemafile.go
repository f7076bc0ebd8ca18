package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// File is the data with which a recording prints its records: the schemas of its sites, and the names of
// addresses in the records.
type File struct {
	Schemas []*Schema
	Names   Names
}

// The file is one JSON object. Types are in one table for all schemas and refer to each other by their
// number in it, from 1; 0 is no type. Enumerated values (kinds, states) are written as names, so that a new
// value does not change old files.
const (
	fileFormat = "jalon schemas"
	// fileVersion is increased if older readers would misread a file. Members that they may ignore can be
	// added without increasing it.
	fileVersion = 1
	// flatVersion is that of files with flat schemas.
	flatVersion = 2
	// gridVersion is that of files with arrays that have a Grid.
	gridVersion = 3
	// elementsVersion is that of files with elements of containers.
	elementsVersion = 4
)

// Limits of Decode and Encode.
const (
	maxFile    = 256 << 20 // bytes
	maxTypes   = 1 << 20
	maxSchemas = 1 << 20
	maxFields  = 1 << 16 // of one schema
	maxRecord  = 1 << 24 // bytes of a record
)

var (
	fieldKinds = words{
		Fixed: "fixed", Counted: "counted", Regs: "registers", Stack: "stack", Header: "header",
		KernelFrames: "kernel frames", UserFrames: "user frames", SData: "sdata",
	}
	statuses = words{
		OK: "", Unreadable: "unreadable", DivideByZero: "divide by zero", OptimisedOut: "optimised out",
		Truncated: "truncated", Unsupported: "unsupported", BadBounds: "bad bounds", BadIndex: "bad index",
	}
)

// Encode writes the file. It does not change the schemas, except that types are loaded that are loaded on
// first use.
func (f *File) Encode(w io.Writer) error {
	e := &encoder{file: fileJSON{Format: fileFormat, Version: fileVersion, Schemas: []schemaJSON{}}}
	for _, s := range f.Schemas {
		x, err := e.schema(s)
		if err != nil {
			return fmt.Errorf("the schema of %s: %w", s.Place, err)
		}
		e.file.Version = max(e.file.Version, s.version())
		e.file.Schemas = append(e.file.Schemas, x)
	}
	var err error
	if e.file.Types, err = e.types.rows(); err != nil {
		return err
	}
	e.file.Names = encodeNames(&f.Names)
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out.Encode(&e.file)
}

// Decode reads a file that may be damaged or hostile: either the result is valid or there is an error.
func Decode(r io.Reader) (*File, error) {
	in := &io.LimitedReader{R: r, N: maxFile + 1}
	var x fileJSON
	err := json.NewDecoder(in).Decode(&x)
	switch {
	case in.N <= 0:
		return nil, fmt.Errorf("the schemas have more than %d bytes", maxFile)
	case err != nil:
		return nil, fmt.Errorf("the schemas cannot be read: %w", err)
	case x.Format != fileFormat:
		return nil, errors.New("this is not a schema file of jalon")
	case x.Version < fileVersion || x.Version > elementsVersion:
		return nil, fmt.Errorf("the schemas have version %d; this jalon reads versions %d to %d", x.Version, fileVersion, elementsVersion)
	case len(x.Types) > maxTypes || len(x.Schemas) > maxSchemas || len(x.Texts) > maxSchemas:
		return nil, errors.New("the schemas have too many types or sites")
	}
	d := &decoder{}
	if err := d.typeTable(x.Types); err != nil {
		return nil, err
	}
	for i := range x.Texts {
		t, err := d.text(&x.Texts[i])
		if err != nil {
			return nil, fmt.Errorf("text %d: %w", i+1, err)
		}
		d.texts = append(d.texts, t)
	}
	f := &File{Names: decodeNames(&x.Names)}
	for i := range x.Schemas {
		s, err := d.schema(&x.Schemas[i])
		if err != nil {
			return nil, fmt.Errorf("schema %d: %w", i+1, err)
		}
		f.Schemas = append(f.Schemas, s)
	}
	return f, nil
}

type encoder struct {
	file  fileJSON
	types typeTable
	texts map[*KernelText]int
}

func (e *encoder) schema(s *Schema) (schemaJSON, error) {
	x := schemaJSON{
		Site: s.SiteID, Place: text(s.Place), Function: text(s.Function), File: text(s.File), Line: s.Line, Moved: s.Moved, PC: s.PC,
		Size: s.RecordSize, Short: s.ShortSize, Stack: s.StackNumber, Kernel: s.Kernel, Comm: s.CommOffset, TextArrays: s.TextArrays, Flat: s.Flat,
		Elapsed: s.Elapsed,
	}
	for i := range s.Fields {
		f, err := e.field(&s.Fields[i])
		if err != nil {
			return x, fmt.Errorf("%s: %w", s.Fields[i].Name, err)
		}
		x.Fields = append(x.Fields, f)
	}
	return x, nil
}

func (e *encoder) field(f *Field) (fieldJSON, error) {
	x := fieldJSON{
		Name: text(f.Name), Group: text(f.Group), Offset: f.Offset, Size: f.Size, Status: f.StatusOffset + 1,
		Reason: text(f.Reason), Addr: f.AddrOffset, Type: e.types.add(f.Type, true), Text: e.text(f.Text),
	}
	var err, err2 error
	x.Kind, err = fieldKinds.of(int(f.Kind))
	x.Static, err2 = statuses.of(int(f.Static))
	for _, g := range f.Gaps {
		x.Gaps = append(x.Gaps, gapJSON{g.From, g.To})
	}
	x.Bases, x.Texts, x.Grid = e.bases(f.Bases), e.memberTexts(f.Texts), e.grid(f.Grid)
	if f.Show != (Show{}) {
		x.Show = &showJSON{Letter: letter(f.Show.Letter), Size: letter(f.Show.Size), Count: f.Show.Count}
	}
	if f.StrSize > 0 {
		x.String = &slotJSON{f.StrOffset, f.StrSize, f.StrStatusOffset + 1}
	}
	return x, errors.Join(err, err2)
}

func letter(c byte) text {
	if c == 0 {
		return ""
	}
	return text([]byte{c})
}

type decoder struct {
	types typeReader
	texts []*KernelText
}

func (d *decoder) typeTable(list []typeJSON) (err error) {
	d.types, err = readTypes(list)
	return err
}

func (d *decoder) schema(x *schemaJSON) (*Schema, error) {
	s := &Schema{
		SiteID: x.Site, Place: string(x.Place), Function: string(x.Function), File: string(x.File), Line: x.Line, Moved: x.Moved, PC: x.PC,
		RecordSize: x.Size, ShortSize: x.Short, StackNumber: x.Stack, Kernel: x.Kernel, CommOffset: x.Comm, TextArrays: x.TextArrays, Flat: x.Flat,
		Elapsed: x.Elapsed,
	}
	if !inRecord(x.Size) || !inRecord(x.Short) || !inRecord(x.Stack) || !inRecord(x.Comm) || len(x.Fields) > maxFields {
		return nil, errors.New("its sizes are not possible for a record")
	}
	for i := range x.Fields {
		f, err := d.field(&x.Fields[i])
		if err != nil {
			return nil, fmt.Errorf("field %d: %w", i+1, err)
		}
		s.Fields = append(s.Fields, f)
	}
	return s, nil
}

func inRecord(n int) bool { return n >= 0 && n <= maxRecord }

func (d *decoder) field(x *fieldJSON) (f Field, err error) {
	kind, err := fieldKinds.number(x.Kind)
	if err != nil {
		return f, err
	}
	static, err := statuses.number(x.Static)
	if err != nil {
		return f, err
	}
	f = Field{
		Name: string(x.Name), Group: string(x.Group), Kind: FieldKind(kind), Offset: x.Offset, Size: x.Size,
		StatusOffset: x.Status - 1, Static: Status(static), Reason: string(x.Reason), AddrOffset: x.Addr,
	}
	if !inRecord(x.Offset) || !inRecord(x.Size) || !inRecord(x.Status) || !inRecord(x.Addr) {
		return f, errors.New("its slot is outside the record")
	}
	if f.Type, err = d.types.get(x.Type); err != nil {
		return f, err
	}
	if x.Text < 0 || x.Text > len(d.texts) {
		return f, fmt.Errorf("there is no text %d", x.Text)
	}
	if x.Text > 0 {
		f.Text = d.texts[x.Text-1]
	}
	for _, g := range x.Gaps {
		if g[0] < 0 || g[1] <= g[0] {
			return f, errors.New("it has a gap of no bits")
		}
		f.Gaps = append(f.Gaps, Gap{g[0], g[1]})
	}
	left := maxBases
	if f.Bases, err = d.bases(x.Bases, &left); err != nil {
		return f, err
	}
	if f.Texts, err = d.memberTexts(x.Texts); err != nil {
		return f, err
	}
	if f.Grid, err = d.grid(x.Grid, f.Kind); err != nil {
		return f, err
	}
	if p := x.Show; p != nil {
		if len(p.Letter) > 1 || len(p.Size) > 1 {
			return f, errors.New("a print letter must be one letter")
		}
		f.Show.Count = p.Count
		copy1(&f.Show.Letter, p.Letter)
		copy1(&f.Show.Size, p.Size)
	}
	if p := x.String; p != nil {
		if !inRecord(p.Offset) || !inRecord(p.Size) || !inRecord(p.Status) {
			return f, errors.New("the slot of its string is outside the record")
		}
		f.StrOffset, f.StrSize, f.StrStatusOffset = p.Offset, p.Size, p.Status-1
	}
	return f, nil
}

func copy1(to *byte, t text) {
	if t != "" {
		*to = t[0]
	}
}

func encodeNames(n *Names) (x namesJSON) {
	if n.Symbols != nil {
		x.Symbols = map[uint64]text{}
	}
	for a, s := range n.Symbols {
		x.Symbols[a] = text(s)
	}
	if n.Kernel != nil {
		x.Kernel = map[uint64]symbolJSON{}
	}
	for a, s := range n.Kernel {
		x.Kernel[a] = symbolJSON{text(s.Name), s.Offset, s.Size, text(s.Module)}
	}
	if n.Strings != nil {
		x.Strings = map[uint64]text{}
	}
	for a, s := range n.Strings {
		x.Strings[a] = text(s)
	}
	return x
}

func decodeNames(x *namesJSON) Names {
	n := Names{Symbols: map[uint64]string{}, Kernel: map[uint64]KernelSymbol{}, Strings: map[uint64]string{}}
	for a, s := range x.Symbols {
		n.Symbols[a] = string(s)
	}
	for a, s := range x.Kernel {
		n.Kernel[a] = KernelSymbol{string(s.Name), s.Offset, s.Size, string(s.Module)}
	}
	for a, s := range x.Strings {
		n.Strings[a] = string(s)
	}
	return n
}

// version is the lowest version of a file that can have the schema.
func (s *Schema) version() int {
	for i := range s.Fields {
		if slices.ContainsFunc(s.Fields[i].Texts, func(t MemberText) bool { return t.Elements }) {
			return elementsVersion
		}
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Grid != nil || slices.ContainsFunc(f.Texts, func(t MemberText) bool { return t.Grid != nil }) {
			return gridVersion
		}
	}
	if s.Flat {
		return flatVersion
	}
	return fileVersion
}
