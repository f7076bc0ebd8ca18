package dwarf

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/line"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// unit is one compilation, partial, type or skeleton unit: what its header says, and parts that are read when
// they are first needed.
type unit struct {
	d    *data
	sec  section
	b    []byte // the section up to the unit's end: offsets index it directly
	off  uint64 // of the header
	end  uint64
	root uint64 // offset of the root entry, 0 for an unknown version
	f    raw.Format
	kind uint8
	sig  uint64 // type signature or dwo id
	typ  uint64 // type units: offset of the type, relative to off

	abbrevOff uint64
	abOnce    sync.Once
	abs       *abbrevTable

	skel      *unit // split units: the skeleton that refers here
	splitOnce sync.Once
	split     *unit // skeleton units: the unit in the .dwo, nil when absent

	bodyOnce sync.Once
	body     *unitBody

	unitRoot
	unitLists
	unitLines
	unitNames
}

// newUnit connects the parts of a unit.
func newUnit(u *unit) *unit {
	u.unitRoot.u, u.unitLists.u, u.unitLines.u, u.unitNames.u = u, u, u, u
	return u
}

// unitRoot is what the root entry says of the unit: its language, and where its strings and addresses are.
type unitRoot struct {
	u        *unit
	headOnce sync.Once
	hd       unitHead
}

// unitLists has the unit's lists: of ranges, of locations.
type unitLists struct {
	u         *unit
	rangeOnce sync.Once
	ranges    []debuginfo.Range
}

// unitLines is the unit's line table and its files.
type unitLines struct {
	u        *unit
	lineOnce sync.Once
	lines    *line.Table
}

// unitNames finds entries of the unit by name, and the scopes and other units from which names may come.
type unitNames struct {
	u *unit

	spanOnce sync.Once
	spans    []scopeSpan

	topOnce sync.Once
	tops    map[string][]uint64

	reachOnce sync.Once
	reached   []*unit

	apartOnce sync.Once
	aparts    map[string][]die

	typeWords sync.Map // ctype.Kind or tagVariable -> sorted names, for what is not found
}

// unitHead is the content of the root entry.
type unitHead struct {
	tag                      uint16
	name, compDir, producer  string
	lang                     uint64
	stmtList                 uint64
	hasStmt                  bool
	strBase, addrBase        uint64
	rnglistsBase, rangesBase uint64
	loclistsBase             uint64
	low                      uint64
	hasLow                   bool
	dwoName                  string
	dwoID                    uint64
	gcc                      int // GNU compiler's major version, 0 for others
	llvm                     bool
}

func parseUnitHeader(d *data, s section, sec []byte, off uint64) (*unit, error) {
	c := raw.At(sec, off)
	u := newUnit(&unit{d: d, sec: s, off: off, f: raw.Format{AddrSize: 8}, kind: utCompile})
	n, is64 := c.InitialLength()
	u.f.Is64 = is64
	start := uint64(c.Off)
	if c.Bad || n > uint64(len(sec))-start {
		return nil, fmt.Errorf("the unit at %#x of %s is longer than the section", off, sectionNames[s])
	}
	u.end = start + n
	u.b = sec[:u.end]
	c.B = u.b
	u.f.Version = c.U16()
	switch {
	case u.f.Version >= 2 && u.f.Version <= 4:
		u.abbrevOff = c.Offset(is64)
		u.f.AddrSize = c.U8()
		if s == secTypes {
			u.kind = utType
		}
	case u.f.Version == 5:
		u.kind = c.U8()
		u.f.AddrSize = c.U8()
		u.abbrevOff = c.Offset(is64)
	default:
		return u, nil
	}
	switch u.kind {
	case utSkeleton, utSplitCompile:
		u.sig = c.U64()
	case utType, utSplitType:
		u.sig = c.U64()
		u.typ = c.Offset(is64)
	}
	if c.Bad || (u.f.AddrSize != 8 && u.f.AddrSize != 4) {
		return u, nil
	}
	u.root = uint64(c.Off)
	return u, nil
}

func (u *unit) abbrevTable() *abbrevTable {
	u.abOnce.Do(func() { u.abs = u.d.abbrevTable(u.abbrevOff, u.f) })
	return u.abs
}

// head reads the root entry.
func (r *unitRoot) head() *unitHead {
	r.headOnce.Do(r.readHead)
	return &r.hd
}

func (r *unitRoot) readHead() {
	h := &r.hd
	if r.u.skel != nil { // what the skeleton says holds for the split unit
		s := r.u.skel.head()
		h.addrBase, h.low, h.hasLow, h.compDir = s.addrBase, s.low, s.hasLow, s.compDir
		if r.u.f.Version < 5 {
			h.rangesBase = s.rangesBase
		}
	}
	if r.u.f.Version >= 5 { // defaults of split units: right after the section's header
		n := uint64(8)
		if r.u.f.Is64 {
			n = 16
		}
		h.strBase = n
		if r.u.d.dwo {
			h.rnglistsBase, h.loclistsBase = n+4, n+4
		} else {
			h.addrBase = n
		}
	}
	root, ok := r.u.dieAt(r.u.root)
	if !ok {
		return
	}
	h.tag = root.ab.tag
	vals := map[uint16]val{}
	root.each(func(at uint16, v val) { vals[at] = v })
	for at, p := range map[uint16]*uint64{
		atStrOffsetsBase: &h.strBase, atAddrBase: &h.addrBase,
		atGNUAddrBase: &h.addrBase, atRnglistsBase: &h.rnglistsBase, atGNURangesBase: &h.rangesBase,
		atLoclistsBase: &h.loclistsBase, atLanguage: &h.lang, atGNUDwoID: &h.dwoID,
	} {
		if v, ok := vals[at]; ok {
			*p = v.N
		}
	}
	if r.u.kind == utSkeleton || r.u.kind == utSplitCompile {
		h.dwoID = r.u.sig
	}
	if v, ok := vals[atStmtList]; ok {
		h.stmtList, h.hasStmt = v.N, true
	}
	// The strings and addresses need the bases above; headOnce is still held, so
	// they are resolved against h directly.
	for at, p := range map[uint16]*string{
		atName: &h.name, atCompDir: &h.compDir,
		atProducer: &h.producer, atDwoName: &h.dwoName, atGNUDwoName: &h.dwoName,
	} {
		if v, ok := vals[at]; ok {
			*p = string(r.headStr(h, v))
		}
	}
	if v, ok := vals[atLowPC]; ok {
		h.low, h.hasLow = r.headAddr(h, v)
	}
	h.gcc, h.llvm = producerOf(h.producer)
}

// headStr is val.str while head() is still running.
func (r *unitRoot) headStr(h *unitHead, v val) []byte {
	switch v.Form {
	case raw.FormStrx, raw.FormStrx1, raw.FormStrx2, raw.FormStrx3, raw.FormStrx4, raw.FormGNUStrx:
		size := uint64(4)
		if r.u.f.Is64 {
			size = 8
		}
		c := raw.At(r.u.d.sec(secStrOffsets), h.strBase+min(v.N, 1<<32)*size)
		return raw.StringAt(r.u.d.sec(secStr), c.Offset(r.u.f.Is64))
	}
	return v.strBytes()
}

func (r *unitRoot) headAddr(h *unitHead, v val) (uint64, bool) {
	if v.Form == raw.FormAddr {
		return v.N, true
	}
	d := r.u.d
	if r.u.skel != nil {
		d = r.u.skel.d
	}
	c := raw.At(d.sec(secAddr), h.addrBase+min(v.N, 1<<32)*uint64(r.u.f.AddrSize))
	a := c.Uint(int(r.u.f.AddrSize))
	return a, !c.Bad
}

// producerOf recognises the compiler as GDB does, whose choice of breakpoint
// addresses depends on it: GCC's major version from "GNU C17 12.2.0 -O2", and
// LLVM by a prefix, which distributions' own builds ("Debian clang") lack.
func producerOf(p string) (gcc int, llvm bool) {
	if strings.HasPrefix(p, "clang ") || strings.HasPrefix(p, " F90 Flang ") {
		return 0, true
	}
	rest, ok := strings.CutPrefix(p, "GNU ")
	if !ok {
		return 0, false
	}
	if i := strings.IndexByte(rest, ' '); i >= 0 {
		rest = rest[i+1:]
	}
	num, _, ok := strings.Cut(rest, ".")
	if !ok {
		return 0, false
	}
	gcc, _ = strconv.Atoi(num)
	return gcc, false
}

// isC reports whether the unit is C: names have no scopes there.
func (r *unitRoot) isC() bool {
	switch r.head().lang {
	case langC89, langC, langC99, langC11, langC17, langC23, langAssembler:
		return true
	}
	return false
}

// isCxx: names are resolved by the rules of C++.
func (r *unitRoot) isCxx() bool {
	switch r.head().lang {
	case langCPlusPlus, langObjCxx, langCxx03, langCxx11, langCxx14, langCxx17, langCxx20, langCxx23:
		return true
	}
	return false
}

// whole is the unit to look for entries in: the split unit of a skeleton.
func (u *unit) whole() *unit {
	if h := u.head(); h.dwoName != "" && u.skel == nil {
		u.splitOnce.Do(func() { u.split = u.d.in.openSplit(u) })
		if u.split != nil {
			return u.split
		}
	}
	return u
}

// lineUnit is the unit whose DW_AT_stmt_list counts: split units use their skeleton's.
func (u *unit) lineUnit() *unit {
	if u.skel != nil {
		return u.skel
	}
	return u
}
