package ebpf

import (
	"math"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// tries is how often a Reserve that others interrupt is tried again. The others
// run on the same CPU, in interrupts, or are threads that moved to another in between.
const tries = 8

// eventHead is the size of the head of all events of the program.
func (an *analysis) eventHead() int64 {
	head := int64(ring.EventHead)
	for size := range an.sizes {
		head = max(head, int64(ring.HeadOf(uint64(size))))
	}
	return head
}

// reserve takes room in the CPU's ring (see package ring for the protocol). The pointer to the record is first the
// address of the ring's data; at is the position of the context, or of the event if it needs none:
//
//	again:  old = reserved; at = its position; if context and event have no room in its sub-buffer: begin
//	        epoch = that of the newest context if it is this thread's, or 0
//	claim:  time, between the load of reserved and the exchange
//	        unless epoch is the time's: own
//	        cmpxchg reserved: old -> behind the event; if it was another: again
//	        head
//	own:    cmpxchg reserved: old -> behind context and event; if it was another: again
//	        if at is not old's position: packet
//	heads:  store the context; at += its size
//	head:   record += at & mask; store the event's head
//	begin:  start = the next sub-buffer; if start + its size - consumed > ring: full
//	        at = start + packet head; epoch = 0; claim
//	packet: store packet head and filler; heads
//	full:   if reserved is not old any more: again; else lost
//
// Where rings are overwritten, begin claims a sub-buffer instead (claimSub), and the claim is undone before again.
func (g *gen) reserve(in *ir.Instr) {
	const reserved = ring.RingReserved - ring.RingData
	l := &g.c.Layout
	r := &reservation{
		need: ring.ContextSize + in.Imm - ring.RecHeader + g.an.eventHead(), sub: int64(ring.SubSize(l.RingSize)),
		turn: g.area(areaTurn), old: g.area(areaTurn) + 8, at: g.area(areaTurn) + 16, epoch: g.area(areaTurn) + 24,
		claim: g.newLabel(), begin: g.newLabel(), own: g.newLabel(), packet: g.newLabel(), heads: g.newLabel(), head: g.newLabel(), retry: g.newLabel(),
		undo: g.newLabel(), undoIfBegun: g.newLabel(),
	}
	r.near = near(r.need-ring.ContextSize) != 0 && r.packets() == r.sub && (!l.Overwrite || g.c.ordered())
	if _, ok := g.an.pidTgid[in]; !ok {
		g.pidTgid()
		g.emit(asm.StoreMem(asm.R10, g.area(areaTurn)+turnThread, asm.R0, asm.DWord))
	}
	if g.cpuOffset(l.CPUMask, l.RingStride) {
		g.mapPointer(asm.R4, l.Rings+ring.RingData)
		g.emit(asm.Add.Reg(asm.R4, asm.R0))
	} else {
		g.mapPointer(asm.R4, l.Rings+ring.RingData)
	}
	g.store(g.an.record(), asm.R4)
	g.movImm(asm.R5, 1)
	r.again = g.here()
	g.emit(asm.StoreMem(asm.R10, r.turn, asm.R5, asm.DWord))
	g.emit(asm.LoadMem(asm.R1, asm.R4, reserved, asm.DWord))
	g.emit(asm.StoreMem(asm.R10, r.old, asm.R1, asm.DWord))
	g.mov(asm.R5, asm.R1)
	g.position(asm.R1, asm.R1)
	if r.packets() == r.sub {
		g.mov(asm.R2, asm.R1)
		g.emit(asm.Sub.Imm(asm.R2, 1))
		g.emit(asm.And.Imm(asm.R2, int32(r.sub-1)))
		g.jumpIfImm(asm.JGT, 8, asm.R2, int32(r.sub-1-r.need), r.begin)
	} else {
		g.jump(r.begin)
	}
	g.newest(in, r)
	g.bind(r.claim)
	g.emit(asm.StoreMem(asm.R10, r.at, asm.R1, asm.DWord))
	g.emit(asm.StoreMem(asm.R10, r.epoch, asm.R5, asm.DWord))
	g.call(asm.FnKtimeGetNs)
	g.mov(asm.R3, asm.R0)
	g.load(asm.R4, g.an.record())
	g.emit(asm.LoadMem(asm.R5, asm.R10, r.at, asm.DWord))
	g.reserveNear(r)
	g.bind(r.own)
	g.movImm(asm.R2, r.need|near(r.need)<<ring.NearShift)
	g.emit(asm.Add.Reg(asm.R2, asm.R5))
	if l.Overwrite {
		g.exchange(r, r.undoIfBegun)
	} else {
		g.exchange(r, r.retry)
	}
	g.owes(r.need)
	g.position(asm.R1, asm.R1)
	g.jumpIf(asm.JNE, 8, asm.R5, asm.R1, r.packet)
	g.bind(r.heads)
	g.storeContext(in, r)
	g.bind(r.head)
	g.storeHead(in, r)
	g.rare(func() { g.reserveRare(r) })
	g.zeroFields(in)
	g.header(in)
}

// turnThread is where the thread is in areaTurn if no value has it.
const turnThread = 32

// near is a size in the units of the distance of a context, or 0 if it has no room for it.
func near(size int64) int64 {
	if n := size / ring.NearUnit; n <= ring.MaxNear {
		return n
	}
	return 0
}

// position leaves the position in what was reserved in d.
func (g *gen) position(d, s asm.Register) {
	g.mov(d, s)
	g.emit(asm.LSh.Imm(d, 64-ring.NearShift))
	g.emit(asm.RSh.Imm(d, 64-ring.NearShift))
}

// exchange stores r2 to reserved if that is still old, which it leaves in r1, and goes to retry otherwise.
func (g *gen) exchange(r *reservation, retry label) {
	g.emit(asm.LoadMem(asm.R0, asm.R10, r.old, asm.DWord))
	g.mov(asm.R1, asm.R0)
	g.emit(compareExchange(asm.R4, asm.R2, ring.RingReserved-ring.RingData))
	g.jumpIf(asm.JNE, 8, asm.R0, asm.R1, retry)
}

// newest leaves the epoch of the newest context in r5 if it is this thread's and the event can do with it, and 0 otherwise.
// r5 = old, r1 = its position.
func (g *gen) newest(in *ir.Instr, r *reservation) {
	none, event := g.newLabel(), r.need-ring.ContextSize
	g.present(r, none)
	if r.isNear() {
		g.emit(asm.RSh.Imm(asm.R5, ring.NearShift))
		g.mov(asm.R2, asm.R5)
		g.emit(asm.Sub.Imm(asm.R2, 1)) // 0: none
		g.jumpIfImm(asm.JGE, 8, asm.R2, int32(ring.MaxNear-near(event)), none)
		g.emit(asm.LSh.Imm(asm.R5, 3))
		g.mov(asm.R2, asm.R1)
		g.emit(asm.Sub.Reg(asm.R2, asm.R5))
		g.emit(asm.And.Imm(asm.R2, int32(g.c.Layout.RingSize-1)))
		g.emit(asm.Add.Reg(asm.R2, asm.R4))
		g.emit(asm.LoadMem(asm.R5, asm.R2, ring.ContextTime, asm.DWord))
		g.emit(asm.LoadMem(asm.R3, asm.R2, ring.ContextThread, asm.DWord))
		g.emit(asm.RSh.Imm(asm.R5, ring.WordKind))
		g.jumpIf(asm.JEq, 8, asm.R3, g.thread(in, asm.R0), r.claim)
		g.bind(none)
	}
	g.movImm(asm.R5, 0)
}

// isNear: the event can do without a context.
func (r *reservation) isNear() bool { return r.near }

// reserveNear is the way of an event without context: with r3 = time, r5 = at.
func (g *gen) reserveNear(r *reservation) {
	if !r.isNear() {
		return
	}
	event := r.need - ring.ContextSize
	g.mov(asm.R1, asm.R3)
	g.emit(asm.RSh.Imm(asm.R1, ring.WordKind))
	g.emit(asm.LoadMem(asm.R2, asm.R10, r.epoch, asm.DWord))
	g.jumpIf(asm.JNE, 8, asm.R1, asm.R2, r.own)
	g.emit(asm.LoadMem(asm.R2, asm.R10, r.old, asm.DWord))
	g.movImm(asm.R1, event|near(event)<<ring.NearShift)
	g.emit(asm.Add.Reg(asm.R2, asm.R1))
	g.exchange(r, r.retry)
	g.owes(event)
	g.jump(r.head)
}

// thread is a register with the thread's number: tmp, or that of a value.
func (g *gen) thread(in *ir.Instr, tmp asm.Register) asm.Register {
	if v, ok := g.an.pidTgid[in]; ok {
		return g.reg(v, tmp)
	}
	g.emit(asm.LoadMem(tmp, asm.R10, g.area(areaTurn)+turnThread, asm.DWord))
	return tmp
}

// reservation is what the parts of reserve share.
type reservation struct {
	need, sub                                            int64 // context and event; sub-buffers
	turn, old, at, epoch                                 int16 // on the stack
	again, claim, begin, own, packet, heads, head, retry label
	undo, undoIfBegun                                    label
	near                                                 bool // the event can do without a context
}

// packets is the size of the sub-buffer that begins with this event.
func (r *reservation) packets() int64 { return (ring.PacketHead + r.need + r.sub - 1) &^ (r.sub - 1) }

// reserveRare is out of line: the start of a sub-buffer, and reservations that do not succeed at once.
func (g *gen) reserveRare(r *reservation) {
	const reserved, dropped = ring.RingReserved - ring.RingData, ring.RingDropped - ring.RingData
	lost, full, whole := g.newLabel(), g.newLabel(), g.newLabel()
	mask := int32(g.c.Layout.RingSize - 1)
	g.bind(r.begin)
	g.mov(asm.R2, asm.R1)
	g.emit(asm.Add.Imm(asm.R2, int32(r.sub-1)))
	g.emit(asm.And.Imm(asm.R2, int32(-r.sub)))
	if g.an.overwrites() {
		g.claimSub(r, lost)
	} else {
		g.nextFree(r, full)
	}

	g.bind(r.packet)
	g.owes(ring.PacketHead + r.need)
	g.mov(asm.R2, asm.R5)
	g.emit(asm.Sub.Imm(asm.R2, ring.PacketHead))
	g.mov(asm.R5, asm.R2)
	g.emit(asm.And.Imm(asm.R5, mask))
	g.mov(asm.R0, asm.R4)
	g.emit(asm.Add.Reg(asm.R0, asm.R5))
	g.emit(asm.StoreMem(asm.R0, ring.PacketPosition, asm.R2, asm.DWord))
	g.emit(asm.StoreMem(asm.R0, ring.PacketBefore, asm.R1, asm.DWord))
	g.emit(asm.StoreMem(asm.R0, ring.PacketBegin, asm.R3, asm.DWord))
	g.emit(asm.LoadMem(asm.R5, asm.R4, dropped, asm.DWord))
	g.emit(asm.StoreMem(asm.R0, ring.PacketLost, asm.R5, asm.DWord))
	if g.an.overwrites() { // it may have passed over sub-buffers
		g.mov(asm.R2, asm.R1)
		g.emit(asm.Neg.Imm(asm.R2, 0))
		g.emit(asm.And.Imm(asm.R2, int32(r.sub-1)))
	} else {
		g.emit(asm.Sub.Reg(asm.R2, asm.R1))
	}
	g.jumpIfImm(asm.JEq, 8, asm.R2, 0, whole)
	g.emit(asm.And.Imm(asm.R1, mask))
	g.mov(asm.R5, asm.R4)
	g.emit(asm.Add.Reg(asm.R5, asm.R1))
	g.emit(asm.LSh.Imm(asm.R2, 32))
	g.emit(asm.Or.Imm(asm.R2, ring.KindFiller<<ring.WordKind))
	g.emit(asm.StoreMem(asm.R5, 0, asm.R2, asm.DWord))
	g.fill(r)
	g.bind(whole)
	magic := uint32(ring.PacketMagic)
	if g.an.overwrites() { // the upper half is not zero yet
		g.movImm(asm.R5, int64(magic))
		g.emit(asm.StoreMem(asm.R0, 0, asm.R5, asm.DWord))
	} else {
		g.storeImm(asm.R0, 0, 4, int64(int32(magic)))
	}
	g.emit(asm.LoadMem(asm.R5, asm.R10, r.at, asm.DWord))
	g.jump(r.heads)

	if !g.an.overwrites() {
		g.bind(full)
		g.emit(asm.LoadMem(asm.R0, asm.R4, reserved, asm.DWord))
		g.emit(asm.LoadMem(asm.R1, asm.R10, r.old, asm.DWord))
		g.jumpIf(asm.JEq, 8, asm.R0, asm.R1, lost)
	}
	g.bind(r.retry)
	g.emit(asm.LoadMem(asm.R5, asm.R10, r.turn, asm.DWord))
	g.emit(asm.Add.Imm(asm.R5, 1))
	most := int32(tries)
	if g.an.overwrites() {
		most = overTries
	}
	g.jumpIfImm(asm.JLE, 8, asm.R5, most, r.again)
	g.bind(lost)
	g.movImm(asm.R0, 1)
	g.emit(asm.AddAtomic.Mem(asm.R4, asm.R0, asm.DWord, dropped))
	g.countIn(ir.CounterLost)
	g.exit()
}

// nextFree goes to full unless the sub-buffer from r2 on is free.
func (g *gen) nextFree(r *reservation, full label) {
	const consumed = ring.RingConsumed - ring.RingData
	g.emit(asm.LoadMem(asm.R3, asm.R4, consumed, asm.DWord))
	g.mov(asm.R5, asm.R2)
	g.emit(asm.Sub.Reg(asm.R5, asm.R3))
	g.jumpIfImm(asm.JGT, 8, asm.R5, int32(int64(g.c.Layout.RingSize)-r.packets()), full)
	g.mov(asm.R1, asm.R2)
	g.emit(asm.Add.Imm(asm.R1, ring.PacketHead))
	g.movImm(asm.R5, 0)
	g.jump(r.claim)
}

// storeContext stores the context at the position in r5, with the time in r3, and leaves the event's position in r5.
func (g *gen) storeContext(in *ir.Instr, r *reservation) {
	g.mov(asm.R1, asm.R5)
	g.emit(asm.And.Imm(asm.R1, int32(g.c.Layout.RingSize-1)))
	g.emit(asm.Add.Reg(asm.R1, asm.R4))
	g.mov(asm.R0, asm.R3)
	g.emit(asm.And.Imm(asm.R0, ring.WordClock))
	g.movImm(asm.R2, (r.need-ring.ContextSize)<<32|ring.KindContext<<ring.WordKind)
	g.emit(asm.Or.Reg(asm.R2, asm.R0))
	g.emit(asm.StoreMem(asm.R1, 0, asm.R2, asm.DWord))
	g.emit(asm.StoreMem(asm.R1, ring.ContextThread, g.thread(in, asm.R2), asm.DWord))
	g.emit(asm.StoreMem(asm.R1, ring.ContextTime, asm.R3, asm.DWord))
	g.emit(asm.Add.Imm(asm.R5, ring.ContextSize))
}

// storeHead stores the event's head at the position in r5. The number of the site is 0 where it is not known yet.
func (g *gen) storeHead(in *ir.Instr, r *reservation) {
	head, event := g.an.eventHead(), r.need-ring.ContextSize
	g.emit(asm.And.Imm(asm.R5, int32(g.c.Layout.RingSize-1)))
	g.emit(asm.Add.Reg(asm.R4, asm.R5))
	g.emit(asm.And.Imm(asm.R3, ring.WordClock))
	g.movImm(asm.R2, math.MinInt64|g.eventWord(g.c.Layout.SiteID, in.Imm)<<32|ring.KindEvent<<ring.WordKind)
	g.emit(asm.Or.Reg(asm.R2, asm.R3))
	g.emit(asm.StoreMem(asm.R4, 0, asm.R2, asm.DWord))
	if head > ring.EventHead {
		g.storeImm(asm.R4, ring.EventHead, 8, event)
	}
	g.emit(asm.Add.Imm(asm.R4, int32(head-ring.RecHeader)))
	g.store(g.an.record(), asm.R4)
}

// compareExchange is asm.CmpXchg.Mem. Version 0.22.0 of the module encodes the instruction's constant,
// which selects the atomic operation, before it sets it.
func compareExchange(base, src asm.Register, off int16) asm.Instruction {
	i := asm.CmpXchg.Mem(base, src, asm.DWord, off)
	i.Constant = int64(asm.CmpXchg >> 8)
	return i
}
