package image

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// The dynamic linker loads a file once in each of its namespaces (dlmopen): every load has code and data of its own, and
// is a module of its own. A program may also map a file to read it, or map its code again elsewhere: such mappings belong
// to the file's first load, and do not change what identifies that.

// maxLoads bounds how many loads of a file are told apart; glibc has 16 namespaces.
const maxLoads = 64

// loads makes the modules of the mappings of a file, which are sorted by address.
func loads(maps []procdir.Mapping, exe bool) (list []*Module) {
	var rest []procdir.Mapping
	for begin, i := 0, 1; begin < len(maps); i++ {
		if i < len(maps) && maps[i].Offset != 0 {
			continue
		}
		if part := maps[begin:i]; isLoad(part) && len(list) < maxLoads && !(exe && len(list) > 0) {
			list = append(list, &Module{Path: part[0].Path, Exe: exe, Maps: slices.Clone(part), start: part[0].Start})
		} else {
			rest = append(rest, part...)
		}
		begin = i
	}
	if len(list) == 0 { // also a file of one page, whose data begin at its offset 0 too
		first := max(slices.IndexFunc(maps, func(m procdir.Mapping) bool { return m.Offset == 0 && m.Prot&unix.PROT_EXEC != 0 }), 0)
		return []*Module{{Path: maps[0].Path, Exe: exe, Maps: maps, start: maps[first].Start}}
	}
	m := list[0]
	m.Maps = append(m.Maps, rest...)
	slices.SortFunc(m.Maps, func(a, b procdir.Mapping) int {
		if a.Start < b.Start {
			return -1
		}
		return 1
	})
	return list
}

// isLoad reports whether mappings are like those of the dynamic linker: the start of the file, code, and other data
// behind it.
func isLoad(part []procdir.Mapping) bool {
	code := slices.IndexFunc(part, func(m procdir.Mapping) bool { return m.Prot&unix.PROT_EXEC != 0 })
	return part[0].Offset == 0 && code >= 0 && slices.ContainsFunc(part[code:], func(m procdir.Mapping) bool { return m.Prot&unix.PROT_EXEC == 0 })
}

// SameFile reports whether two modules are loads of one file.
func (m *Module) SameFile(o *Module) bool { return mappedFile(&m.Maps[0]) == mappedFile(&o.Maps[0]) }
