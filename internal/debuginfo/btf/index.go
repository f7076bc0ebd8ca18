package btf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	ebtf "github.com/cilium/ebpf/btf"
)

// The library finds types by their names. What it cannot find without building
// every type is found here, in one pass over the raw bytes: enumerators, the
// offsets of per-CPU variables, and lists of names.
//
// The format is that of Documentation/bpf/btf.rst in the kernel's sources.

// kind is BTF_KIND_*.
type kind uint8

const (
	kindInt       kind = 1
	kindStruct    kind = 4
	kindUnion     kind = 5
	kindEnum      kind = 6
	kindTypedef   kind = 8
	kindFunc      kind = 12
	kindVar       kind = 14
	kindDatasec   kind = 15
	kindFloat     kind = 16
	kindEnum64    kind = 19
	numKinds           = 20
	maxBTF             = 1 << 30
	headerSize         = 24
	percpuSection      = ".data..percpu"
)

// trailer is how many bytes follow the 12 of every type: fixed, and for each of
// its vlen entries.
var trailer = [numKinds]struct{ fixed, each int }{
	kindInt: {4, 0}, 3: {12, 0}, kindStruct: {0, 12}, kindUnion: {0, 12}, kindEnum: {0, 8},
	13: {0, 8}, kindVar: {4, 0}, kindDatasec: {0, 12}, 17: {4, 0}, kindEnum64: {0, 12},
}

// index is what the pass finds. Names are kept as offsets of strings.
type index struct {
	strings  string // of this BTF alone
	below    *index // the kernel's, for a module
	types    int    // number of types with those below, void included
	names    [numKinds][]uint32
	ids      [numKinds][]ebtf.TypeID // of the types that have names
	enums    map[string]ebtf.TypeID  // enumerator -> the first enumeration that has it
	percpu   map[string]perCPU
	varNames map[ebtf.TypeID]uint32
	// signs says that enumerations are marked as signed where they are. Before
	// Linux 6.0 none was, and constants were written as signed numbers.
	signs bool
}

// perCPU is a variable of the per-CPU section.
type perCPU struct {
	id     ebtf.TypeID // of the VAR
	offset uint32      // from the start of the section
}

var errIndex = errors.New("malformed BTF")

func parseIndex(b []byte, below *index) (*index, error) {
	if len(b) < headerSize || len(b) > maxBTF || binary.LittleEndian.Uint16(b) != 0xeb9f {
		return nil, fmt.Errorf("%w: no header", errIndex)
	}
	u32 := func(off int) uint64 { return uint64(binary.LittleEndian.Uint32(b[off:])) }
	hdr, typeOff, typeLen, strOff, strLen := u32(4), u32(8), u32(12), u32(16), u32(20)
	if hdr+typeOff+typeLen > uint64(len(b)) || hdr+strOff+strLen > uint64(len(b)) {
		return nil, fmt.Errorf("%w: sections behind the end", errIndex)
	}
	x := &index{
		strings: string(b[hdr+strOff : hdr+strOff+strLen]), below: below, types: 1,
		enums: map[string]ebtf.TypeID{}, percpu: map[string]perCPU{}, varNames: map[ebtf.TypeID]uint32{},
	}
	if below != nil {
		x.types, x.signs = below.types, below.signs
	}
	types := b[hdr+typeOff : hdr+typeOff+typeLen]
	for len(types) > 0 {
		n, err := x.add(types)
		if err != nil {
			return nil, fmt.Errorf("%w: type %d: %v", errIndex, x.types, err)
		}
		types = types[n:]
		x.types++
	}
	x.varNames = nil
	return x, nil
}

// add takes the type at the start of b and returns how long it is.
func (x *index) add(b []byte) (int, error) {
	if len(b) < 12 {
		return 0, errors.New("cut off")
	}
	le := binary.LittleEndian
	name, info := le.Uint32(b), le.Uint32(b[4:])
	k, vlen := kind(info>>24&0x1f), int(info&0xffff)
	if k == 0 || k >= numKinds {
		return 0, fmt.Errorf("kind %d", k)
	}
	t := trailer[k]
	n := 12 + t.fixed + vlen*t.each
	if n > len(b) {
		return 0, errors.New("cut off")
	}
	id := ebtf.TypeID(x.types)
	if name != 0 {
		x.names[k], x.ids[k] = append(x.names[k], name), append(x.ids[k], id)
	}
	switch k {
	case kindEnum, kindEnum64:
		x.signs = x.signs || k == kindEnum64 || info>>31 != 0
		for e := 12; e < n; e += t.each {
			s := x.str(le.Uint32(b[e:]))
			if _, ok := x.enums[s]; !ok && s != "" {
				x.enums[s] = id
			}
		}
	case kindVar:
		x.varNames[id] = name
	case kindDatasec:
		if x.str(name) == percpuSection {
			x.section(b[12:n])
		}
	}
	return n, nil
}

// section takes the entries of the per-CPU section; they follow their VARs.
func (x *index) section(b []byte) {
	for ; len(b) >= 12; b = b[12:] {
		id := ebtf.TypeID(binary.LittleEndian.Uint32(b))
		name := x.str(x.varNames[id])
		if _, ok := x.percpu[name]; !ok && name != "" {
			x.percpu[name] = perCPU{id, binary.LittleEndian.Uint32(b[4:])}
		}
	}
}

// str is the string at off; strings of a module follow those of the kernel.
func (x *index) str(off uint32) string {
	if x.below != nil {
		if off < uint32(len(x.below.strings)) {
			return x.below.str(off)
		}
		off -= uint32(len(x.below.strings))
	}
	if off >= uint32(len(x.strings)) {
		return ""
	}
	s := x.strings[off:]
	if i := strings.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return ""
}

// list returns the names of the kinds for which keep holds, sorted, each once.
func (x *index) list(keep func(string) bool, kinds ...kind) []string {
	var out []string
	for _, k := range kinds {
		for _, off := range x.names[k] {
			if s := x.str(off); keep(s) {
				out = append(out, s)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// find returns the types of a name in the order of the BTF, by comparing all.
func (x *index) find(name string) []ebtf.TypeID {
	var out []ebtf.TypeID
	for k := range x.names {
		for i, off := range x.names[k] {
			if x.str(off) == name {
				out = append(out, x.ids[k][i])
			}
		}
	}
	slices.Sort(out)
	return out
}
