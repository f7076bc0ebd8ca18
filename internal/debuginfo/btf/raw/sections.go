package raw

import "encoding/binary"

// What is found by a pass over all types: constants by their names, and where per-CPU
// variables are.

// enumerators are the constants of all enumerations of a BTF.
type enumerators struct {
	names []uint32 // as offsets of strings
	types []ID
	table *table
	// signs says that enumerations are marked as signed where they are. Before
	// Linux 6.0 none was, and constants were written as signed numbers.
	signs bool
}

func (x *BTF) makeEnumerators() *enumerators {
	e := &enumerators{signs: x.base != nil && x.base.SignsEnums()}
	for i, k := range x.kinds {
		if k != Enum && k != Enum64 {
			continue
		}
		t := x.Type(x.first + ID(i))
		e.signs = e.signs || t.Kind == Enum64 || t.Flag
		for j := 0; j < len(t.body); j += bodies[t.Kind].each {
			e.names, e.types = append(e.names, t.u32(j)), append(e.types, t.ID)
		}
	}
	e.table = newTable(len(e.names), func(i int) string { return x.str(e.names[i]) })
	return e
}

// SignsEnums reports whether enumerations are marked as signed where they are.
func (x *BTF) SignsEnums() bool { return x.enumerators().signs }

// Enumeration is the first one of this BTF alone that has a constant of that name.
func (x *BTF) Enumeration(constant string) (Type, bool) {
	e := x.enumerators()
	for n := e.table.chain(constant); n != 0; n = e.table.next[n-1] {
		if x.str(e.names[n-1]) == constant {
			return x.Type(e.types[n-1]), true
		}
	}
	return Type{}, false
}

// percpuSection is the section of per-CPU variables.
const percpuSection = ".data..percpu"

// readPerCPU reads the offsets of the per-CPU variables.
func (x *BTF) readPerCPU() map[ID]uint32 {
	at := map[ID]uint32{}
	for _, t := range x.Named(percpuSection, Datasec) {
		for b := t.body; len(b) >= 12; b = b[12:] {
			id := ID(binary.LittleEndian.Uint32(b))
			if _, ok := at[id]; !ok {
				at[id] = binary.LittleEndian.Uint32(b[4:])
			}
		}
	}
	return at
}

// PerCPU finds a per-CPU variable of this BTF alone, and its offset in the section.
func (x *BTF) PerCPU(name string) (v Type, offset uint32, ok bool) {
	for _, t := range x.Named(name, Var) {
		if off, in := x.percpu()[t.ID]; in {
			return t, off, true
		}
	}
	return Type{}, 0, false
}

// PerCPUs lists the per-CPU variables with their offsets in the section.
func (x *BTF) PerCPUs() map[string]uint32 {
	out := map[string]uint32{}
	for id := range x.percpu() {
		t := x.Type(id)
		if name := t.Name(); t.In == x && t.Kind == Var && name != "" {
			if _, off, ok := x.PerCPU(name); ok {
				out[name] = off
			}
		}
	}
	return out
}
