package dwarf

import (
	"fmt"
	"path/filepath"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// splitFile is one .dwo file.
type splitFile struct {
	file *elf.File
	d    *data
}

// openSplit finds the unit of a skeleton unit: in MODULE.dwp or in its .dwo file.
func (in *info) openSplit(skel *unit) *unit {
	h := skel.head()
	path := h.dwoName
	if !filepath.IsAbs(path) {
		path = filepath.Join(h.compDir, path)
	}
	for _, p := range []string{
		filepath.Join(in.opt.Root, path),
		filepath.Join(filepath.Dir(in.path), filepath.Base(path)),
	} {
		if s := in.splitFile(p); s.d != nil {
			if u := s.d.splitUnit(h.dwoID); u != nil {
				return skel.adopt(u)
			}
		}
	}
	if s := in.splitFile(in.path + ".dwp"); s.file != nil {
		if d := in.packaged(s.file, h.dwoID); d != nil {
			if u := d.splitUnit(h.dwoID); u != nil {
				return skel.adopt(u)
			}
		}
	}
	in.warn(fmt.Sprintf("part of the debug information of %s is in %s, which is not there or does not match (split DWARF; %s.dwp was looked for too): the variables of that unit are missing",
		in.path, path, in.path))
	return nil
}

// adopt ties a split unit to its skeleton.
func (u *unit) adopt(split *unit) *unit {
	split.skel = u
	return split
}

func (in *info) splitFile(path string) *splitFile {
	in.warnMu.Lock() // units are scanned in parallel
	defer in.warnMu.Unlock()
	if s := in.splits[path]; s != nil {
		return s
	}
	s := &splitFile{}
	in.splits[path] = s
	by := in.file
	if in.dbg != nil {
		by = in.dbg
	}
	f, err := elf.OpenNamed(by, path)
	if err != nil {
		return s
	}
	s.file = f
	s.d = newData(in, path, func(sec section) ([]byte, error) {
		return f.Bytes(sectionNames[sec] + ".dwo")
	})
	s.d.dwo = true
	return s
}

// splitUnit finds the unit with that id. One .dwo holds one.
func (d *data) splitUnit(id uint64) *unit {
	d.scan()
	for _, u := range d.units {
		if u.kind == utSplitCompile && u.sig == id {
			return u
		}
		if u.f.Version < 5 && u.kind == utCompile {
			if root, ok := u.rootDie(); ok {
				if v, ok := root.attr(atGNUDwoID); ok && v.N == id {
					return u
				}
			}
		}
	}
	return nil
}

// Section identifiers of package indexes: DWARF 5 section 7.3.5, and the older GNU format.
var dwpSections = map[uint32]map[uint32]section{
	5: {1: secInfo, 3: secAbbrev, 4: secLine, 5: secLoclists, 6: secStrOffsets, 8: secRnglists},
	2: {1: secInfo, 2: secTypes, 3: secAbbrev, 4: secLine, 5: secLoc, 6: secStrOffsets},
}

// packaged makes a view of the one unit with that id of a .dwp file.
func (in *info) packaged(f *elf.File, id uint64) *data {
	b, err := f.Bytes(".debug_cu_index")
	if err != nil || b == nil {
		return nil
	}
	c := raw.At(b, 0)
	version := uint32(c.U16())
	c.U16()
	if version == 0 {
		version = 2
	}
	kinds, ok := dwpSections[version]
	cols, units, slots := uint64(c.U32()), uint64(c.U32()), uint64(c.U32())
	if !ok || c.Bad || cols > 16 || slots > uint64(len(b))/12 || units > slots {
		return nil
	}
	hashes, rows := uint64(16), 16+slots*8
	ids := rows + slots*4
	offs, sizes := ids+cols*4, ids+cols*4+units*cols*4
	for s := range slots {
		h := raw.At(b, hashes+s*8)
		r := raw.At(b, rows+s*4)
		row := uint64(r.U32())
		if h.U64() != id || row == 0 || row > units {
			continue
		}
		part := map[section][2]uint64{}
		for k := range cols {
			i, o, n := raw.At(b, ids+k*4), raw.At(b, offs+((row-1)*cols+k)*4), raw.At(b, sizes+((row-1)*cols+k)*4)
			if sec, ok := kinds[i.U32()]; ok {
				part[sec] = [2]uint64{uint64(o.U32()), uint64(n.U32())}
			}
		}
		d := newData(in, f.Path, func(sec section) ([]byte, error) {
			all, err := f.Bytes(sectionNames[sec] + ".dwo")
			p, ok := part[sec]
			if !ok || err != nil || p[0] > uint64(len(all)) || p[1] > uint64(len(all))-p[0] {
				if sec == secStr || sec == secLineStr {
					return all, err
				}
				return nil, err
			}
			return all[p[0] : p[0]+p[1]], nil
		})
		d.dwo = true
		return d
	}
	return nil
}
