package image

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
)

// Vmlinux is the kernel itself among its parts in a saved list.
const Vmlinux = "vmlinux"

// SavedSymbol is a symbol of the kernel or of one of its modules.
type SavedSymbol struct {
	Name       string
	Addr, Size uint64
}

// Save lists the kernel, and those of its modules to which addresses belong, each with
// the symbols that contain addresses. So these have names on a machine with another
// kernel and without any file of this one. Lines, inlined functions and the names of
// other addresses need a file with symbols there, which Restore finds by its build-id.
// Both the address of a caller and that of its call are named.
func (k *Kernel) Save(addrs []uint64) ([]Saved, error) {
	t, err := k.Symbols()
	if err != nil {
		return nil, err
	}
	first, _ := t.Addr(anchor)
	last, ok := t.Addr("_end")
	if !ok { // without CONFIG_KALLSYMS_ALL the table has code only
		last, _ = t.Addr("_etext")
	}
	parts := map[string]*Saved{"": {Kernel: Vmlinux, Path: k.path, BuildID: k.BuildID(), Start: first, End: last}}
	for _, addr := range addrs {
		for _, a := range []uint64{addr - 1, addr} {
			at, ok := t.At(a)
			if !ok || !InKernel(addr) {
				continue
			}
			p := parts[at.Module]
			if p == nil {
				p = &Saved{Kernel: at.Module, BuildID: k.moduleID(at.Module)}
				parts[at.Module] = p
			}
			p.Symbols = append(p.Symbols, SavedSymbol{at.Name, at.Addr, at.Extent()})
		}
	}
	var list []Saved
	for _, module := range slices.Sorted(maps.Keys(parts)) { // the kernel itself first
		p := parts[module]
		slices.SortFunc(p.Symbols, byAddress)
		p.Symbols = slices.Compact(p.Symbols)
		list = append(list, *p)
	}
	return list, nil
}

func byAddress(a, b SavedSymbol) int { return cmp.Compare(a.Addr, b.Addr) }

// savedKernel is the kernel of a saved list.
type savedKernel struct {
	symbols    []savedLocation    // by address
	start, end uint64             // of the kernel itself
	file       func() *KernelFile // opened once; nil: none is found
}

type savedLocation struct {
	SavedSymbol
	module string // "": of the kernel itself
}

// restoreKernel is the kernel of a list, nil where the list has none.
func restoreKernel(list []Saved, files *Files) *savedKernel {
	if !slices.ContainsFunc(list, func(s Saved) bool { return s.Kernel != "" }) {
		return nil
	}
	k := &savedKernel{file: func() *KernelFile { return nil }}
	for i := range list {
		s, module := &list[i], list[i].Kernel
		switch module {
		case "":
			continue
		case Vmlinux:
			module, k.start, k.end = "", s.Start, s.End
			k.file = sync.OnceValue(func() *KernelFile { return files.kernelFile(s) })
		}
		for _, y := range s.Symbols {
			k.symbols = append(k.symbols, savedLocation{y, module})
		}
	}
	slices.SortStableFunc(k.symbols, func(a, b savedLocation) int { return byAddress(a.SavedSymbol, b.SavedSymbol) })
	return k
}

// kernelFile is the file of a saved kernel, nil where none is found that has symbols.
func (f *Files) kernelFile(s *Saved) *KernelFile {
	info := f.byBuildID(s.BuildID, s.Path)
	if info == nil || s.Start == 0 {
		return nil
	}
	file, err := kernelFile(info, s.Start)
	if err != nil {
		return nil
	}
	return file
}

// At finds an address among the saved symbols, else in the file of the kernel itself.
func (k *savedKernel) At(addr uint64) (at kallsyms.Location, ok bool) {
	i, exact := slices.BinarySearchFunc(k.symbols, addr, func(s savedLocation, addr uint64) int { return cmp.Compare(s.Addr, addr) })
	if !exact {
		i--
	}
	if i >= 0 && addr-k.symbols[i].Addr < k.symbols[i].Size {
		s := &k.symbols[i]
		at.Name, at.Module, at.Addr, at.Offset, at.Size = s.Name, s.module, s.Addr, addr-s.Addr, s.Size
		return at, true
	}
	if addr < k.start || addr >= k.end {
		return at, false
	}
	file := k.file()
	if file == nil {
		return at, false
	}
	at.Name, at.Offset, _, _, _ = file.Info.Symbolize(addr - file.Slide)
	at.Addr = addr - at.Offset
	return at, at.Name != ""
}

func (k *savedKernel) debugFile() *KernelFile { return k.file() }
