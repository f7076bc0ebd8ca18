package dwarf

import (
	"fmt"
	"sort"
	"sync"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// section numbers the DWARF sections.
type section int

const (
	secInfo section = iota
	secTypes
	secAbbrev
	secStr
	secLineStr
	secStrOffsets
	secAddr
	secLine
	secRanges
	secRnglists
	secLoc
	secLoclists
	nSections
)

var sectionNames = [nSections]string{
	".debug_info", ".debug_types", ".debug_abbrev", ".debug_str",
	".debug_line_str", ".debug_str_offsets", ".debug_addr", ".debug_line", ".debug_ranges",
	".debug_rnglists", ".debug_loc", ".debug_loclists",
}

// data is the DWARF of one file: the module itself or its debug file, the
// supplementary (dwz) file, or one .dwo.
type data struct {
	in   *info
	name string // file, for messages
	load func(s section) ([]byte, error)
	kept *keptFile // of the sections; nil for a .dwo
	dwo  bool

	mu      sync.Mutex // guards what follows: units are scanned in parallel
	secs    [nSections][]byte
	loaded  [nSections]bool
	abbrevs map[abbrevKey]*abbrevTable
	headers map[uint64]parsedHeader // of line tables, by offset
	linesIn int                     // bytes of line programs run
	rows    int                     // rows kept of all line tables

	unitOnce sync.Once
	units    []*unit // of .debug_info by offset
	tunits   []*unit // of .debug_types by offset
	sigs     map[uint64]*unit

	alt *data // supplementary file, nil when there is none
}

type abbrevKey struct {
	off uint64
	f   raw.Format
}

func newData(in *info, name string, load func(section) ([]byte, error)) *data {
	return &data{
		in: in, name: name, load: load, abbrevs: map[abbrevKey]*abbrevTable{},
		headers: map[uint64]parsedHeader{},
	}
}

// fresh is the same data with nothing read of it yet.
func (d *data) fresh() *data {
	f := newData(d.in, d.name, d.load)
	f.dwo, f.kept = d.dwo, d.kept
	if d.alt != nil {
		f.alt = d.alt.fresh()
	}
	return f
}

// sec is a section's content, empty when absent. A section that cannot be
// decompressed is warned of once and counts as absent.
func (d *data) sec(s section) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.loaded[s] {
		b, err := d.load(s)
		if err != nil {
			d.in.warn(fmt.Sprintf("debug information of %s is incomplete: %v", d.name, err))
		}
		d.secs[s], d.loaded[s] = b, true
	}
	return d.secs[s]
}

// stored is a section as it is in the file, and the size of its content.
func (d *data) stored(s section) (b []byte, size uint64) {
	if d.kept == nil {
		b = d.sec(s)
		return b, uint64(len(b))
	}
	return d.kept.file.Stored(sectionNames[s])
}

// close unmaps kept sections.
func (d *data) close() {
	for _, s := range []*data{d, d.alt} {
		if s != nil && s.kept != nil {
			s.kept.close()
		}
	}
}

func (d *data) abbrevTable(off uint64, f raw.Format) *abbrevTable {
	sec := d.sec(secAbbrev)
	d.mu.Lock()
	t := d.abbrevs[abbrevKey{off, f}]
	d.mu.Unlock()
	if t == nil {
		t = parseAbbrevs(sec, off, f)
		d.mu.Lock()
		d.abbrevs[abbrevKey{off, f}] = t
		d.mu.Unlock()
	}
	return t
}

// scan finds the units by their headers.
func (d *data) scan() {
	d.unitOnce.Do(func() {
		d.sigs = map[uint64]*unit{}
		d.units = d.scanSection(secInfo)
		d.tunits = d.scanSection(secTypes)
	})
}

func (d *data) scanSection(s section) []*unit {
	sec := d.sec(s)
	var out []*unit
	for off := uint64(0); off < uint64(len(sec)); {
		u, err := parseUnitHeader(d, s, sec, off)
		if err != nil {
			d.in.warn(fmt.Sprintf("debug information of %s is damaged: %v", d.name, err))
			return out
		}
		off = u.end
		if u.root == 0 {
			continue // a unit of an unknown version: skipped whole
		}
		out = append(out, u)
		if u.sig != 0 && (u.kind == utType || u.kind == utSplitType) {
			d.sigs[u.sig] = u
		}
	}
	return out
}

// unitAt finds the unit that holds an offset of .debug_info.
func (d *data) unitAt(off uint64) *unit {
	d.scan()
	i := sort.Search(len(d.units), func(i int) bool { return d.units[i].end > off })
	if i < len(d.units) && d.units[i].off <= off {
		return d.units[i]
	}
	return nil
}

// val is an attribute's value with the unit that it is of: strings, addresses and
// references are resolved by the unit.
type val struct {
	raw.Value
	u *unit
}

// isSecOffset reports whether the value is an offset of (or index to) a list in
// another section. data4 and data8 are that in DWARF 2 and 3.
func (v val) isSecOffset() bool {
	switch v.Form {
	case raw.FormSecOffset, raw.FormLoclistx, raw.FormRnglistx:
		return true
	case raw.FormData4, raw.FormData8:
		return v.u == nil || v.u.f.Version < 4
	}
	return false
}

// str resolves the string forms. Damaged references give "".
func (v val) str() string { return string(v.strBytes()) }

func (v val) strBytes() []byte {
	if v.u == nil {
		return nil
	}
	d := v.u.d
	switch v.Form {
	case raw.FormString:
		return v.B
	case raw.FormStrp:
		return raw.StringAt(d.sec(secStr), v.N)
	case raw.FormLineStrp:
		return raw.StringAt(d.sec(secLineStr), v.N)
	case raw.FormStrpSup, raw.FormGNUStrpAlt:
		if d.alt != nil {
			return raw.StringAt(d.alt.sec(secStr), v.N)
		}
	case raw.FormStrx, raw.FormStrx1, raw.FormStrx2, raw.FormStrx3, raw.FormStrx4, raw.FormGNUStrx:
		return v.u.strx(v.N)
	}
	return nil
}

// strx resolves an index of .debug_str_offsets.
func (r *unitRoot) strx(i uint64) []byte {
	base := r.head().strBase
	size := uint64(4)
	if r.u.f.Is64 {
		size = 8
	}
	if i > 1<<32 {
		return nil
	}
	c := raw.At(r.u.d.sec(secStrOffsets), base+i*size)
	off := c.Offset(r.u.f.Is64)
	if c.Bad {
		return nil
	}
	return raw.StringAt(r.u.d.sec(secStr), off)
}

// addr resolves the address forms; ok is false for an index outside .debug_addr.
func (v val) addr() (uint64, bool) {
	switch v.Form {
	case raw.FormAddr:
		return v.N, true
	case raw.FormAddrx, raw.FormAddrx1, raw.FormAddrx2, raw.FormAddrx3, raw.FormAddrx4, raw.FormGNUAddrx:
		return v.u.Address(v.N)
	}
	return 0, false
}

// Address resolves an index of .debug_addr; split units use their skeleton's.
func (r *unitRoot) Address(i uint64) (uint64, bool) {
	if r.u.skel != nil {
		r = &r.u.skel.unitRoot
	}
	if i > 1<<32 {
		return 0, false
	}
	c := raw.At(r.u.d.sec(secAddr), r.head().addrBase+i*uint64(r.u.f.AddrSize))
	a := c.Uint(int(r.u.f.AddrSize))
	return a, !c.Bad
}
