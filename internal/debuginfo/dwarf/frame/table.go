package frame

import (
	"sort"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
)

// RuleKind is the way to recover a register of the caller.
type RuleKind uint8

// The kinds of rule (DWARF 5 section 6.4.1).
const (
	Undefined  RuleKind = iota // it cannot be recovered
	SameValue                  // it still has its value
	AtCFA                      // saved at CFA+Offset
	IsCFA                      // its value is CFA+Offset
	InOther                    // it is in register Reg
	AtExpr                     // saved at the address that Expr computes
	IsExpr                     // its value is what Expr computes
	NoLocation                 // the rule is there but cannot be expressed; Why says it
)

// RegRule is the rule of one register.
type RegRule struct {
	Kind   RuleKind
	Offset int64
	Reg    int
	Expr   []debuginfo.Op
	Why    string
}

// Rule describes how to unwind one frame at one pc. Expressions use the registers of the frame being
// unwound.
type Rule struct {
	Lo, Hi uint64         // the rule holds for these vaddrs
	CFA    []debuginfo.Op // the canonical frame address; nil when it cannot be expressed
	// Regs holds the rules by DWARF register number. Registers that are absent
	// keep their value when the ABI preserves them (rbx, rbp, r12-r15).
	Regs   map[int]RegRule
	RA     int  // the column of the return address, 16 on x86-64
	Signal bool // a signal frame: the caller's pc is exact, not after a call
}

// cie is a common information entry.
type cie struct {
	codeAlign uint64
	dataAlign int64
	ra        int
	aug       bool // has augmentation data ('z')
	ptrEnc    byte
	lsdaEnc   byte
	signal    bool
	addrSize  int
	init      []byte
}

// Entry is a frame description entry.
type Entry struct {
	Lo, Hi  uint64
	c       *cie
	insts   []byte
	lsda    uint64
	HasLSDA bool
}

// Signal reports whether the code is what signal handlers return to: its entry begins
// a byte before it.
func (f *Entry) Signal() bool { return f.c.signal }

// section is .eh_frame or .debug_frame.
type section struct {
	b     []byte
	vaddr uint64 // where b is, for pc-relative pointers
	eh    bool
	cies  map[uint64]*cie
	fdes  []*Entry // sorted by lo; nil until scanned
	done  bool
	hdr   *ehTable
	read  func(vaddr uint64, n int) []byte
}

// Table is the call frame information of a module.
type Table struct{ secs []*section }

// Sources are the parts of a file that call frame information is in; those that are
// absent are empty.
type Sources struct {
	EHFrame      []byte // .eh_frame
	EHFrameVaddr uint64
	Header       []byte // .eh_frame_hdr
	HeaderVaddr  uint64
	DebugFrame   []byte // .debug_frame
	// Read reads the module's memory as the file has it.
	Read func(vaddr uint64, n int) []byte
}

// New makes the call frame information of a module. Entries are read on first use.
func New(s Sources) *Table {
	c := &Table{}
	if len(s.EHFrame) > 0 {
		c.secs = append(c.secs, &section{b: s.EHFrame, vaddr: s.EHFrameVaddr, eh: true, read: s.Read})
	}
	if len(s.Header) > 0 {
		c.addHdr(s.HeaderVaddr, s.Header, s.Read)
	}
	if len(s.DebugFrame) > 0 {
		c.secs = append(c.secs, &section{b: s.DebugFrame, read: s.Read})
	}
	return c
}

// addHdr attaches the search table, and .eh_frame itself where section headers
// are stripped.
func (c *Table) addHdr(vaddr uint64, b []byte, read func(uint64, int) []byte) {
	t, frame := parseEhTable(vaddr, b)
	if t == nil {
		return
	}
	if len(c.secs) == 0 {
		data := read(frame, 1<<30)
		if len(data) == 0 {
			return
		}
		c.secs = append(c.secs, &section{b: data, vaddr: frame, eh: true, read: read})
	}
	c.secs[0].hdr = t
}

// Find returns the entry that covers pc, or nil.
func (c *Table) Find(pc uint64) *Entry {
	for _, s := range c.secs {
		if f := s.find(pc); f != nil {
			return f
		}
	}
	return nil
}

func (s *section) find(pc uint64) *Entry {
	if s.hdr != nil {
		if at, ok := s.hdr.search(pc); ok && at >= s.vaddr {
			if f := s.parse(at - s.vaddr); f != nil && pc >= f.Lo && pc < f.Hi {
				return f
			}
		}
	}
	s.scan()
	i := sort.Search(len(s.fdes), func(i int) bool { return s.fdes[i].Lo > pc })
	for n := 0; i > 0 && n < 4; n++ {
		i--
		if pc < s.fdes[i].Hi {
			return s.fdes[i]
		}
	}
	return nil
}

// Gap gives the end of the last entry before pc and the start of the next. No entry
// covers pc.
func (c *Table) Gap(pc uint64) (lo, hi uint64) {
	hi = ^uint64(0)
	for _, s := range c.secs {
		if s.hdr != nil {
			if at, ok := s.hdr.search(pc); ok && at >= s.vaddr {
				if f := s.parse(at - s.vaddr); f != nil && f.Hi <= pc {
					lo = max(lo, f.Hi)
				}
			}
			if i := sort.Search(s.hdr.n, func(i int) bool { return s.hdr.pair(i, 0) > pc }); i < s.hdr.n {
				hi = min(hi, s.hdr.pair(i, 0))
			}
			continue
		}
		i := sort.Search(len(s.fdes), func(i int) bool { return s.fdes[i].Lo > pc })
		if i < len(s.fdes) {
			hi = min(hi, s.fdes[i].Lo)
		}
		if i > 0 && s.fdes[i-1].Hi <= pc {
			lo = max(lo, s.fdes[i-1].Hi)
		}
	}
	return lo, hi
}

// All visits all entries, those of .eh_frame first.
func (c *Table) All(visit func(*Entry)) {
	for _, s := range c.secs {
		s.scan()
		for _, e := range s.fdes {
			visit(e)
		}
	}
}

// scan reads all entries once.
func (s *section) scan() {
	if s.done {
		return
	}
	s.done = true
	for off := uint64(0); off < uint64(len(s.b)); {
		c := raw.At(s.b, off)
		n, _ := c.InitialLength()
		if c.Bad || n == 0 && s.eh { // a zero length ends .eh_frame
			break
		}
		if f := s.parse(off); f != nil {
			s.fdes = append(s.fdes, f)
		}
		if n > uint64(c.Left()) {
			break
		}
		off = uint64(c.Off) + n
	}
	sort.SliceStable(s.fdes, func(i, j int) bool { return s.fdes[i].Lo < s.fdes[j].Lo })
}

// parse reads the entry at off; nil when it is not a valid FDE.
func (s *section) parse(off uint64) *Entry {
	c := raw.At(s.b, off)
	n, is64 := c.InitialLength()
	if c.Bad || n == 0 || n > uint64(c.Left()) {
		return nil
	}
	c.B = c.B[:c.Off+int(n)]
	at := uint64(c.Off)
	id := c.Offset(is64 && !s.eh)
	if s.eh && is64 {
		id = uint64(uint32(id))
	}
	var cieOff uint64
	if s.eh {
		if id == 0 || id > at {
			return nil
		}
		cieOff = at - id
	} else {
		if id == 0xffffffff || id == ^uint64(0) {
			return nil
		}
		cieOff = id
	}
	ci := s.cieAt(cieOff)
	if ci == nil {
		return nil
	}
	f := &Entry{c: ci}
	var ok bool
	if f.Lo, ok = s.pointer(&c, ci.ptrEnc, ci.addrSize); !ok {
		return nil
	}
	size, ok := s.pointer(&c, ci.ptrEnc&0x0f, ci.addrSize)
	if !ok || size == 0 || f.Lo+size < f.Lo {
		return nil
	}
	f.Hi = f.Lo + size
	if ci.aug {
		n := c.ULEB()
		data := c
		c.Skip(n)
		if ci.lsdaEnc != 0xff && n > 0 {
			f.lsda, f.HasLSDA = s.pointer(&data, ci.lsdaEnc, ci.addrSize)
			f.HasLSDA = f.HasLSDA && f.lsda != 0
		}
	}
	if c.Bad {
		return nil
	}
	f.insts = c.B[c.Off:]
	return f
}

func (s *section) cieAt(off uint64) *cie {
	if ci, ok := s.cies[off]; ok {
		return ci
	}
	if s.cies == nil {
		s.cies = map[uint64]*cie{}
	}
	ci := s.parseCIE(off)
	s.cies[off] = ci
	return ci
}

func (s *section) parseCIE(off uint64) *cie {
	c := raw.At(s.b, off)
	n, is64 := c.InitialLength()
	if c.Bad || n > uint64(c.Left()) {
		return nil
	}
	c.B = c.B[:c.Off+int(n)]
	id := c.Offset(is64 && !s.eh)
	if s.eh && id != 0 || !s.eh && id != 0xffffffff && id != ^uint64(0) {
		return nil
	}
	version := c.U8()
	if version != 1 && version != 3 && version != 4 {
		return nil
	}
	aug := string(c.CString())
	ci := &cie{addrSize: 8, lsdaEnc: 0xff}
	if version == 4 {
		ci.addrSize = int(c.U8())
		c.U8()
	}
	ci.codeAlign, ci.dataAlign = c.ULEB(), c.SLEB()
	if version == 1 {
		ci.ra = int(c.U8())
	} else {
		ci.ra = int(min(c.ULEB(), 1<<10))
	}
	if !s.augment(ci, aug, &c) || c.Bad || ci.addrSize != 8 && ci.addrSize != 4 {
		return nil
	}
	ci.init = c.B[c.Off:]
	return ci
}

// augment reads the augmentation data. Letters: z length, P personality, L
// language specific data, R pointer encoding, S signal frame.
func (s *section) augment(ci *cie, aug string, c *raw.Cursor) bool {
	if aug == "" || aug[0] != 'z' {
		return aug == ""
	}
	ci.aug = true
	n := c.ULEB()
	data := *c
	c.Skip(n)
	for _, l := range aug[1:] {
		switch l {
		case 'P':
			enc := data.U8()
			if _, ok := s.pointer(&data, enc, ci.addrSize); !ok {
				return false
			}
		case 'L':
			ci.lsdaEnc = data.U8()
		case 'R':
			ci.ptrEnc = data.U8()
		case 'S':
			ci.signal = true
		case 'B', 'G': // other architectures
		default:
			return true // unknown: the length lets us go on
		}
	}
	return !data.Bad
}
