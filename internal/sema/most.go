package sema

import (
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// bounded leaves a hit without a record if as many as are wanted have one.
func bounded(l *lowerer, plans []*plan) {
	if in := l.in; in.Most > 0 && in.Most <= uint64(in.Room)/recordBound(in, plans) {
		l.most(in.Most)
	}
}

// most leaves a hit without a record, uncounted, if as many as are wanted have one. Reading first keeps the word of the
// counter shared between the CPUs afterwards.
func (l *lowerer) most(n uint64) {
	limit := l.b.Const(int64(n))
	l.leaveUnless(l.b.Bin(ir.ULt, 8, l.b.Def(ir.I64, ir.Instr{Op: ir.GetVar, Imm: ring.MostVariable}), limit))
	ticket := l.b.Def(ir.I64, ir.Instr{Op: ir.FetchAddVar, Imm: ring.MostVariable, A: l.b.Const(1)})
	l.leaveUnless(l.b.Bin(ir.ULt, 8, ticket, limit))
}

// recordBound is not less than the size of a record.
func recordBound(in *Input, plans []*plan) uint64 {
	n := int64(ring.RecHeader + ir.CommSize + 64)
	for _, p := range plans {
		n += p.bytes(in) + 32
	}
	return uint64(n)
}
