package process

import (
	"bytes"
	"debug/elf"
	"errors"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// The dynamic linker tells debuggers what it has loaded: DT_DEBUG of the program
// leads to struct r_debug, whose r_map is the list of struct link_map, the program
// first. From r_version 2 on (glibc 2.35), r_next leads to the next namespace
// (dlmopen). Words of 8 bytes each (link.h):
//
//	r_debug:  r_version r_map r_brk r_state r_ldbase r_next
//	link_map: l_addr l_name l_ld l_next l_prev
const (
	rMap  = 8
	rNext = 40
)

// Bounds for lists that are damaged, or are being changed while they are read.
const (
	maxLibraries  = 1 << 14
	maxNamespaces = 256 // glibc has 16
	maxPath       = 4096
)

// errNoLinker says that the program is static: GDB then looks itself, and finds
// nothing either.
var errNoLinker = errors.New("the program has no dynamic linker")

// linkMap is a struct link_map.
type linkMap struct {
	addr                      uint64
	base, dynamic, next, prev uint64
	name                      string
}

// Libraries is the object libraries-svr4. The annex is empty or
// `start=ADDR;prev=ADDR;lmid=ID;`: then the list begins at that entry, whose
// predecessor and namespace are known. Unknown words are ignored.
func Libraries(read memoryReader, auxv []byte, annex string) ([]byte, error) {
	arg := parseAnnex(annex)
	if start := arg["start"]; start != 0 {
		list := readLinkMaps(read, start, arg["prev"])
		return libraryDocument(list, arg["prev"] == 0, arg["lmid"]), nil
	}
	debug, err := findDebug(read, auxv)
	if err != nil {
		return nil, err
	}
	var main uint64
	var out []rsp.Library
	for i, ns := range readNamespaces(read, debug) {
		list := readLinkMaps(read, ns.first, 0)
		if i == 0 && len(list) > 0 {
			main, list = list[0].addr, list[1:]
		}
		out = appendLibraries(out, list, ns.debug)
	}
	return rsp.LibrariesXML(main, out), nil
}

// libraryDocument lists a part of a namespace; the first entry of a whole one is the
// program.
func libraryDocument(list []linkMap, whole bool, namespace uint64) []byte {
	var main uint64
	if whole && len(list) > 0 {
		main, list = list[0].addr, list[1:]
	}
	return rsp.LibrariesXML(main, appendLibraries(nil, list, namespace))
}

// appendLibraries leaves out what has no name: those are programs, or data.
func appendLibraries(out []rsp.Library, list []linkMap, namespace uint64) []rsp.Library {
	for _, m := range list {
		if m.name != "" {
			out = append(out, rsp.Library{Name: m.name, LinkMap: m.addr, Base: m.base, Dynamic: m.dynamic, Namespace: namespace})
		}
	}
	return out
}

// parseAnnex reads `name=hex;name=hex`.
func parseAnnex(annex string) map[string]uint64 {
	out := map[string]uint64{}
	for _, word := range strings.Split(annex, ";") {
		name, value, _ := strings.Cut(word, "=")
		if n, err := strconv.ParseUint(value, 16, 64); err == nil {
			out[name] = n
		}
	}
	return out
}

// findDebug returns the address of struct r_debug; 0: the dynamic linker has not run
// yet.
func findDebug(read memoryReader, auxv []byte) (uint64, error) {
	p, err := readProgram(read, auxv)
	if err != nil {
		return 0, err
	}
	h := p.header(elf.PT_DYNAMIC)
	if h == nil {
		return 0, errNoLinker
	}
	debug, found := uint64(0), false
	err = readDynamic(read, h.Vaddr+p.bias, func(tag elf.DynTag, value uint64) bool {
		if tag == elf.DT_DEBUG {
			debug, found = value, true
		}
		return !found
	})
	if err == nil && !found {
		err = errNoLinker
	}
	return debug, err
}

// namespace is one list: its struct r_debug and its first entry.
type namespace struct{ debug, first uint64 }

// readNamespaces reads them until one cannot be read.
func readNamespaces(read memoryReader, debug uint64) []namespace {
	var out []namespace
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
		out = append(out, namespace{debug, first})
		if version < 2 {
			break
		}
		if debug, err = read.word(debug + rNext); err != nil {
			break
		}
	}
	return out
}

// readLinkMaps reads a list from addr on, whose predecessor is prev. It ends before
// an entry that cannot be right.
func readLinkMaps(read memoryReader, addr, prev uint64) []linkMap {
	var out []linkMap
	seen := map[uint64]bool{}
	for addr != 0 && !seen[addr] && len(out) < maxLibraries {
		seen[addr] = true
		w, err := read.words(addr, 5)
		if err != nil || w[4] != prev {
			break
		}
		out = append(out, linkMap{
			addr: addr, base: w[0], dynamic: w[2], next: w[3], prev: w[4],
			name: read.text(w[1]),
		})
		prev, addr = addr, w[3]
	}
	return out
}

// text is a string that ends with a zero byte, "" if it cannot be read or is longer
// than a path.
func (read memoryReader) text(addr uint64) string {
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
