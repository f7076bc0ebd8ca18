package dwarf

import (
	"fmt"
	"sort"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
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
			e := m.frames().Find(pc)
			if e == nil {
				break
			}
			if e.HasLSDA {
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
			pc = e.Hi
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
	m.frames().All(func(e *frame.Entry) {
		if !e.HasLSDA || m.padsErr != nil {
			return
		}
		var list []uint64
		list, m.padsErr = m.readLSDA(e)
		pads = append(pads, list...)
	})
	sort.Slice(pads, func(i, j int) bool { return pads[i] < pads[j] })
	m.pads = &pads
	return pads, m.padsErr
}

func (m *Module) readLSDA(e *frame.Entry) ([]uint64, error) {
	pads, err := e.LandingPads(m.file.ReadVaddr)
	if err != nil {
		err = fmt.Errorf("%s: %w", m.path, err)
	}
	return pads, err
}
