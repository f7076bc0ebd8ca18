package dwarf

import "github.com/jalon-trace/jalon/internal/ctype"

// dimension is one DW_TAG_subrange_type of an array.
type dimension struct {
	count, lower int64
	open         bool // the lower bound is not a constant
}

// makeArray builds nested arrays, the dimension that runs fastest innermost: the
// last one in C, the first one in Fortran.
func makeArray(ts *types, d die, t *ctype.Type) {
	elem := ts.typeOf(d)
	if d.u.isFortran() && computedAtRunTime(d, elem) {
		markComputed(d, t)
		return
	}
	if hasDescriptor(d, t) {
		return
	}
	var dims []dimension
	for c := range d.children() {
		if c.ab.tag == tagSubrangeType && len(dims) < 32 {
			dims = append(dims, dimensionOf(c))
		}
	}
	if len(dims) == 0 {
		dims = []dimension{{count: -1}}
	}
	fortran := d.u.isFortran()
	for i := range dims {
		if dims[i].open {
			t.Kind, t.Name = ctype.Invalid, boundsAtRunTime
			return
		}
		if fortran && i < len(dims)/2 {
			last := len(dims) - 1 - i
			dims[i], dims[last] = dims[last], dims[i]
		}
	}
	for i := len(dims) - 1; i > 0; i-- {
		elem = ctype.ArrayOf(elem, dims[i].count)
		elem.Lower, elem.Fortran = dims[i].lower, fortran
	}
	t.Kind, t.Elem, t.Count = ctype.Array, elem, dims[0].count
	t.Lower, t.Fortran = dims[0].lower, fortran
	t.Vector = d.deepFlag(atGNUVector)
	if (d.u.isC() || d.u.isCxx()) && computedAtRunTime(d, elem) {
		t.Ref = computed{d}
	}
	if t.Count > 0 && elem.Size > 0 && t.Count <= (1<<50)/elem.Size {
		t.Size = t.Count * elem.Size
	}
	if n := d.size(); n > 0 && t.Size == 0 && t.Count >= 0 {
		t.Size = n
	}
}

// What ctype.Invalid types are called whose values the debug information
// describes by expressions that are evaluated at run time.
const (
	boundsAtRunTime = "an array whose bounds are computed at run time"
	withDescriptor  = "an array or string that is found through a descriptor"
)

// hasDescriptor marks a type whose object does not contain the values but a descriptor with their location, of languages
// other than Fortran.
func hasDescriptor(d die, t *ctype.Type) bool {
	if !d.ab.has(atDataLocation) {
		return false
	}
	t.Kind, t.Name, t.Size = ctype.Invalid, withDescriptor, 0
	return true
}

// dimensionOf reads the bounds of a subrange; count is -1 when it is not a constant.
func dimensionOf(d die) dimension {
	dim := dimension{count: -1, lower: d.u.firstIndex()}
	if l, ok := d.attr(atLowerBound); ok {
		dim.lower, dim.open = l.Int(), !l.IsConst()
	}
	if v, ok := d.attr(atCount); ok {
		if v.IsConst() && v.N < 1<<50 {
			dim.count = int64(v.N)
		}
		return dim
	}
	if v, ok := d.attr(atUpperBound); ok && v.IsConst() && !dim.open {
		if n := v.Int() - dim.lower + 1; n >= 0 && n <= 1<<50 {
			dim.count = n
		}
	}
	return dim
}

// firstIndex is the lower bound of arrays that name none (DWARF 5, table 7.17).
func (r *unitRoot) firstIndex() int64 {
	switch r.head().lang {
	case 0x03, 0x0d, // Ada 83, 95
		0x05, 0x06, // Cobol 74, 85
		0x09, 0x0a, 0x0f, 0x17, // Pascal 83, Modula 2, PL/I, Modula 3
		0x2e, 0x2f: // Ada 2005, 2012
		return 1
	}
	if r.isFortran() {
		return 1
	}
	return 0
}

func (r *unitRoot) isFortran() bool {
	switch r.head().lang {
	case 0x07, 0x08, 0x0e, 0x22, 0x23, 0x2d: // Fortran 77, 90, 95, 2003, 2008, 2018
		return true
	}
	return false
}

// makeString makes an array of characters of DW_TAG_string_type: Fortran's
// CHARACTER, which ends at its length and not at a NUL.
func makeString(ts *types, d die, t *ctype.Type) {
	if d.ab.has(atStringLength) || d.ab.has(atDataLocation) {
		markComputed(d, t)
		return
	}
	char := &ctype.Type{Kind: ctype.Char, Name: "character", Size: 1}
	if e, ok := d.ref(atType); ok {
		char = ts.convert(e)
	}
	t.Kind, t.Elem, t.Count, t.Lower, t.Fortran = ctype.Array, char, -1, 1, true
	if n := d.size(); n > 0 && char.Size > 0 {
		t.Count, t.Size = n/char.Size, n
	}
}
