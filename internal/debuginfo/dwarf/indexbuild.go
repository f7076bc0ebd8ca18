package dwarf

import (
	"bytes"
	"path"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
)

// unitPart is what the scan of one unit contributes to the index.
type unitPart struct {
	names  []index.Name
	once   []uint64 // of names: a key of those that count once in a program of C, else 0
	ranges []index.Range
	files  []index.File
	flags  byte
}

// unitsOf lists the units that an index numbers: the module's own first.
func unitsOf(d *data) (units []*unit, main int) {
	for _, s := range []*data{d, d.alt} {
		if s == nil {
			continue
		}
		s.scan()
		if units = append(units, s.units...); s == d {
			main = len(units)
		}
		units = append(units, s.tunits...)
	}
	return units, main
}

// chunk is how many units are scanned between two merges, which are done in the
// order of the file.
const chunk = 64

// buildIndex scans the top levels of all units, in parallel. The scan uses units
// of its own, so that what it reads of each does not stay in memory; release is
// called now and then: the pages read so far are no longer needed.
func buildIndex(d *data, kept []*unit, main int, release func()) *index.Parts {
	own, _ := unitsOf(d.fresh())
	if len(own) != len(kept) {
		own = kept
	}
	for s := range nSections {
		d.sec(s)
	}
	p := &index.Parts{Flags: make([]byte, main)}
	seen := map[uint64]bool{}
	for from := 0; from < len(own); from += chunk {
		to := min(from+chunk, len(own))
		for i, part := range scanUnits(own[from:to], kept[from:to], from, main) {
			merge(p, from+i, part, seen)
		}
		clear(own[from:to])
		if from/chunk%8 == 7 {
			release()
		}
	}
	release()
	p.Sort()
	return p
}

// merge adds one unit's part. In C the types and enumerators of one name and shape
// count once: headers are described by every unit.
func merge(p *index.Parts, id int, part *unitPart, seen map[uint64]bool) {
	for i, e := range part.names {
		if k := part.once[i]; k != 0 {
			if seen[k] {
				continue
			}
			seen[k] = true
		}
		p.Names = append(p.Names, e)
	}
	p.Ranges = append(p.Ranges, part.ranges...)
	p.Files = append(p.Files, part.files...)
	if id < len(p.Flags) {
		p.Flags[id] = part.flags
	}
}

// scanUnits scans units in parallel; parts are in their order.
func scanUnits(own, kept []*unit, from, main int) []*unitPart {
	parts := make([]*unitPart, len(own))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8, len(own)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				u := own[i]
				if u.head().dwoName != "" {
					u = kept[i] // split units know their skeleton: there is one of each
				}
				parts[i] = scanUnit(u, uint32(from+i), from+i < main)
			}
		}()
	}
	for i := range own {
		next <- i
	}
	close(next)
	wg.Wait()
	return parts
}

// scanUnit reads one unit. The readable part of a damaged unit is kept.
func scanUnit(u *unit, id uint32, main bool) (p *unitPart) {
	p = &unitPart{}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { _ = recover() }() // damaged data: names are missing
	if main {
		p.code(u, id)
	}
	p.scanNames(u.whole(), id)
	return p
}

// code notes the unit's addresses and source files.
func (p *unitPart) code(u *unit, id uint32) {
	h := u.head()
	if h.dwoName != "" {
		p.flags |= unitSplit
	}
	if h.tag == tagCompileUnit || h.tag == tagSkeletonUnit {
		p.flags |= unitHasCode
		for _, r := range u.pcs() {
			p.ranges = append(p.ranges, index.Range{Range: r, Unit: id})
		}
		u.eachSource(func(name []byte) {
			if bytes.IndexByte(name, '/') >= 0 || len(name) < 3 { // "." and ".." are names too
				name = []byte(path.Base(path.Clean(string(name))))
			}
			p.files = append(p.files, index.File{Hash: index.Hash(name), Unit: id})
		})
	}
	if u.whole().inlinesOthers() {
		p.flags |= unitInlinesOthers
	}
}

// scanNames lists the names that one unit defines.
func (p *unitPart) scanNames(u *unit, id uint32) {
	root, ok := u.rootDie()
	if !ok {
		return
	}
	c := u.isC()
	add := func(e die, tag uint16, name []byte, once bool) {
		off := e.off - u.off
		if len(name) == 0 || off > 1<<32-1 {
			return
		}
		key := uint64(0)
		if once && c {
			key = max(index.Key(tag, name)^shapeOf(e)*0x9e3779b97f4a7c15, 1)
		}
		p.names = append(p.names, index.Name{Hash: index.Hash(index.Bare(name)), Off: uint32(off), Unit: id, Tag: tag})
		p.once = append(p.once, key)
	}
	own := func(e die) []byte {
		v, _ := e.attr(atName)
		return v.strBytes()
	}
	root.walk(func(e die, _ int) bool {
		tag := e.ab.tag
		switch tag {
		case tagSubprogram:
			if !e.ab.has(atDeclaration) {
				add(e, tag, e.nameBytes(), false)
			}
		case tagVariable:
			if !e.ab.has(atDeclaration) {
				add(e, tag, e.nameBytes(), false)
			} else if c && e.ab.has(atExternal) {
				add(e, tagDeclared, own(e), true)
			}
		case tagConstant: // Fortran's PARAMETER, and constants of Go's packages
			if u.isFortran() || u.isGo() {
				add(e, tag, own(e), false)
			}
		case tagEnumerator, tagTypedef, tagBaseType, tagUnspecifiedType:
			add(e, tag, own(e), true)
		case tagEnumerationType:
			if !e.ab.has(atDeclaration) {
				add(e, tag, own(e), true)
			}
			return true
		case tagStructType, tagClassType, tagUnionType, tagInterfaceType:
			if !e.ab.has(atDeclaration) {
				add(e, tag, own(e), true)
			}
			return !c
		case tagNamespace, tagModule:
			return true
		}
		return false
	})
}
