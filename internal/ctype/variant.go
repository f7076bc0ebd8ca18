package ctype

// Variants are the alternatives of a record; a value has one of them. Examples are a Rust enum with data and a
// variant record of Pascal or Ada. Like a record's members they are loaded on first use.
type Variants struct {
	// Discr is the member whose value selects the variant; nil if there is only one.
	Discr *Field
	List  []Variant
}

// Variant is one alternative: its name and data are those of Field.
type Variant struct {
	Field
	Values  []Span // of the discriminant
	Default bool   // used for all values that no other variant has
}

// Span is the range of values from Lo to Hi, inclusive, as unsigned numbers of the discriminant's size; no value is
// above 64 bits, also where the discriminant has 128.
type Span struct{ Lo, Hi uint64 }

// SetVariants sets the alternatives of a record.
func (t *Type) SetVariants(v *Variants) { t.variants = v }

// Variants returns the alternatives of a record, or nil.
func (t *Type) Variants() *Variants { t.load(); return t.variants }

// Select returns the variant for a value of the discriminant, or nil.
func (v *Variants) Select(discr uint64) *Variant {
	for i := range v.List {
		x := &v.List[i]
		for _, s := range x.Values {
			if discr >= s.Lo && discr <= s.Hi {
				return x
			}
		}
	}
	return v.Other()
}

// Other returns the variant for values that no variant has, among them those above 64 bits, or nil.
func (v *Variants) Other() *Variant {
	for i := len(v.List) - 1; i >= 0; i-- {
		if v.List[i].Default {
			return &v.List[i]
		}
	}
	return nil
}
