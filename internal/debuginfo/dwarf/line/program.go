package line

import "github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"

// row is the state of the line number machine (DWARF 5 section 6.2.2).
type row struct {
	addr          uint64
	opIndex       uint64
	file          uint64
	line          int64
	stmt          bool
	prologueEnd   bool
	discriminator uint64
	end           bool
}

// sink takes what the machine emits, in order.
type sink interface {
	start(file uint64) // a sequence starts
	setFile(file uint64, discriminator uint64)
	discriminator(d uint64)
	lineAdvanced(delta int64, discriminator uint64)
	setAddress(addr uint64)
	row(r *row)
}

// Standard opcodes.
const (
	lnsExtended = iota
	lnsCopy
	lnsAdvancePC
	lnsAdvanceLine
	lnsSetFile
	lnsSetColumn
	lnsNegateStmt
	lnsBasicBlock
	lnsConstAddPC
	lnsFixedAdvancePC
	lnsPrologueEnd
	lnsEpilogueBegin
	lnsSetISA
)

// Extended opcodes.
const (
	lneEndSequence = 1
	lneSetAddress  = 2
	lneDefineFile  = 3
	lneDiscrim     = 4
)

// machine runs one line number program.
type machine struct {
	h   *Header
	dir string // the compilation directory
	c   raw.Cursor
	r   row
	out sink
}

func (h *Header) run(compDir string, sink sink) {
	m := machine{h: h, dir: compDir, c: raw.Cursor{B: h.Program}, out: sink}
	for !m.c.Done() {
		m.reset()
		for !m.c.Done() && !m.r.end {
			m.step()
		}
		if !m.r.end { // ran off the table: close the sequence
			m.r.end = true
			sink.row(&m.r)
		}
	}
}

func (m *machine) reset() {
	m.r = row{file: 1, line: 1, stmt: m.h.defaultStmt}
	m.out.start(1)
}

func (m *machine) advance(n uint64) {
	n += m.r.opIndex
	m.r.addr += n / m.h.maxOps * m.h.minInst
	m.r.opIndex = n % m.h.maxOps
}

func (m *machine) advanceLine(delta int64) {
	m.r.line += delta
	m.out.lineAdvanced(delta, m.r.discriminator)
}

func (m *machine) emit() {
	m.out.row(&m.r)
	m.r.discriminator, m.r.prologueEnd = 0, false
}

func (m *machine) step() {
	op := m.c.U8()
	if op >= m.h.opcodeBase {
		adj := uint64(op - m.h.opcodeBase)
		m.advance(adj / m.h.lineRange)
		m.advanceLine(m.h.lineBase + int64(adj%m.h.lineRange))
		m.emit()
		return
	}
	switch op {
	case lnsExtended:
		m.extended()
	case lnsCopy:
		m.emit()
	case lnsAdvancePC:
		m.advance(m.c.ULEB())
	case lnsAdvanceLine:
		m.advanceLine(m.c.SLEB())
	case lnsSetFile:
		m.r.file = m.c.ULEB()
		m.out.setFile(m.r.file, m.r.discriminator)
	case lnsNegateStmt:
		m.r.stmt = !m.r.stmt
	case lnsConstAddPC:
		m.advance(uint64(255-m.h.opcodeBase) / m.h.lineRange)
	case lnsFixedAdvancePC:
		m.r.addr += uint64(m.c.U16())
		m.r.opIndex = 0
	case lnsPrologueEnd:
		m.r.prologueEnd = true
	case lnsBasicBlock, lnsEpilogueBegin:
	case lnsSetColumn, lnsSetISA:
		m.c.ULEB()
	default: // unknown: the header says how many operands
		if int(op)-1 < len(m.h.opLens) {
			for range m.h.opLens[op-1] {
				m.c.ULEB()
			}
		}
	}
}

func (m *machine) extended() {
	n := m.c.ULEB()
	x := raw.Cursor{B: m.c.Block(n)}
	if m.c.Bad || n == 0 {
		m.c.Fail()
		return
	}
	switch x.U8() {
	case lneEndSequence:
		m.r.end = true
		m.out.row(&m.r)
	case lneSetAddress:
		m.r.addr = x.Uint(x.Left())
		m.r.opIndex = 0
		m.out.setAddress(m.r.addr)
	case lneDefineFile:
		name := string(x.CString())
		m.h.addFile(m.dir, name, x.ULEB())
	case lneDiscrim:
		m.r.discriminator = x.ULEB()
		m.out.discriminator(m.r.discriminator)
	}
}
