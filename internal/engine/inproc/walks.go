package inproc

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// walks is the memory in the process by which hit programs follow stacks: see the area of package unwind. The
// header and the tables are mapped for reading only.
type walks struct {
	area   uint64    // the header; 0: none is mapped
	caches [2]uint64 // the first is in use
	mapped []region  // to be freed
	ranges []codeRange
}

// codeRange is a module's code in the header, at the index that it has in walks.ranges.
type codeRange struct {
	mod    *image.Module // nil: it is unloaded
	lo, hi uint64
}

// walks reports whether a program of the patch follows stacks.
func (p *placed) walks() bool {
	for _, x := range p.sites {
		for _, b := range x.IR.Blocks {
			for i := range b.Instrs {
				if op := b.Instrs[i].Op; op == ir.Walk || op == ir.Intern {
					return true
				}
			}
		}
	}
	return false
}

// StackArea returns the address of the area in the process by which its stacks are followed, which is mapped by the first call
// and then agrees with the modules whenever Refresh is called.
func (e *Engine) StackArea() (uint64, error) {
	if err := e.walks.update(e.target, e.mods); err != nil {
		return 0, err
	}
	return e.walks.area, nil
}

// update makes the area agree with the modules that are mapped. New tables are made while the process runs.
func (w *walks) update(t *target, mods *modules) error {
	add, gone := w.changes(mods)
	if w.area != 0 && len(add) == 0 && len(gone) == 0 {
		return nil
	}
	return t.stopped(func(st *process.Stopped) error {
		if err := w.mapArea(st); err != nil {
			return err
		}
		if err := w.drop(st, gone); err != nil {
			return err
		}
		return w.add(st, add)
	})
}

// loaded is a module with its table and the code that it is for.
type loaded struct {
	unwind.Module
	mod *image.Module
}

// changes lists the code that is not in the header yet, and the indexes of that which is not mapped any more.
func (w *walks) changes(mods *modules) (add []loaded, gone []int) {
	type key struct {
		mod    *image.Module
		lo, hi uint64
	}
	had, have := map[key]bool{}, map[key]bool{}
	for _, r := range w.ranges {
		had[key(r)] = true
	}
	for _, m := range mods.list {
		if m.open() != nil {
			continue
		}
		for i := range m.Maps {
			x := &m.Maps[i]
			if !m.MapsCode(x) {
				continue
			}
			k := key{m.Module, x.Start, x.End}
			if have[k] = true; had[k] {
				continue
			}
			if table := m.dw.UnwindTable(); table != nil {
				add = append(add, loaded{unwind.Module{Lo: x.Start, Hi: x.End, Bias: m.bias, Table: table}, m.Module})
			}
		}
	}
	for i, r := range w.ranges {
		if r.mod != nil && !have[key(r)] {
			gone = append(gone, i)
		}
	}
	return add, gone
}

// alloc maps memory anywhere.
func (w *walks) alloc(st *process.Stopped, size uint64, prot uint64) (uint64, error) {
	size = (size + pageSize - 1) &^ (pageSize - 1)
	at, err := st.Syscall(unix.SYS_MMAP, st.Place(size), size, prot, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE, ^uint64(0), 0)
	if err != nil {
		return 0, fmt.Errorf("map %d bytes for following stacks: %w", size, err)
	}
	w.mapped = append(w.mapped, region{base: at, size: size})
	return at, nil
}

func (w *walks) mapArea(st *process.Stopped) (err error) {
	if w.area != 0 {
		return nil
	}
	area, err := w.alloc(st, unwind.AreaSize, unix.PROT_READ)
	if err != nil {
		return err
	}
	for i := range w.caches {
		if w.caches[i], err = w.alloc(st, unwind.CacheSize, unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return err
		}
	}
	w.area = area
	return w.word(st, unwind.AreaCache, w.caches[0])
}

func (w *walks) word(st *process.Stopped, off, v uint64) error {
	return st.WriteMem(w.area+off, binary.LittleEndian.AppendUint64(nil, v))
}

// add takes modules into the header, behind the others. Those that have no room are not known to walks.
func (w *walks) add(st *process.Stopped, list []loaded) error {
	tables := map[*unwind.Table]uint64{}
	for i := range list {
		m := &list[i]
		n := uint64(len(w.ranges))
		if n >= unwind.MaxModules {
			return nil
		}
		at, ok := tables[m.Table]
		if !ok {
			b := m.Table.Bytes()
			var err error
			if at, err = w.alloc(st, uint64(len(b)), unix.PROT_READ); err != nil {
				return err
			}
			if err := st.WriteMem(at, b); err != nil {
				return err
			}
			tables[m.Table] = at
		}
		if err := st.WriteMem(w.area+unwind.AreaModules+n*unwind.ModuleSize, m.Encode(at)); err != nil {
			return err
		}
		if err := w.word(st, unwind.AreaCount, n+1); err != nil {
			return err
		}
		w.ranges = append(w.ranges, codeRange{m.mod, m.Lo, m.Hi})
	}
	return nil
}

// drop takes modules out that are unloaded, and what the cache has of them.
func (w *walks) drop(st *process.Stopped, gone []int) error {
	if len(gone) == 0 {
		return nil
	}
	for _, i := range gone {
		if err := w.word(st, unwind.AreaModules+uint64(i)*unwind.ModuleSize+unwind.ModuleHi, 0); err != nil {
			return err
		}
		w.ranges[i] = codeRange{}
	}
	w.caches[0], w.caches[1] = w.caches[1], w.caches[0]
	if err := st.WriteMem(w.caches[0], make([]byte, unwind.CacheSize)); err != nil {
		return err
	}
	return w.word(st, unwind.AreaCache, w.caches[0])
}

// release lists all of it, to be unmapped, and forgets it. No thread may be in code of ours.
func (w *walks) release() (list []process.Range) {
	for _, r := range w.mapped {
		list = append(list, process.Range{Addr: r.base, Size: r.size})
	}
	*w = walks{}
	return list
}
