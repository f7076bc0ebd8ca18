package amd64

import "encoding/binary"

// label is a place in the code, bound once.
type label int32

const noLabel label = -1

// mem is a memory operand: seg:[base + index*scale + disp], or rip-relative to
// target or to label lab.
type mem struct {
	base, index Reg
	scale       uint8
	disp        int32
	rip         bool
	target      uint64
	lab         label
	seg         byte   // 0x64 fs, 0x65 gs
	of          siteOf // what target, or disp, follows
}

func at(base Reg, disp int32) mem {
	return mem{base: base, index: NoReg, scale: 1, disp: disp, lab: noLabel}
}

func atIdx(base, index Reg, scale uint8, disp int32) mem {
	return mem{base: base, index: index, scale: scale, disp: disp, lab: noLabel}
}

func ripTo(target address) mem {
	return mem{base: NoReg, index: NoReg, rip: true, target: target.n, lab: noLabel, of: target.of}
}

// follow is m with a displacement that differs from site to site.
func (m mem) follow(of siteOf) mem {
	m.of = of
	return m
}

func ripLabel(l label) mem {
	return mem{base: NoReg, index: NoReg, rip: true, lab: l}
}

func (m mem) plus(d int32) mem {
	if m.rip {
		m.target += uint64(int64(d))
	}
	m.disp += d
	return m
}

func (m mem) uses(r Reg) bool { return !m.rip && (m.base == r || m.index == r) }

// section is where instructions go: the hot path, what is rarely run, the descriptors of
// restartable sequences, and the tail, which falls through to the end of the code. They are laid out in this order.
type section uint8

const (
	secHot section = iota
	secCold
	secData
	secTail
	numSections
)

// point is a place before the sizes of jumps are known: an offset in a section
// and the number of jumps placed before it there.
type point struct {
	sec   section
	off   int
	jumps int
}

type jump struct {
	at   point // jumps counts those before this one
	to   label
	cc   cc
	size int // chosen by link: 0 (elided), 2, 5, 6
}

type ripFix struct {
	at     point // of the disp32
	tail   int   // bytes between the disp32 and the end of the instruction
	target uint64
	lab    label
	disp   int32
	of     siteOf
}

// insn is one instruction as emitted, kept for the listing.
type insn struct {
	at    point
	op    insnOp
	kind  insnKind
	w     uint8
	reg   Reg
	rm    rmOp
	imm   int64
	cc    cc
	lab   label
	note  string // a comment line before the instruction
	bytes []byte
}

type insnKind uint8

const (
	kRM insnKind = iota
	kMR
	kMI
	kM
	kPlain
	kRMI
	kVEX
	kRegImm
	kJump
	kNote
	kData
)

// rmOp is what the rm field names: a register or memory.
type rmOp struct {
	isMem bool
	r     Reg
	m     mem
}

func rmReg(r Reg) rmOp { return rmOp{r: r} }
func rmMem(m mem) rmOp { return rmOp{isMem: true, m: m} }

type faultPoint struct {
	pc  point
	fix label
}

// asm collects instructions in sections; link lays them out.
type asm struct {
	base   uint64
	cold   uint64 // where the cold section lies; 0: between the others
	buf    [numSections][]byte
	jumps  [numSections][]*jump
	labels []point // sec == numSections: not bound
	rips   []ripFix
	faults []faultPoint
	edges  []faultPoint // see stackedge.go
	clocks []point      // of rdtsc
	seqs   []*sequence
	sites  []siteField
	own    bool // the code differs in other ways too at other sites: see Template
	insns  [numSections][]insn
	sec    section
	keep   bool // keep insns for a listing
}

func (a *asm) here() point {
	return point{a.sec, len(a.buf[a.sec]), len(a.jumps[a.sec])}
}

func (a *asm) newLabel() label {
	a.labels = append(a.labels, point{sec: numSections})
	return label(len(a.labels) - 1)
}

func (a *asm) bind(l label) {
	if a.labels[l].sec != numSections {
		panic("BUG: amd64: label bound twice")
	}
	a.labels[l] = a.here()
}

func (a *asm) byte(b ...byte) { a.buf[a.sec] = append(a.buf[a.sec], b...) }

func (a *asm) imm(v int64, size int) {
	var t [8]byte
	binary.LittleEndian.PutUint64(t[:], uint64(v))
	a.byte(t[:size]...)
}

func (a *asm) note(i insn) {
	if a.keep {
		a.insns[a.sec] = append(a.insns[a.sec], i)
	}
}

// comment puts a line of text before the next instruction of the listing.
func (a *asm) comment(s string) { a.note(insn{at: a.here(), kind: kNote, note: s}) }
