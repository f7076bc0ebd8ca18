package ctf

import "slices"

// A fieldClass is what the bytes of a field mean. The metadata of both versions of CTF are written from it: the texts of CTF 1.8 by the
// methods tsdl (tsdl_class.go), the JSON of CTF 2 by the methods ctf2 (ctf2_class.go).
type fieldClass interface {
	// tsdl returns what is written before and behind the name of a declaration.
	tsdl() (spec, dims string)
	// ctf2 returns what is encoded as JSON. role: what the field is for in packets and heads of events; "": nothing special.
	ctf2(role string) any
}

// integerClass is an integer of up to 64 bits, little-endian.
type integerClass struct {
	bits, align int // align in bits
	signed, hex bool
	clock       bool // a time
}

// floatClass is a number of 4 or 8 bytes by IEEE 754.
type floatClass struct{ size int }

// enumClass is an integer whose values have names.
type enumClass struct {
	of     fieldClass // an integerClass, or a name of one
	labels []label
	words  bool // the names are words that TSDL has no other meaning for
}

// label names the values from first to last, decimal numbers.
type label struct{ name, first, last string }

// stringClass is a text up to a NUL.
type stringClass struct{}

// charClass is a byte of a text in an arrayClass or a listClass.
type charClass struct{}

// uuidClass is the UUID of the metadata.
type uuidClass struct{}

// aliasClass is a class with a name in the metadata.
type aliasClass struct {
	name   string
	of     fieldClass
	inline bool // in TSDL it has none
}

// arrayClass is a fixed number of elements.
type arrayClass struct {
	of    fieldClass
	count int
}

// listClass is as many elements as the member of the same structure with the name count says.
type listClass struct {
	of    fieldClass
	count string
}

// structClass is members one after another.
type structClass struct {
	members []member
	align   int  // at least this number of bits; 0: as the members need it
	lines   bool // TSDL has a line for each member
}

// member is a member of a structure, or an option of a variant. Names of fields begin with an underscore, which readers of TSDL drop.
type member struct {
	name string
	of   fieldClass
	role string
}

// variantClass is the option that has the name of the value of the member by in the same structure.
type variantClass struct {
	by      string
	tag     *enumClass // the class of by
	options []member
}

// The classes that have names.
var (
	uint8Class  = &aliasClass{name: "uint8_t", of: integerClass{bits: 8, align: 8}}
	uint32Class = &aliasClass{name: "uint32_t", of: integerClass{bits: 32, align: 8}}
	int32Class  = &aliasClass{name: "int32_t", of: integerClass{bits: 32, align: 8, signed: true}}
	uint64Class = &aliasClass{name: "uint64_t", of: integerClass{bits: 64, align: 8}}
	time27Class = &aliasClass{name: "time27_t", of: integerClass{bits: compactTime, align: 1, clock: true}}
	time32Class = &aliasClass{name: "time32_t", of: integerClass{bits: largeTime, align: 8, clock: true}}
	time64Class = &aliasClass{name: "time64_t", of: integerClass{bits: 64, align: 8, clock: true}}

	integerAliases = []*aliasClass{uint8Class, uint32Class, int32Class, uint64Class}
	timeAliases    = []*aliasClass{time27Class, time32Class, time64Class}

	// statusClass is whether a field has a value, and why not. Not all readers of TSDL accept a variant by a tag whose class has a name.
	statusEnum  = &enumClass{of: uint8Class, labels: statusLabels(), words: true}
	statusClass = &aliasClass{name: "status", of: statusEnum, inline: true}
)

var (
	byteClass = integerClass{bits: 8, align: 8, hex: true}
	addrClass = integerClass{bits: 64, align: 8, hex: true}
	noClass   = structClass{} // of a value that is not there
)

// structOf is a structure with these members.
func structOf(members ...member) structClass { return structClass{members: members} }

func isArray(c fieldClass) bool {
	_, ok := c.(arrayClass)
	return ok
}

// labelled returns the range of the values of an option.
func (e *enumClass) labelled(name string) label {
	i := slices.IndexFunc(e.labels, func(l label) bool { return l.name == name })
	return e.labels[i]
}
