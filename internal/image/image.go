package image

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// Image is an address space. It is used from one goroutine.
type Image struct {
	pid     int // 0: of no process
	files   *Files
	root    *string           // see rootDir; nil: not looked up yet
	mods    []*Module         // the executable first, then by address
	parts   []part            // their mappings, by address
	code    []procdir.Mapping // whatever is executable, by address
	makes   bool              // stacks are followed through code made at run time: see made.go
	kernel  *savedKernel      // nil: it is not part of the image
	names   map[uint64]string // of addresses, see Symbol
	walks   walks             // see Unwind
	past    past
	objects map[objectKey]foundObject
}

// part is a mapping of a module.
type part struct {
	start, end uint64
	mod        *Module
}

// New is the image of a process before anything is known of it; see Update.
func New(pid int, files *Files) *Image { return &Image{pid: pid, files: files} }

// OfProcess is the image of a process as it is now.
func OfProcess(pid int, files *Files) (*Image, error) {
	maps, err := procdir.Maps(pid)
	if err != nil {
		return nil, err
	}
	im := New(pid, files)
	im.Update(maps)
	return im, nil
}

// Update sets the present mappings, by address. A module that is mapped where it was keeps its Module with
// its data.
func (im *Image) Update(maps []procdir.Mapping) {
	im.rootDir() // while the process exists: files may be opened when it has ended
	type place struct {
		mapped
		start uint64
	}
	before := &Image{pid: im.pid, files: im.files, root: im.root, mods: im.mods, parts: im.parts, code: im.code, kernel: im.kernel, names: im.names, walks: im.walks}
	old := map[place]*Module{}
	for _, m := range im.mods {
		old[place{mappedFile(&m.Maps[0]), m.start}] = m
	}
	im.mods = modules(im.pid, maps)
	kept := 0
	for i, m := range im.mods {
		if o := old[place{mappedFile(&m.Maps[0]), m.start}]; o != nil {
			o.Maps = m.Maps
			im.mods[i] = o
			kept++
		}
		im.mods[i].image = im
	}
	if kept != len(old) || kept != len(im.mods) {
		im.names = nil // other code may lie where some was named
		im.objects = nil
		im.walks = walks{}
	}
	if kept != len(old) {
		im.past.add(before)
	}
	im.index(maps)
}

// index sorts what lookups by address need.
func (im *Image) index(maps []procdir.Mapping) {
	im.parts, im.code = nil, nil
	for _, m := range im.mods {
		for i := range m.Maps {
			im.parts = append(im.parts, part{m.Maps[i].Start, m.Maps[i].End, m})
		}
	}
	sort.Slice(im.parts, func(i, j int) bool { return im.parts[i].start < im.parts[j].start })
	for i := range maps {
		if maps[i].Prot&unix.PROT_EXEC != 0 {
			im.code = append(im.code, maps[i])
		}
	}
}

// modules lists the ELF files of a process by the order of their addresses, the
// executable first.
func modules(pid int, maps []procdir.Mapping) []*Module {
	exe := executable(pid)
	byFile := map[mapped][]procdir.Mapping{}
	var files []mapped
	for i := range maps {
		x := &maps[i]
		if x.Path == "" || x.Path[0] != '/' || x.Shared && strings.HasPrefix(x.Path, memfd) || isDevice(x.Path) {
			continue
		}
		f := mappedFile(x)
		if byFile[f] == nil {
			files = append(files, f)
		}
		byFile[f] = append(byFile[f], *x)
	}
	var list []*Module
	for _, f := range files {
		list = append(list, loads(byFile[f], exe(&byFile[f][0]))...)
	}
	list = slices.DeleteFunc(list, func(m *Module) bool { return !m.Exe && !m.hasCode() })
	slices.SortStableFunc(list, func(a, b *Module) int { return cmp.Compare(rank(a), rank(b)) })
	return list
}

// memfd begins the path of memory that has a descriptor (memfd_create(2)). It is a file if it is mapped private: a program or a library
// that was executed or loaded from it.
const memfd = "/memfd:"

// isDevice reports whether a path is that of a device. /dev/shm is a file system.
func isDevice(path string) bool {
	return strings.HasPrefix(path, "/dev/") && !strings.HasPrefix(path, "/dev/shm/")
}

func rank(m *Module) uint64 {
	if m.Exe {
		return 0
	}
	return m.Maps[0].Start
}

// Pid is the process that the image is of; 0: it is of none.
func (im *Image) Pid() int { return im.pid }

// Modules lists them: the executable first, the others by address.
func (im *Image) Modules() []*Module { return im.mods }

// IsCode reports whether an address lies in an executable mapping, of whatever.
func (im *Image) IsCode(addr uint64) bool {
	return slices.ContainsFunc(im.code, func(x procdir.Mapping) bool { return x.Contains(addr) })
}

// Owner returns the module with a mapping at an address, or nil. Its file may be one that cannot be opened.
func (im *Image) Owner(addr uint64) *Module {
	i := sort.Search(len(im.parts), func(i int) bool { return im.parts[i].end > addr })
	if i < len(im.parts) && im.parts[i].start <= addr {
		return im.parts[i].mod
	}
	return nil
}

// Find returns the opened module that an address belongs to, and the address in its file; nil if there is
// none, or its file cannot be read.
func (im *Image) Find(addr uint64) (*Module, uint64) {
	if m := im.Owner(addr); m != nil {
		if m.Open() == nil {
			if vaddr, ok := m.Vaddr(addr); ok {
				return m, vaddr
			}
		}
		return nil, 0
	}
	// Zeroed data after the file's last page is mapped without a name.
	if m := im.below(addr); m != nil && m.Open() == nil && m.Readable(addr-m.bias, 1) {
		return m, addr - m.bias
	}
	return nil, 0
}

// below returns the module with the last mapping that ends at or below an address, or nil.
func (im *Image) below(addr uint64) *Module {
	i := sort.Search(len(im.parts), func(i int) bool { return im.parts[i].end > addr })
	if i == 0 {
		return nil
	}
	return im.parts[i-1].mod
}

// File returns the debug information of the module at an address, and its load bias; nil if there is none.
func (im *Image) File(addr uint64) (*dwarf.Module, uint64) {
	m, vaddr := im.Find(addr)
	if m == nil {
		return nil, 0
	}
	return m.info, addr - vaddr
}
