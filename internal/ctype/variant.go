package ctype

// Variants are the alternatives of a record of which a value has one: an enum of
// Rust whose variants hold data, a variant record of Pascal or Ada. Like a record's
// members they are loaded on first use.
type Variants struct {
	// Discr is the member whose value selects the variant, nil when there is but one.
	Discr *Field
	List  []Variant
}

// Variant is one alternative: its name and data are those of Field.
type Variant struct {
	Field
	Values  []Span // of the discriminant
	Default bool   // holds for all values that no other variant has
}

// Span is the values from Lo to Hi, both included, as unsigned numbers of the
// discriminant's size.
type Span struct{ Lo, Hi uint64 }

// SetVariants gives a record its alternatives.
func (t *Type) SetVariants(v *Variants) { t.variants = v }

// Variants returns the alternatives of a record, nil when it has none.
func (t *Type) Variants() *Variants { t.load(); return t.variants }

// Select finds the variant of a value of the discriminant, nil when none has it.
func (v *Variants) Select(discr uint64) *Variant {
	var other *Variant
	for i := range v.List {
		x := &v.List[i]
		if x.Default {
			other = x
		}
		for _, s := range x.Values {
			if discr >= s.Lo && discr <= s.Hi {
				return x
			}
		}
	}
	return other
}
