package amd64

import (
	"encoding/binary"
	"slices"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Template makes the code of a program for other sites: those with other values of Addr, ColdAddr, PC, and of SiteID and
// the addresses of counters in Layout. The code is, byte for byte, what Compile makes; where it would differ in more than
// the fields listed here, there is none.
type Template struct {
	program *ir.Program
	tune    tuning
	cfg     Config
	parts   [2][]byte // for Addr, for ColdAddr
	fields  []field
	faults  [2][]spotPair // Faults, Edges
	clocks  []spot
	stack   int
	guarded bool
	reached []reached
	based   []based
}

// siteOf is what of a site an address follows: it changes by as much from site to site.
type siteOf uint8

const (
	sameEverywhere siteOf = iota
	ofPC
	ofCounters
	ofLocked // LockedCounters
	ofSwitch
)

// of returns what addresses of a kind follow.
func (c *Config) of(of siteOf) uint64 {
	switch of {
	case ofPC:
		return c.PC
	case ofCounters:
		return c.Layout.Counters
	case ofLocked:
		return c.Layout.LockedCounters
	case ofSwitch:
		return c.Layout.Switch
	}
	return 0
}

// sitePC is a number that is computed from the address of the site.
type sitePC uint8

const (
	pcItself sitePC = iota
	pcBehind
	pcHome // of the stack that begins there
	pcWord
)

func (c *Config) fromPC(what sitePC) int64 {
	switch what {
	case pcBehind:
		return int64(c.PC + 1)
	case pcHome:
		return int64(ring.StackHome(0, c.PC))
	case pcWord:
		return int64(ring.StackWord(c.PC, true))
	}
	return int64(c.PC)
}

// reached is whether an address was near the code, based the constant from which an address of a site was computed.
type (
	reached struct {
		addr address
		near bool
	}
	based struct {
		addr address
		by   Constant
	}
)

type fieldKind uint8

const (
	fieldRip  fieldKind = iota // u32: distance to an address
	fieldDisp                  // u32: grows with what it follows
	fieldID                    // u32: the number of the site is in the low bits
	fieldPC32                  // u32: number from the address of the site
	fieldPC64                  // u64
	fieldFar                   // u32: distance to the other part
	fieldAddr                  // u64: address of a place in the code
	fieldData                  // u64: grows with what it follows
)

// siteField is a field as it is emitted.
type siteField struct {
	at   point
	kind fieldKind
	of   siteOf
	what sitePC
}

// spot is an offset in a part of the code.
type spot struct {
	part uint8
	off  int32
}

type spotPair struct{ pc, to spot }

// field is a part of the code that differs from site to site.
type field struct {
	at     spot
	kind   fieldKind
	of     siteOf
	what   sitePC
	tail   uint8  // fieldRip: bytes from the field to the end of the instruction, behind it
	target uint64 // fieldRip
	to     spot   // fieldAddr
}

// siteID records that the 4 bytes just emitted have the number of the site.
func (a *asm) siteID() {
	at := a.here()
	at.off -= 4
	a.sites = append(a.sites, siteField{at: at, kind: fieldID})
}

// sitePC loads a number that is computed from the address of the site.
func (em *emitter) sitePC(r Reg, what sitePC, cfg *Config) {
	v := cfg.fromPC(what)
	em.movImm(r, v)
	f := siteField{at: em.a.here(), kind: fieldPC32, what: what}
	switch {
	case v == int64(uint32(v)):
		f.at.off -= 4
	case v == int64(int32(v)):
		em.a.own = true
		return
	default:
		f.kind, f.at.off = fieldPC64, f.at.off-8
	}
	em.a.sites = append(em.a.sites, f)
}

// Template returns the template of code with a cold part; nil if other sites' code differs in other ways.
func (c *Code) Template() *Template {
	if c.Cold == nil || c.asm.own {
		return nil
	}
	t := &Template{
		program: c.program, tune: c.tune, cfg: c.cfg, parts: [2][]byte{slices.Clone(c.Bytes), slices.Clone(c.Cold)}, stack: c.Stack, guarded: c.guarded,
		reached: distinct(c.reached), based: distinct(c.based),
	}
	for i, list := range [2][]faultPoint{c.asm.faults, c.asm.edges} {
		for _, f := range list {
			t.faults[i] = append(t.faults[i], spotPair{c.spot(f.pc), c.spot(c.asm.labels[f.fix])})
		}
		slices.SortFunc(t.faults[i], func(a, b spotPair) int {
			if t.cfg.addr(a.pc) < t.cfg.addr(b.pc) {
				return -1
			}
			return 1
		})
	}
	for _, p := range c.asm.clocks {
		t.clocks = append(t.clocks, c.spot(p))
	}
	for _, f := range c.asm.sites {
		t.fields = append(t.fields, field{at: c.spot(f.at), kind: f.kind, of: f.of, what: f.what})
	}
	for _, f := range c.asm.rips {
		at := c.spot(f.at)
		switch {
		case f.lab == noLabel:
			t.fields = append(t.fields, field{at: at, kind: fieldRip, of: f.of, tail: uint8(f.tail), target: f.target})
		case c.spot(c.asm.labels[f.lab]).part != at.part:
			t.fields = append(t.fields, field{at: at, kind: fieldFar})
		}
	}
	for _, list := range c.asm.jumps {
		for _, j := range list {
			if c.asm.far(j) {
				at := c.spot(j.at)
				at.off += int32(j.size - 4)
				t.fields = append(t.fields, field{at: at, kind: fieldFar})
			}
		}
	}
	for _, s := range c.asm.seqs {
		d := c.spot(c.asm.labels[s.descriptor])
		for off, p := range map[int32]point{8: s.start, 24: c.asm.labels[s.abort]} {
			t.fields = append(t.fields, field{at: spot{d.part, d.off + off}, kind: fieldAddr, to: c.spot(p)})
		}
	}
	return t
}

// spot is where a point is in the parts.
func (c *Code) spot(p point) spot {
	off := c.linked.off(p)
	if p.sec == secCold || p.sec == secData {
		return spot{1, int32(off - c.linked.secStart[secCold])}
	}
	return spot{0, int32(off)}
}

func (c *Config) addr(s spot) uint64 {
	if s.part == 1 {
		return c.ColdAddr + uint64(s.off)
	}
	return c.Addr + uint64(s.off)
}

func distinct[T comparable](list []T) (out []T) {
	for _, x := range list {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

// At returns the code for another site, nil if the template does not fit it.
func (t *Template) At(cfg Config) *Code {
	if !t.fits(&cfg) {
		return nil
	}
	c := &Code{Bytes: slices.Clone(t.parts[0]), Cold: slices.Clone(t.parts[1]), Stack: t.stack, guarded: t.guarded, program: t.program, tune: t.tune, cfg: cfg}
	for i := range t.fields {
		f := &t.fields[i]
		part := c.Bytes
		if f.at.part == 1 {
			part = c.Cold
		}
		if !t.fill(f, part[f.at.off:], &cfg) {
			return nil
		}
	}
	c.Faults, c.Edges = t.pairs(t.faults[0], &cfg), t.pairs(t.faults[1], &cfg)
	for _, s := range t.clocks {
		c.Clocks = append(c.Clocks, cfg.addr(s))
	}
	return c
}

// fits reports whether Compile would make the same decisions.
func (t *Template) fits(cfg *Config) bool {
	same, l := t.cfg, cfg.Layout
	l.SiteID, l.Counters, l.LockedCounters, l.Switch = same.Layout.SiteID, same.Layout.Counters, same.Layout.LockedCounters, same.Layout.Switch
	if l != same.Layout || cfg.DeadGPR != same.DeadGPR || cfg.DeadFlags != same.DeadFlags || cfg.DeadXMM != same.DeadXMM ||
		cfg.Walk != same.Walk || cfg.NoTSC != same.NoTSC || cfg.Clock != same.Clock ||
		!slices.Equal(cfg.Constants, same.Constants) || !slices.Equal(cfg.Maps, same.Maps) {
		return false
	}
	if cfg.Layout.Switch == 0 != (same.Layout.Switch == 0) {
		return false
	}
	if cfg.ColdAddr == 0 || (cfg.ColdAddr-same.ColdAddr)%sequenceAlign != 0 || cfg.ColdAddr < cfg.Addr != (same.ColdAddr < same.Addr) {
		return false
	}
	if cfg.PC>>ring.StackPCBits != 0 {
		return false
	}
	for _, x := range t.reached {
		if cfg.near(t.moved(x.addr, cfg)) != x.near {
			return false
		}
	}
	for _, x := range t.based {
		if by, _, _ := cfg.constant(t.moved(x.addr, cfg)); by != x.by {
			return false
		}
	}
	return true
}

// moved is an address at another site.
func (t *Template) moved(a address, cfg *Config) uint64 {
	return a.n + cfg.of(a.of) - t.cfg.of(a.of)
}

// fill writes a field; false: it has no room for its value.
func (t *Template) fill(f *field, b []byte, cfg *Config) bool {
	le := binary.LittleEndian
	switch f.kind {
	case fieldRip:
		d := int64(t.moved(address{f.target, f.of}, cfg) - (cfg.addr(f.at) + 4 + uint64(f.tail)))
		le.PutUint32(b, uint32(d))
		return d == int64(int32(d))
	case fieldDisp:
		d := int64(int32(le.Uint32(b))) + int64(cfg.of(f.of)-t.cfg.of(f.of))
		le.PutUint32(b, uint32(d))
		return d == int64(int32(d))
	case fieldData:
		le.PutUint64(b, le.Uint64(b)+cfg.of(f.of)-t.cfg.of(f.of))
	case fieldID:
		le.PutUint32(b, le.Uint32(b)-t.cfg.Layout.SiteID+cfg.Layout.SiteID)
	case fieldPC32:
		v := cfg.fromPC(f.what)
		le.PutUint32(b, uint32(v))
		return v == int64(uint32(v))
	case fieldPC64:
		v := cfg.fromPC(f.what)
		le.PutUint64(b, uint64(v))
		return v != int64(uint32(v)) && v != int64(int32(v))
	case fieldFar:
		change := int64(cfg.ColdAddr-cfg.Addr) - int64(t.cfg.ColdAddr-t.cfg.Addr)
		if f.at.part == 1 {
			change = -change
		}
		d := int64(int32(le.Uint32(b))) + change
		le.PutUint32(b, uint32(d))
		return d == int64(int32(d))
	case fieldAddr:
		le.PutUint64(b, cfg.addr(f.to))
	}
	return true
}

func (t *Template) pairs(list []spotPair, cfg *Config) (out []Fault) {
	for _, p := range list {
		out = append(out, Fault{cfg.addr(p.pc), cfg.addr(p.to)})
	}
	return out
}
