package dwarf

import (
	"cmp"
	"path"
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
)

// unitIndex answers what would otherwise need a look at every unit: which unit holds
// an address, which have a source file, which define a name. It is a view of
// bytes, just built or mapped from a file of the cache, and is believed as far
// as that does no harm: every number read from it is checked against the units,
// and a name that it finds is compared with the entry itself.
type unitIndex struct {
	units []*unit // of the module, of its supplementary file
	main  int     // how many are the module's own of .debug_info
	*index.Tables
}

// tagDeclared marks variables that are declared and have no definition in their
// unit: in the whole program there may be none but the linker's symbol.
const tagDeclared = 0xff34

// die returns the entry for e.
func (x *unitIndex) die(e index.Name) (die, bool) {
	if uint64(e.Unit) >= uint64(len(x.units)) {
		return die{}, false
	}
	u := x.units[e.Unit].whole()
	d, ok := u.dieAt(u.off + uint64(e.Off))
	tag := e.Tag
	if tag == tagDeclared {
		tag = tagVariable
	}
	return d, ok && d.ab.tag == tag
}

// find visits the entries with that bare name and a requested tag, in the order of the file.
func (x *unitIndex) find(name string, want func(tag uint16) bool, visit func(e die) bool) {
	bare := index.Bare([]byte(name))
	h := index.Hash(bare)
	for i := x.Names.Search(h); i < x.Names.Len(); i++ {
		e := x.Names.At(i)
		if e.Hash != h {
			return
		}
		if !want(e.Tag) {
			continue
		}
		d, ok := x.die(e)
		if !ok {
			continue
		}
		n := d.nameBytes()
		if string(n) != name && !sameName(string(n), name) && !(len(bare) == len(name) && string(index.Bare(n)) == name) {
			continue
		}
		if !visit(d) {
			return
		}
	}
}

// each visits all entries with a requested tag, in the order of the file: the entries of a unit one after
// the other.
func (x *unitIndex) each(want func(tag uint16) bool, visit func(e die)) {
	var list []index.Name
	for i := range x.Names.Len() {
		if e := x.Names.At(i); want(e.Tag) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b index.Name) int {
		return cmp.Or(cmp.Compare(a.Unit, b.Unit), cmp.Compare(a.Off, b.Off))
	})
	for _, e := range list {
		if d, ok := x.die(e); ok {
			visit(d)
		}
	}
}

// unitAt finds the unit whose code holds pc. Ranges hardly ever overlap; a few
// steps back cover those that do.
func (x *unitIndex) unitAt(pc uint64) *unit {
	i := x.Ranges.Search(pc)
	for n := 0; i > 0 && n < 16; n++ {
		i--
		if r, id := x.Ranges.At(i); pc >= r.Lo && pc < r.Hi && uint64(id) < uint64(x.main) {
			return x.units[id]
		}
	}
	return nil
}

// withSource lists the units that have a source file of that base name, in order.
// Others may be among them.
func (x *unitIndex) withSource(file string) (out []*unit) {
	for _, id := range x.Files.Find(index.Hash([]byte(path.Base(file)))) {
		if uint64(id) < uint64(x.main) {
			out = append(out, x.units[id])
		}
	}
	return out
}

// inlineOthers lists the units whose inlined copies may be of functions of other units.
func (x *unitIndex) inlineOthers() (out []*unit) {
	for id := range x.main {
		if x.Flags.At(id)&unitInlinesOthers != 0 {
			out = append(out, x.units[id].whole())
		}
	}
	return out
}

// hasCode reports whether a unit of the module can have lines and functions.
func (x *unitIndex) hasCode(id int) bool { return x.Flags.At(id)&unitHasCode != 0 }

// The flags of a unit.
const (
	unitHasCode       = 1 << iota // a compilation or skeleton unit
	unitInlinesOthers             // see unit.inlinesOthers
	unitSplit                     // its entries are in another file
)

func isFuncTag(t uint16) bool     { return t == tagSubprogram }
func isVarTag(t uint16) bool      { return t == tagVariable || t == tagConstant }
func isDeclaredTag(t uint16) bool { return t == tagDeclared }
