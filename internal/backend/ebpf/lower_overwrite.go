package ebpf

import (
	"math/bits"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Rings whose oldest sub-buffers are overwritten: see overwrite.go of package ring, whose steps are named here.

func (an *analysis) overwrites() bool { return an.c.Layout.Overwrite }

// unit is what complete room is counted in.
const unit = 8

// The parts of areaDone: the address of the sub-buffer's entry, and the units that the event adds to it.
const (
	doneEntry = 0
	doneUnits = 8
)

// overTries is how often such a Reserve is tried, and how many sub-buffers it looks at in all. With eight the verifier follows four
// times as many instructions.
const overTries = 4

// entries is where the table of sub-buffers is, from the ring's data.
const entries = ring.SubTable - ring.RingData

// entry makes d point to the entry of the sub-buffer of a position, or of an offset in the data, in s. r4 = the ring's data.
func (g *gen) entry(r *reservation, d, s asm.Register) {
	g.mov(d, s)
	g.emit(asm.And.Imm(d, int32(g.c.Layout.RingSize-1)))
	g.emit(asm.RSh.Imm(d, int32(bits.TrailingZeros64(uint64(r.sub)))))
	g.emit(asm.Mul.Imm(d, ring.SubEntry))
	g.emit(asm.Add.Reg(d, asm.R4))
	g.emit(asm.Add.Imm(d, entries))
}

// present notes the entry of the sub-buffer that has room for the event, and goes to none if not all before the position in r1 is
// complete (2n). It keeps r1, r4 and r5.
func (g *gen) present(r *reservation, none label) {
	if !g.an.overwrites() {
		return
	}
	g.entry(r, asm.R2, asm.R1)
	g.emit(asm.StoreMem(asm.R10, g.area(areaDone)+doneEntry, asm.R2, asm.DWord))
	if !r.isNear() {
		return
	}
	g.emit(asm.LoadMem(asm.R0, asm.R2, 0, asm.DWord))
	g.mov(asm.R2, asm.R0)
	g.emit(asm.RSh.Imm(asm.R2, 32))
	g.emit(asm.Sub.Reg32(asm.R0, asm.R2))
	g.mov(asm.R2, asm.R1)
	g.emit(asm.And.Imm(asm.R2, int32(r.sub-1)))
	g.emit(asm.RSh.Imm(asm.R2, 3))
	g.jumpIf(asm.JNE, 8, asm.R0, asm.R2, none)
}

// claimSub is 1f and 2f, with the position in r1 and the start of the next sub-buffer in r2.
func (g *gen) claimSub(r *reservation, lost label) {
	next, pass := g.newLabel(), g.newLabel()
	g.emit(asm.StoreMem(asm.R10, r.at, asm.R1, asm.DWord))
	g.bind(next)
	g.entry(r, asm.R3, asm.R2)
	g.emit(asm.LoadMem(asm.R0, asm.R3, 0, asm.DWord))
	g.mov(asm.R5, asm.R0)
	g.emit(asm.RSh.Imm(asm.R5, 32))
	g.emit(asm.Mov.Reg32(asm.R1, asm.R0))
	g.emit(asm.Sub.Reg32(asm.R1, asm.R5))
	g.jumpIfImm(asm.JNE, 8, asm.R1, int32(r.sub/unit), pass)
	g.emit(asm.Mov.Reg32(asm.R5, asm.R0))
	g.mov(asm.R1, asm.R0)
	g.emit(asm.LSh.Imm(asm.R1, 32))
	g.emit(asm.Or.Reg(asm.R5, asm.R1))
	g.mov(asm.R1, asm.R0)
	g.emit(compareExchange(asm.R3, asm.R5, 0))
	g.jumpIf(asm.JNE, 8, asm.R0, asm.R1, r.retry)
	g.emit(asm.StoreMem(asm.R10, g.area(areaDone)+doneEntry, asm.R3, asm.DWord))
	g.emit(asm.LoadMem(asm.R0, asm.R4, ring.RingReserved-ring.RingData, asm.DWord))
	g.emit(asm.StoreMem(asm.R10, r.old, asm.R0, asm.DWord))
	g.position(asm.R1, asm.R0)
	g.jumpIf(asm.JGT, 8, asm.R1, asm.R2, r.undo)
	g.mov(asm.R1, asm.R2)
	g.emit(asm.Add.Imm(asm.R1, ring.PacketHead))
	g.movImm(asm.R5, 0)
	g.jump(r.claim)

	g.bind(pass)
	g.emit(asm.Add.Imm(asm.R2, int32(r.sub)))
	g.mov(asm.R1, asm.R2)
	g.emit(asm.LoadMem(asm.R3, asm.R10, r.at, asm.DWord))
	g.emit(asm.Sub.Reg(asm.R1, asm.R3))
	g.jumpIfImm(asm.JGT, 8, asm.R1, int32(g.c.Layout.RingSize/2), lost)
	g.emit(asm.LoadMem(asm.R5, asm.R10, r.turn, asm.DWord))
	g.emit(asm.Add.Imm(asm.R5, 1))
	g.jumpIfImm(asm.JGT, 8, asm.R5, overTries, lost)
	g.emit(asm.StoreMem(asm.R10, r.turn, asm.R5, asm.DWord))
	g.jump(next)

	g.bind(r.undoIfBegun) // r5 = where the context would be, r1 = what was reserved before
	g.position(asm.R1, asm.R1)
	g.jumpIf(asm.JEq, 8, asm.R1, asm.R5, r.retry)
	g.bind(r.undo)
	g.emit(asm.LoadMem(asm.R3, asm.R10, g.area(areaDone)+doneEntry, asm.DWord))
	g.movImm(asm.R0, -r.sub/unit)
	g.emit(fetchAdd(asm.R3, asm.R0, ring.SubBase))
	g.jump(r.retry)
}

// fill adds a filler to what is complete of old's sub-buffer (4f). r1 = its offset in the data, r2 = its word, r4 = the ring's data.
func (g *gen) fill(r *reservation) {
	if !g.an.overwrites() {
		return
	}
	g.entry(r, asm.R5, asm.R1)
	g.emit(asm.RSh.Imm(asm.R2, 35))
	g.emit(fetchAdd(asm.R5, asm.R2, ring.SubDone))
}

// owes notes how much the event adds to what is complete.
func (g *gen) owes(bytes int64) {
	if g.an.overwrites() {
		g.storeImm(asm.R10, g.area(areaDone)+doneUnits, 8, bytes/unit)
	}
}

// completed counts an event that is complete: 6f, and ring.CounterRecorded.
func (g *gen) completed() {
	if !g.an.overwrites() {
		return
	}
	g.emit(asm.LoadMem(asm.R1, asm.R10, g.area(areaDone)+doneEntry, asm.DWord))
	g.emit(asm.LoadMem(asm.R0, asm.R10, g.area(areaDone)+doneUnits, asm.DWord))
	g.emit(fetchAdd(asm.R1, asm.R0, ring.SubDone))
	g.siteWord(g.c.Layout.Recorded, 8*ring.CountersPerSite)
	g.increment(0)
}

// fetchAdd adds the lower half of src to 32 bits, and is a barrier.
func fetchAdd(base, src asm.Register, off int16) asm.Instruction {
	i := asm.FetchAdd.Mem(base, src, asm.Word, off)
	i.Constant = int64(asm.FetchAdd >> 8) // as in compareExchange
	return i
}

// mostZeroed is how many words are zeroed by the program itself.
const mostZeroed = 24

// zeroFields zeroes the words of the record that the program will not store in any case: the room has older contents. It may use
// r0 to r5.
func (g *gen) zeroFields(in *ir.Instr) {
	if !g.an.overwrites() {
		return
	}
	words := g.uncovered(in)
	if len(words) == 0 {
		return
	}
	if len(words) > mostZeroed {
		// The helper zeroes what it cannot read, which is known of such an address at once.
		first, end := words[0], words[len(words)-1]+8
		g.target(first)
		g.movImm(asm.R2, end-first)
		g.movImm(asm.R3, -pageSize)
		g.call(asm.FnProbeReadUser)
		return
	}
	for _, off := range words {
		base, at := g.recordAt(off, scratch)
		g.storeImm(base, at, 8, 0)
	}
}

// uncovered are the offsets of the record's words, but for the head's, that the operations behind a Reserve do not store before
// anything can lead elsewhere.
func (g *gen) uncovered(in *ir.Instr) (words []int64) {
	stored := make([]bool, in.Imm)
	for _, x := range g.behind(in) {
		n := int64(0)
		switch x.Op {
		case ir.Put:
			n = int64(x.W)
		case ir.Copy:
			n = x.Aux
		case ir.CopyComm:
			n = ir.CommSize
		}
		for i := int64(0); i < n && x.Imm+i < in.Imm; i++ {
			stored[x.Imm+i] = true
		}
		if _, ok := g.an.faults(&x); ok {
			break
		}
	}
	for off := int64(ring.RecHeader); off < in.Imm; off += 8 {
		for _, ok := range stored[off:min(off+8, in.Imm)] {
			if !ok {
				words = append(words, off)
				break
			}
		}
	}
	return words
}

// behind are the operations behind in in its block.
func (g *gen) behind(in *ir.Instr) []ir.Instr {
	list := g.p.Blocks[g.id].Instrs
	for k := range list {
		if &list[k] == in {
			return list[k+1:]
		}
	}
	return nil
}

// ordered: stores and loads of another CPU are seen in order, so that what a program on another CPU has counted as complete can be
// read.
func (c *Config) ordered() bool { return c.processor().Name == "amd64" }
