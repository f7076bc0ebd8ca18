package dwarf

import (
	"bytes"
	"cmp"
	"path"
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// index answers what would otherwise need a look at every unit: which unit holds
// an address, which have a source file, which define a name. It is a view of
// bytes, just built or mapped from a file of the cache, and is believed as far
// as that does no harm: every number read from it is checked against the units,
// and a name that it finds is compared with the entry itself.
type index struct {
	units []*unit // of the module, of its supplementary file
	main  int     // how many are the module's own of .debug_info
	*indexTables
}

// nameEntry says that an entry with such a name is in a unit.
type nameEntry struct {
	hash uint32
	off  uint32 // from the unit's start
	unit uint32
	tag  uint16
}

// tagDeclared marks variables that are declared and have no definition in their
// unit: in the whole program there may be none but the linker's symbol.
const tagDeclared = 0xff34

// hash is FNV-1a.
func hashName(b []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

// bareName cuts template arguments off: f<int> is found as f.
func bareName(b []byte) []byte {
	if i := bytes.IndexByte(b, '<'); i > 0 && !bytes.HasPrefix(b, []byte("operator")) {
		return b[:i]
	}
	return b
}

// die is the entry that e stands for.
func (x *index) die(e nameEntry) (die, bool) {
	if uint64(e.unit) >= uint64(len(x.units)) {
		return die{}, false
	}
	u := x.units[e.unit].whole()
	d, ok := u.dieAt(u.off + uint64(e.off))
	tag := e.tag
	if tag == tagDeclared {
		tag = tagVariable
	}
	return d, ok && d.ab.tag == tag
}

// find visits the entries of that bare name whose tag is wanted, in the order of
// the file.
func (x *index) find(name string, want func(tag uint16) bool, visit func(e die) bool) {
	bare := bareName([]byte(name))
	h := hashName(bare)
	for i := x.names.search(h); i < x.names.len(); i++ {
		e := x.names.at(i)
		if e.hash != h {
			return
		}
		if !want(e.tag) {
			continue
		}
		d, ok := x.die(e)
		if !ok {
			continue
		}
		n := d.nameBytes()
		if string(n) != name && !(len(bare) == len(name) && string(bareName(n)) == name) {
			continue
		}
		if !visit(d) {
			return
		}
	}
}

// each visits all entries whose tag is wanted, in the order of the file: the
// entries of a unit one after the other.
func (x *index) each(want func(tag uint16) bool, visit func(e die)) {
	var list []nameEntry
	for i := range x.names.len() {
		if e := x.names.at(i); want(e.tag) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b nameEntry) int {
		return cmp.Or(cmp.Compare(a.unit, b.unit), cmp.Compare(a.off, b.off))
	})
	for _, e := range list {
		if d, ok := x.die(e); ok {
			visit(d)
		}
	}
}

// unitAt finds the unit whose code holds pc. Ranges hardly ever overlap; a few
// steps back cover those that do.
func (x *index) unitAt(pc uint64) *unit {
	i := x.ranges.search(pc)
	for n := 0; i > 0 && n < 16; n++ {
		i--
		if r, id := x.ranges.at(i); pc >= r.Lo && pc < r.Hi && uint64(id) < uint64(x.main) {
			return x.units[id]
		}
	}
	return nil
}

// withSource lists the units that have a source file of that base name, in order.
// Others may be among them.
func (x *index) withSource(file string) (out []*unit) {
	for _, id := range x.files.find(hashName([]byte(path.Base(file)))) {
		if uint64(id) < uint64(x.main) {
			out = append(out, x.units[id])
		}
	}
	return out
}

// inlineOthers lists the units whose inlined copies may stand for functions of
// other units.
func (x *index) inlineOthers() (out []*unit) {
	for id := range x.main {
		if x.flags.at(id)&unitInlinesOthers != 0 {
			out = append(out, x.units[id].whole())
		}
	}
	return out
}

// hasCode tells whether a unit of the module can have lines and functions.
func (x *index) hasCode(id int) bool { return x.flags.at(id)&unitHasCode != 0 }

// The flags of a unit.
const (
	unitHasCode       = 1 << iota // a compilation or skeleton unit
	unitInlinesOthers             // see unit.inlinesOthers
	unitSplit                     // its entries are in another file
)

func isFuncTag(t uint16) bool     { return t == tagSubprogram }
func isVarTag(t uint16) bool      { return t == tagVariable }
func isDeclaredTag(t uint16) bool { return t == tagDeclared }

// unitRange is a part of a unit's code.
type unitRange struct {
	debuginfo.Range
	unit uint32
}
