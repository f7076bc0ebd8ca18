package event

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// Types are a table of rows. Of a pointer's target and of the types of a function only the name is printed.
// Their rows are outlines without members and enumerators, so that one pointer does not add all types of
// the kernel.

type typeJSON struct {
	Kind       word          `json:"kind"`
	Name       text          `json:"name,omitempty"`
	Size       int64         `json:"size,omitempty"`
	Signed     bool          `json:"signed,omitempty"`
	Elem       int           `json:"elem,omitempty"`
	Count      int64         `json:"count,omitempty"`
	Vector     bool          `json:"vector,omitempty"`
	Lower      int64         `json:"lower,omitempty"`
	Fortran    bool          `json:"fortran,omitempty"`
	Decayed    bool          `json:"decayed,omitempty"`
	Tagless    bool          `json:"tagless,omitempty"`
	Of         int           `json:"member_of,omitempty"` // of a pointer to member
	To         int           `json:"to,omitempty"`
	Params     []int         `json:"params,omitempty"`
	Variadic   bool          `json:"variadic,omitempty"`
	Incomplete bool          `json:"incomplete,omitempty"`
	Members    []memberJSON  `json:"members,omitempty"`
	Values     []valueJSON   `json:"values,omitempty"`
	Variants   *variantsJSON `json:"variants,omitempty"`
}

type memberJSON struct {
	Name    text  `json:"name,omitempty"`
	Type    int   `json:"type,omitempty"`
	Offset  int64 `json:"offset,omitempty"` // in bits
	Bits    int64 `json:"bits,omitempty"`
	Base    bool  `json:"base,omitempty"`
	Virtual bool  `json:"virtual,omitempty"`
	Vtable  int64 `json:"vtable,omitempty"`
}

type valueJSON struct {
	Name  text  `json:"name"`
	Value int64 `json:"value"`
}

type variantsJSON struct {
	Discr *memberJSON   `json:"discriminant,omitempty"`
	List  []variantJSON `json:"list"`
}

type variantJSON struct {
	memberJSON
	Values  []spanJSON `json:"values,omitempty"`
	Default bool       `json:"default,omitempty"`
}

type spanJSON struct {
	Lo uint64 `json:"lo"`
	Hi uint64 `json:"hi"`
}

var typeKinds = words{
	ctype.Invalid: "invalid", ctype.Void: "void", ctype.Bool: "bool", ctype.Char: "char", ctype.Int: "int",
	ctype.Float: "float", ctype.Complex: "complex", ctype.Enum: "enum", ctype.Pointer: "pointer",
	ctype.Reference: "reference", ctype.Array: "array", ctype.Struct: "struct", ctype.Union: "union",
	ctype.Func: "function", ctype.Typedef: "typedef", ctype.Const: "const", ctype.Volatile: "volatile",
	ctype.Restrict: "restrict", ctype.Atomic: "atomic",
}

// typeTable collects types. A type may contain itself through pointers, so all types get their numbers
// before the rows are made.
type typeTable struct {
	types []*ctype.Type
	index map[*ctype.Type]int
	full  map[*ctype.Type]bool // values of the type are printed, so its members are needed
	todo  []*ctype.Type        // types whose members have not been added
}

// add returns the number of a type, 0 for nil.
func (x *typeTable) add(t *ctype.Type, full bool) int {
	if t == nil {
		return 0
	}
	if x.index == nil {
		x.index, x.full = map[*ctype.Type]int{}, map[*ctype.Type]bool{}
	}
	n, known := x.index[t]
	if !known {
		x.types = append(x.types, t)
		n = len(x.types)
		x.index[t] = n
	}
	if !known || full && !x.full[t] {
		x.full[t] = full
		x.todo = append(x.todo, t)
	}
	return n
}

// rows makes the table.
func (x *typeTable) rows() (list []typeJSON, err error) {
	for len(x.todo) > 0 {
		t := x.todo[len(x.todo)-1]
		x.todo = x.todo[:len(x.todo)-1]
		if _, err := x.row(t); err != nil {
			return nil, err
		}
		if len(x.types) > maxTypes {
			return nil, fmt.Errorf("the collected values have more than %d types", maxTypes)
		}
	}
	for _, t := range x.types {
		r, _ := x.row(t)
		list = append(list, r)
	}
	return list, nil
}

func (x *typeTable) row(t *ctype.Type) (typeJSON, error) {
	kind, err := typeKinds.of(int(t.Kind))
	r := typeJSON{
		Kind: kind, Name: text(t.Name), Size: t.Size, Signed: t.Signed, Count: t.Count, Vector: t.Vector, Lower: t.Lower,
		Fortran: t.Fortran, Decayed: t.Decayed, Tagless: t.Tagless, Variadic: t.Variadic, Incomplete: t.Incomplete,
	}
	full := x.full[t]
	r.Elem = x.add(t.Elem, full && t.Kind != ctype.Pointer && t.Kind != ctype.Func)
	r.Of, r.To = x.add(t.Of, full), x.add(t.To, false)
	for _, p := range t.Params {
		r.Params = append(r.Params, x.add(p, false))
	}
	if !full {
		r.Incomplete = r.Incomplete || t.Kind == ctype.Struct || t.Kind == ctype.Union
		return r, err
	}
	switch t.Kind {
	case ctype.Struct, ctype.Union:
		for _, f := range t.Fields() {
			r.Members = append(r.Members, x.member(&f))
		}
		if v := t.Variants(); v != nil {
			r.Variants = x.variants(v)
		}
	case ctype.Enum:
		for _, e := range t.Enumerators() {
			r.Values = append(r.Values, valueJSON{text(e.Name), e.Value})
		}
	}
	return r, err
}

func (x *typeTable) member(f *ctype.Field) memberJSON {
	return memberJSON{text(f.Name), x.add(f.Type, true), f.BitOffset, f.BitSize, f.Base, f.Virtual, f.VtableOffset}
}

func (x *typeTable) variants(v *ctype.Variants) *variantsJSON {
	out := &variantsJSON{List: []variantJSON{}}
	if v.Discr != nil {
		m := x.member(v.Discr)
		out.Discr = &m
	}
	for i := range v.List {
		l := &v.List[i]
		y := variantJSON{memberJSON: x.member(&l.Field), Default: l.Default}
		for _, s := range l.Values {
			y.Values = append(y.Values, spanJSON(s))
		}
		out.List = append(out.List, y)
	}
	return out
}

// typeReader has the types of a file by number.
type typeReader []*ctype.Type

func (r typeReader) get(n int) (*ctype.Type, error) {
	if n < 0 || n > len(r) {
		return nil, fmt.Errorf("there is no type %d", n)
	}
	if n == 0 {
		return nil, nil
	}
	return r[n-1], nil
}

// readTypes makes the types from a table.
func readTypes(list []typeJSON) (typeReader, error) {
	r := make(typeReader, len(list))
	for i := range r {
		r[i] = &ctype.Type{}
	}
	for i := range list {
		if err := r.fill(r[i], &list[i]); err != nil {
			return nil, fmt.Errorf("type %d: %w", i+1, err)
		}
	}
	return r, nil
}

func (r typeReader) fill(t *ctype.Type, x *typeJSON) error {
	kind, err := typeKinds.number(x.Kind)
	if err != nil {
		return err
	}
	t.Kind, t.Name, t.Size, t.Signed, t.Count = ctype.Kind(kind), string(x.Name), x.Size, x.Signed, x.Count
	t.Vector, t.Lower, t.Fortran, t.Decayed = x.Vector, x.Lower, x.Fortran, x.Decayed
	t.Variadic, t.Incomplete, t.Tagless = x.Variadic, x.Incomplete, x.Tagless
	if t.Elem, err = r.get(x.Elem); err != nil {
		return err
	}
	if t.Of, err = r.get(x.Of); err != nil {
		return err
	}
	if t.To, err = r.get(x.To); err != nil {
		return err
	}
	for _, n := range x.Params {
		p, err := r.get(n)
		if err != nil {
			return err
		}
		t.Params = append(t.Params, p)
	}
	var fields []ctype.Field
	for i := range x.Members {
		f, err := r.member(&x.Members[i])
		if err != nil {
			return err
		}
		fields = append(fields, f)
	}
	t.SetFields(fields)
	var values []ctype.Enumerator
	for _, v := range x.Values {
		values = append(values, ctype.Enumerator{Name: string(v.Name), Value: v.Value})
	}
	t.SetEnumerators(values)
	if x.Variants != nil {
		v, err := r.variants(x.Variants)
		if err != nil {
			return err
		}
		t.SetVariants(v)
	}
	return nil
}

func (r typeReader) member(x *memberJSON) (ctype.Field, error) {
	t, err := r.get(x.Type)
	return ctype.Field{
		Name: string(x.Name), Type: t, BitOffset: x.Offset, BitSize: x.Bits, Base: x.Base, Virtual: x.Virtual, VtableOffset: x.Vtable,
	}, err
}

func (r typeReader) variants(x *variantsJSON) (*ctype.Variants, error) {
	v := &ctype.Variants{}
	if x.Discr != nil {
		f, err := r.member(x.Discr)
		if err != nil {
			return nil, err
		}
		v.Discr = &f
	} else if len(x.List) == 0 {
		return nil, errors.New("a type has an empty list of variants")
	}
	for i := range x.List {
		l := &x.List[i]
		f, err := r.member(&l.memberJSON)
		if err != nil {
			return nil, err
		}
		y := ctype.Variant{Field: f, Default: l.Default}
		for _, s := range l.Values {
			y.Values = append(y.Values, ctype.Span(s))
		}
		v.List = append(v.List, y)
	}
	return v, nil
}
