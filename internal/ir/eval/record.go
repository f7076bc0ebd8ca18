package eval

import (
	"encoding/binary"
	"slices"

	"github.com/jalon-trace/jalon/internal/ir"
)

func (r *run) reserve(i *ir.Instr) flow {
	if !r.m.RecordRoom {
		r.out.Counters[ir.CounterLost]++
		r.out.Exit = Full
		return stop
	}
	r.record = slices.Grow(r.record[:0], int(i.Imm))[:i.Imm]
	r.known = slices.Grow(r.known[:0], int(i.Imm))[:i.Imm]
	clear(r.record)
	clear(r.known)
	r.mark(ir.RecordHeader, i.Imm-ir.RecordHeader, true)
	return next
}

// mark says of n bytes of the record from off on whether they are promised.
func (r *run) mark(off, n int64, known bool) {
	for k := range r.known[off : off+n] {
		r.known[off+int64(k)] = known
	}
}

// store writes b at off.
func (r *run) store(off int64, b []byte) {
	copy(r.record[off:], b)
	r.mark(off, int64(len(b)), true)
}

func (r *run) put(i *ir.Instr, v uint64, n int) flow {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	r.store(i.Imm, b[:n])
	return next
}

// wide gives the bytes of a wide register.
func (r *run) wide(n int64) []byte {
	if r.m.Wide != nil {
		if b := r.m.Wide.Wide(n); b != nil {
			return b
		}
	}
	return make([]byte, ir.Wide(n).Bytes)
}

// putreg marks the defined bytes of a register that is stored as a whole.
func (r *run) putreg(i *ir.Instr) flow {
	b := r.wide(i.Aux)
	if i.W != 0 {
		r.store(i.Imm, b[:i.W])
		return next
	}
	r.forget(i)
	reg := ir.Wide(i.Aux)
	if reg.Parts == nil {
		r.store(i.Imm, b)
	}
	for _, p := range reg.Parts {
		r.store(i.Imm+int64(p[0]), b[p[0]:p[0]+p[1]])
	}
	return next
}

// forget marks the slot of i as undefined.
func (r *run) forget(i *ir.Instr) { r.mark(i.Imm, r.p.Slot(i), false) }

// counted writes a Counted slot.
func (r *run) counted(i *ir.Instr, b []byte, flags uint32) flow {
	var head [ir.CountedHeader]byte
	binary.LittleEndian.PutUint32(head[0:], uint32(len(b)))
	binary.LittleEndian.PutUint32(head[4:], flags)
	r.forget(i)
	r.store(i.Imm, head[:])
	r.store(i.Imm+ir.CountedHeader, b)
	return next
}

func (r *run) copy(i *ir.Instr) flow {
	b := r.read(r.values[i.A], i.Aux)
	if int64(len(b)) < i.Aux {
		r.forget(i)
		return fault
	}
	r.store(i.Imm, b)
	return next
}

func (r *run) copyn(i *ir.Instr) flow {
	n, flags := i.Aux, uint32(0)
	if b := r.values[i.B]; b > uint64(n) {
		flags = ir.FlagTruncated
	} else {
		n = int64(b)
	}
	b := r.read(r.values[i.A], n)
	if int64(len(b)) < n {
		r.forget(i)
		return fault
	}
	return r.counted(i, b, flags)
}

func (r *run) copystr(i *ir.Instr) flow {
	b, w := r.read(r.values[i.A], i.Aux), int(i.W)
	whole := len(b) / w * w
	for at := 0; at < whole; at += w {
		if !slices.ContainsFunc(b[at:at+w], func(x byte) bool { return x != 0 }) {
			return r.counted(i, b[:at], 0)
		}
	}
	switch {
	case int64(len(b)) == i.Aux:
		return r.counted(i, b, ir.FlagTruncated)
	case whole == 0:
		r.forget(i)
		return fault
	default:
		return r.counted(i, b[:whole], ir.FlagUnreadable)
	}
}

func (r *run) copymax(i *ir.Instr) flow {
	return r.counted(i, r.read(r.values[i.A], i.Aux), 0)
}

// frames follows the stack for i.
func (r *run) frames(i *ir.Instr) (pcs []uint64, end uint8) {
	pc := r.m.Regs[ir.RegPC]
	if r.m.Walk == nil {
		return []uint64{pc}, walkUnknown
	}
	return r.m.Walk(pc, r.values[i.A], r.values[i.B], func(addr uint64) (uint64, bool) {
		b := r.read(addr, 8)
		if len(b) < 8 {
			return 0, false
		}
		return binary.LittleEndian.Uint64(b), true
	}, int(i.Aux/8))
}

func (r *run) intern(i *ir.Instr) flow {
	pcs, end := r.frames(i)
	if at := slices.IndexFunc(pcs, func(pc uint64) bool { return pc>>pcBits != 0 }); at > 0 {
		pcs, end = pcs[:at], walkDamaged
	}
	if r.m.Intern == nil {
		return r.set(i, 0)
	}
	return r.set(i, uint64(r.m.Intern(pcs, end)))
}

func (r *run) userStack(i *ir.Instr) flow {
	if r.m.UserStack == nil {
		return r.set(i, 0)
	}
	return r.set(i, r.m.UserStack(r.values[i.A], int(i.Aux/8)))
}

func (r *run) walk(i *ir.Instr) flow {
	pcs, end := r.frames(i)
	var b []byte
	for _, pc := range pcs {
		b = binary.LittleEndian.AppendUint64(b, pc)
	}
	flags := uint32(end) * ir.WalkEnd
	if end == walkDeep {
		flags |= ir.FlagTruncated
	}
	return r.counted(i, b, flags)
}

// Reasons of the end of a walk, as package unwind has them.
const (
	walkDeep    = 1
	walkUnknown = 3
	walkDamaged = 5
	pcBits      = 47 // ring.StackPCBits
)

func (r *run) commit(*ir.Instr) flow {
	r.out.Record, r.out.Defined = r.record, r.known
	return next
}
