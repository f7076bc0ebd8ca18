package amd64

import (
	"encoding/binary"
	"math/bits"

	"github.com/jalon-trace/jalon/internal/ring"
)

// Restartable sequences (rseq(2)): the kernel sends a thread that is preempted, migrated or gets a signal between
// start and end to the abort handler. See the writer protocol of package ring.

// sequence is one of the code.
type sequence struct {
	start, end point // end is behind the instruction that commits
	abort      label
	descriptor label // of its struct rseq_cs
}

const (
	sequenceSize  = 32 // struct rseq_cs: u32 version, flags; u64 start, length, abort
	sequenceAlign = 32
	// abortMark is what the kernel requires before an abort handler: the signature that glibc registers.
	abortMark = 0x53053053

	// struct rseq: u32 cpu_id_start, cpu_id; u64 rseq_cs. Without a registration cpu_id is negative, where cpu_id_start
	// is 0 like that of CPU 0.
	rseqCPU = 4
	rseqCS  = 8
)

// describe fills the descriptors.
func (a *asm) describe(l *linked, data []byte) {
	for _, s := range a.seqs {
		d := data[l.off(a.labels[s.descriptor])-l.secStart[secData]:]
		start := l.off(s.start)
		binary.LittleEndian.PutUint64(d[8:], a.base+uint64(start))
		binary.LittleEndian.PutUint64(d[16:], uint64(l.off(s.end)-start))
		binary.LittleEndian.PutUint64(d[24:], a.base+uint64(l.off(a.labels[s.abort])))
	}
}

// restartable reports whether the code has restartable sequences.
func (g *gen) restartable() bool { return g.cfg.Layout.Registered != 0 }

// fsMem is memory of the thread, off bytes from its thread pointer.
func fsMem(off int32) mem {
	m := at(NoReg, off)
	m.seg = 0x64
	return m
}

// checkRegistered goes to other if the thread may not use restartable sequences. It destroys s. A thread without
// thread pointer cannot read fs:0.
func (g *gen) checkRegistered(s Reg, other label) {
	m := at(s, 0) // fs:0, by the ABI the thread pointer itself; shorter than an absolute address
	m.seg = 0x64
	o := memOpd(m)
	o.fix = other
	g.zero(s)
	g.rmo(iMOV, 8, s, o)
	g.mi(iSHR, 4, rmReg(s), ring.RegisteredShift-3)
	g.mi(iAND, 4, rmReg(s), (ring.RegisteredThreads-1)*8)
	g.rmo(iMOV, 8, s, memOpd(g.indexed(fixed(g.cfg.Layout.Registered), s)))
	g.rmo(iCMP, 8, s, memOpd(fsMem(0)))
	g.a.jcc(ccNE, other)
}

// enter begins a sequence. It destroys s.
func (g *gen) enter(s Reg) *sequence {
	q := &sequence{abort: g.a.newLabel(), descriptor: g.a.newLabel()}
	g.a.seqs = append(g.a.seqs, q)
	sec := g.a.sec
	g.a.sec = secData
	g.a.bind(q.descriptor)
	g.a.byte(make([]byte, sequenceSize)...)
	g.a.sec = sec
	g.lea(8, s, ripLabel(q.descriptor))
	g.mr(iMOV, 8, rmMem(fsMem(g.cfg.Layout.RseqCPU+rseqCS)), s)
	q.start = g.a.here()
	return q
}

// scaleCPU multiplies a number of a CPU.
func (g *gen) scaleCPU(d Reg, stride uint64) {
	w := uint8(8)
	if uint64(g.cfg.Layout.CPUMask)*stride < 1<<32 {
		w = 4
	}
	switch n := bits.TrailingZeros64(stride); {
	case stride&(stride-1) != 0:
		g.effects(iIMULI, d, false)
		g.a.rmi(w, d, rmReg(d), int64(stride))
	case n > 0:
		g.mi(iSHL, w, rmReg(d), int64(n))
	}
}

// thisCPU sets d to the number of the CPU times stride. The thread stays on it to the end of the sequence. It goes to
// gone where there is no such CPU: the thread has given its struct back to the kernel since it was listed
// (rseq(2), RSEQ_FLAG_UNREGISTER), or has written to it.
func (g *gen) thisCPU(d Reg, stride uint64, gone label) {
	g.rmo(iMOV, 4, d, memOpd(fsMem(g.cfg.Layout.RseqCPU+rseqCPU)))
	g.mi(iCMP, 4, rmReg(d), int64(g.cfg.Layout.CPUMask))
	g.a.jcc(ccA, gone)
	g.scaleCPU(d, stride)
}

// unregistered begins the code at gone, for a thread in a sequence that the kernel does not know: it goes to other.
func (g *gen) unregistered(gone, other label) {
	g.a.comment("; not registered any more")
	g.a.bind(gone)
	g.forgetSequence()
	g.a.jmp(other)
}

// leave ends a sequence after the instruction that commits.
func (g *gen) leave(q *sequence) {
	q.end = g.a.here()
	g.forgetSequence()
}

// leaveBy is leave, shorter, and destroys s.
func (g *gen) leaveBy(q *sequence, s Reg) {
	q.end = g.a.here()
	g.zero(s)
	g.mr(iMOV, 8, rmMem(fsMem(g.cfg.Layout.RseqCPU+rseqCS)), s)
}

// forgetSequence takes the pointer to our memory out of the thread's struct.
func (g *gen) forgetSequence() {
	g.mi(iMOV, 8, rmMem(fsMem(g.cfg.Layout.RseqCPU+rseqCS)), 0)
}

// aborted begins the abort handler. What precedes it must not fall through.
func (g *gen) aborted(q *sequence) {
	g.a.data(binary.LittleEndian.AppendUint32(nil, abortMark))
	g.a.bind(q.abort)
}
