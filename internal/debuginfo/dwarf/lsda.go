package dwarf

import (
	"fmt"
	"sort"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// LandingPads returns the addresses in f where C++ exceptions resume: the
// unwinder jumps there, so no patch may cover their inside. They come from the
// language specific data of f's call frame entries (Itanium C++ ABI, exception
// handling tables).
func (m *Module) LandingPads(f *Function) (pads []uint64, err error) {
	defer m.guard(&err)()
	seen := map[uint64]bool{}
	for _, r := range f.Ranges {
		for pc := r.Lo; pc < r.Hi; {
			e := m.frames().find(pc)
			if e == nil {
				break
			}
			if e.hasLSDA {
				list, err := m.readLSDA(e)
				if err != nil {
					return nil, err
				}
				for _, p := range list {
					if !seen[p] {
						seen[p] = true
						pads = append(pads, p)
					}
				}
			}
			pc = e.hi
		}
	}
	sort.Slice(pads, func(i, j int) bool { return pads[i] < pads[j] })
	return pads, nil
}

// AllLandingPads returns those of the whole module, sorted: a part of a function
// that is known by a symbol only may have pads that the entry of another part lists.
func (m *Module) AllLandingPads() (pads []uint64, err error) {
	defer m.guard(&err)()
	if m.pads != nil {
		return *m.pads, m.padsErr
	}
	for _, s := range m.frames().secs {
		s.scan()
		for _, e := range s.fdes {
			if !e.hasLSDA || m.padsErr != nil {
				continue
			}
			var list []uint64
			list, m.padsErr = m.readLSDA(e)
			pads = append(pads, list...)
		}
	}
	sort.Slice(pads, func(i, j int) bool { return pads[i] < pads[j] })
	m.pads = &pads
	return pads, m.padsErr
}

// readLSDA reads the call-site table at e.lsda.
func (m *Module) readLSDA(e *fde) ([]uint64, error) {
	data := m.file.ReadVaddr(e.lsda, 1<<24)
	bad := fmt.Errorf("the exception table at %#x of %s is damaged", e.lsda, m.path)
	s := &cfiSection{vaddr: e.lsda, read: m.file.ReadVaddr}
	c := raw.Cursor{B: data}
	start := e.lo
	if enc := c.U8(); enc != peOmit {
		var ok bool
		if start, ok = s.pointer(&c, enc, 8); !ok {
			return nil, bad
		}
	}
	if enc := c.U8(); enc != peOmit { // type table
		c.ULEB()
	}
	enc := c.U8()
	n := c.ULEB()
	if c.Bad || n > uint64(c.Left()) {
		return nil, bad
	}
	t := raw.Cursor{B: c.Bytes(int(n))}
	var pads []uint64
	for !t.Done() {
		_, ok1 := rawPointer(&t, enc, 8)
		_, ok2 := rawPointer(&t, enc, 8)
		pad, ok3 := rawPointer(&t, enc, 8)
		t.ULEB() // action
		if !ok1 || !ok2 || !ok3 || t.Bad {
			return nil, bad
		}
		if pad != 0 {
			pads = append(pads, start+pad)
		}
	}
	return pads, nil
}
