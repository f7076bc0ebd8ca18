package image

import (
	"bytes"
	"debug/elf"
	"errors"
)

// The dynamic linker has a list of what it has loaded, for debuggers: DT_DEBUG of the program
// leads to struct r_debug, whose r_map is the list of struct link_map, the program
// first. From r_version 2 on (glibc 2.35), r_next leads to the next namespace
// (dlmopen). Words of 8 bytes each (link.h):
//
//	r_debug:  r_version r_map r_brk r_state r_ldbase r_next
//	link_map: l_addr l_name l_ld l_next l_prev
const (
	rMap   = 8
	rState = 24
	rNext  = 40
)

// Bounds for lists that are damaged, or are being changed while they are read.
const (
	maxLibraries  = 1 << 14
	maxNamespaces = 256 // glibc has 16
	maxPath       = 4096
)

// ErrNoLinker is returned for static programs.
var ErrNoLinker = errors.New("the program has no dynamic linker")

// LinkMap is a struct link_map: a module in the dynamic linker's list.
type LinkMap struct {
	Addr    uint64 // of the struct
	Base    uint64 // load bias
	Dynamic uint64 // the module's dynamic section
	Name    string // "" of the program

	next, prev uint64
}

// Namespace is one list of modules, in the order in which symbols are looked for.
type Namespace struct {
	Debug uint64 // its struct r_debug
	List  []LinkMap
}

// LinkMaps reads the lists of a program with the auxiliary vector auxv. There is no list before the dynamic
// linker has run.
func LinkMaps(read Memory, auxv []byte) ([]Namespace, error) {
	debug, err := findDebug(read, auxv)
	if err != nil {
		return nil, err
	}
	return readNamespaces(read, debug), nil
}

// findDebug returns the address of struct r_debug; 0: the dynamic linker has not run
// yet.
func findDebug(read Memory, auxv []byte) (uint64, error) {
	p, err := readProgram(read, auxv)
	if err != nil {
		return 0, err
	}
	h := p.header(elf.PT_DYNAMIC)
	if h == nil {
		return 0, ErrNoLinker
	}
	debug, found := uint64(0), false
	err = readDynamic(read, h.Vaddr+p.bias, func(tag elf.DynTag, value uint64) bool {
		if tag == elf.DT_DEBUG {
			debug, found = value, true
		}
		return !found
	})
	if err == nil && !found {
		err = ErrNoLinker
	}
	return debug, err
}

// readNamespaces reads them until one cannot be read.
func readNamespaces(read Memory, debug uint64) []Namespace {
	var out []Namespace
	seen := map[uint64]bool{}
	for debug != 0 && !seen[debug] && len(out) < maxNamespaces {
		seen[debug] = true
		version, err := read.word32(debug)
		if err != nil || version == 0 {
			break
		}
		first, err := read.word(debug + rMap)
		if err != nil {
			break
		}
		out = append(out, Namespace{debug, LinkMapsFrom(read, first, 0)})
		if version < 2 {
			break
		}
		if debug, err = read.word(debug + rNext); err != nil {
			break
		}
	}
	return out
}

// LinkMapsFrom reads a list from addr on, whose predecessor is prev. It ends before
// an entry that cannot be right.
func LinkMapsFrom(read Memory, addr, prev uint64) []LinkMap {
	var out []LinkMap
	seen := map[uint64]bool{}
	for addr != 0 && !seen[addr] && len(out) < maxLibraries {
		seen[addr] = true
		w, err := read.words(addr, 5)
		if err != nil || w[4] != prev {
			break
		}
		out = append(out, LinkMap{
			Addr: addr, Base: w[0], Dynamic: w[2], next: w[3], prev: w[4],
			Name: read.text(w[1]),
		})
		prev, addr = addr, w[3]
	}
	return out
}

// text is a string that ends with a zero byte, "" if it cannot be read or is longer
// than a path.
func (read Memory) text(addr uint64) string {
	const page = 4096
	var out []byte
	for len(out) < maxPath {
		b := make([]byte, page-addr%page)
		if read(addr, b) != nil {
			return ""
		}
		if i := bytes.IndexByte(b, 0); i >= 0 {
			return string(append(out, b[:i]...))
		}
		out = append(out, b...)
		addr += uint64(len(b))
	}
	return ""
}
