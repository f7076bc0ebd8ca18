package image

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// The rule for the name of a variable that a module does not have: it is the object to which the dynamic linker would bind
// the name in the module, in the search of Provider. So the program's copy of a library's object counts (R_X86_64_COPY), and
// of several libraries the first. If no module exports the name, it is the only variable of that name at file level in the
// debug information of the modules; one with external linkage comes before the others, as for GDB.
//
// Only what the process began with is searched: other libraries may be unloaded while a program has their addresses.

// Object describes a variable of another module by its symbol or name. Its location is in the terms of m; where
// known is not nil, it has the type. Both results are nil if no module has the name. The error says why its place or
// type is not known.
func (im *Image) Object(m *Module, symbol string, known *debuginfo.Variable) (*debuginfo.Variable, error) {
	key := objectKey{m, symbol, known != nil}
	o, ok := im.objects[key]
	if !ok {
		if im.objects == nil {
			im.objects = map[objectKey]foundObject{}
		}
		o.v, o.err = im.findObject(m, symbol, known)
		im.objects[key] = o
	}
	return o.v, o.err
}

// objectKey is what Object was asked for, foundObject its answer.
type (
	objectKey struct {
		m      *Module
		symbol string
		known  bool
	}
	foundObject struct {
		v   *debuginfo.Variable
		err error
	}
)

func (im *Image) findObject(m *Module, symbol string, known *debuginfo.Variable) (*debuginfo.Variable, error) {
	if m.Open() != nil {
		return nil, nil
	}
	list, initial := im.linked(m)
	own := slices.Contains(list[:initial], m)
	if !own { // its own libraries may come before
		for _, o := range list[initial:] {
			if o.Open() == nil && o != m && len(objects(o, m, symbol)) > 0 {
				return nil, fmt.Errorf("%s exports it, and which module's it is here is not known", o.Path)
			}
		}
	}
	for i, o := range list[:initial] {
		if o.Open() != nil {
			continue
		}
		if found := objects(o, m, symbol); len(found) > 0 {
			return im.exported(m, list[i:initial], found[0], known)
		}
	}
	if known != nil {
		return nil, nil
	}
	return im.internal(m, list[:initial], symbol)
}

// objects are the variables that a module exports by that name to m.
func objects(o, m *Module, name string) (out []elf.Symbol) {
	list, err := o.info.File().Exports(name)
	if err != nil {
		return nil
	}
	wanted := m.info.ImportedAs(name)
	for _, v := range list {
		asked := slices.ContainsFunc(wanted, func(im elf.Import) bool { return im.Name == name && v.Satisfies(im) })
		if (v.Object || v.TLS) && (asked || len(wanted) == 0 && v.Default) {
			out = append(out, v.Symbol)
		}
	}
	return out
}

// exported places the object of a symbol of from[0]. Its type is that of the first module which describes its own object of
// that symbol: a program has no description of what it has copied.
func (im *Image) exported(m *Module, from []*Module, s elf.Symbol, known *debuginfo.Variable) (*debuginfo.Variable, error) {
	v := known
	for i, o := range from {
		if v != nil {
			break
		}
		if i == 0 {
			v = o.info.ObjectAt(s.Name, s.Value, s.TLS)
		} else if o.Open() == nil {
			for _, x := range objects(o, m, s.Name) {
				if v == nil && x.Size == s.Size && x.TLS == s.TLS {
					v = o.info.ObjectAt(x.Name, x.Value, x.TLS)
				}
			}
		}
	}
	if v == nil && (s.Size == 4 || s.Size == 8) {
		v = dwarf.Standard(s.Name, int64(s.Size))
	}
	if v == nil {
		return nil, fmt.Errorf("%s has it, but there is no debug information for its type", from[0].Path)
	}
	return im.placed(m, from[0], v, s.Value, s.TLS)
}

// internal finds a variable that no module exports.
func (im *Image) internal(m *Module, list []*Module, name string) (*debuginfo.Variable, error) {
	type found struct {
		v *debuginfo.Variable
		o *Module
	}
	var all, external []found
	for _, o := range list {
		if o == m || o.Open() != nil {
			continue
		}
		for _, v := range o.info.Objects(name) {
			all = append(all, found{v, o})
			if v.Kind == debuginfo.Global {
				external = append(external, found{v, o})
			}
		}
	}
	if len(external) > 0 {
		all = external
	}
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
	default:
		a, b := all[0], all[1]
		return nil, fmt.Errorf("other modules have several: at %s:%d of %s, at %s:%d of %s", a.v.File, a.v.Line, a.o.Path, b.v.File, b.v.Line, b.o.Path)
	}
	f := all[0]
	f.v.Of = f.o.Path
	if value, tls, ok := f.v.Loc.Object(); ok {
		return im.placed(m, f.o, f.v, value, tls)
	}
	return nil, fmt.Errorf("it is in %s, at a place that is computed", f.o.Path)
}

// placed is v at an address of o, or at an offset in its thread-local block, in the terms of m.
func (im *Image) placed(m, o *Module, v *debuginfo.Variable, value uint64, tls bool) (*debuginfo.Variable, error) {
	expr := []debuginfo.Op{{Code: debuginfo.OpAddr, Arg: int64(value + o.bias - m.bias)}}
	if tls {
		block, err := o.TLSOffset()
		if err != nil {
			return nil, err
		}
		expr = []debuginfo.Op{
			{Code: debuginfo.OpReg, Arg: int64(host.Processor.ThreadPointer)}, {Code: debuginfo.OpAddConst, Arg: block + int64(value)},
		}
	}
	cp := *v
	cp.Kind = debuginfo.Global
	cp.Loc = debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: expr}}}
	return &cp, nil
}
