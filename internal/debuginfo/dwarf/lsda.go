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
func (cf *callFrames) LandingPads(f *Function) (pads []uint64, err error) {
	defer cf.guard(&err)()
	seen := map[uint64]bool{}
	for _, r := range f.Ranges {
		for pc := r.Lo; pc < r.Hi; {
			e := cf.frames().Find(pc)
			if e == nil {
				break
			}
			if e.HasLSDA {
				list, err := cf.readLSDA(e)
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
func (cf *callFrames) AllLandingPads() (pads []uint64, err error) {
	defer cf.guard(&err)()
	if cf.pads != nil {
		return *cf.pads, cf.padsErr
	}
	cf.frames().All(func(e *frame.Entry) {
		if !e.HasLSDA || cf.padsErr != nil {
			return
		}
		var list []uint64
		list, cf.padsErr = cf.readLSDA(e)
		pads = append(pads, list...)
	})
	sort.Slice(pads, func(i, j int) bool { return pads[i] < pads[j] })
	cf.pads = &pads
	return pads, cf.padsErr
}

func (cf *callFrames) readLSDA(e *frame.Entry) ([]uint64, error) {
	pads, err := e.LandingPads(cf.file.ReadVaddr)
	if err != nil {
		err = fmt.Errorf("%s: %w", cf.path, err)
	}
	return pads, err
}
