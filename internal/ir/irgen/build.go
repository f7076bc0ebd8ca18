package irgen

import (
	"math/rand"

	"github.com/jalon-trace/jalon/internal/ir"
)

// builder appends instructions, and keeps which values and blocks can be named.
type builder struct {
	r      *rand.Rand
	opt    Options
	p      *ir.Program
	phases []phase      // by block, at its start
	in     [][]ir.Value // by block: defined on every edge seen so far; nil: none seen
	room   int64        // every Reserve has at least this

	// At the present point:
	id    ir.BlockID
	state phase
	avail []ir.Value
	done  []ir.Instr // all instructions with a result so far, to repeat some
}

// params gives the parameters of a block; every second can take a fault.
func (bd *builder) params(id int) []ir.Class {
	switch {
	case id == 0:
		return nil
	case bd.r.Intn(2) == 0:
		return []ir.Class{ir.I64}
	}
	var cs []ir.Class
	for range bd.r.Intn(4) {
		cs = append(cs, bd.class())
	}
	return cs
}

func (bd *builder) class() ir.Class {
	if bd.opt.Floats && bd.r.Intn(3) == 0 {
		return bd.float()
	}
	return ir.I64
}

func (bd *builder) float() ir.Class { return []ir.Class{ir.F64, ir.F32}[bd.r.Intn(2)] }

func (bd *builder) newValue(c ir.Class) ir.Value {
	bd.p.Classes = append(bd.p.Classes, c)
	return ir.Value(len(bd.p.Classes) - 1)
}

// targets are the blocks that an edge from here may lead to in state s.
func (bd *builder) targets(s phase) []ir.BlockID {
	var ids []ir.BlockID
	for id := int(bd.id) + 1; id < len(bd.phases); id++ {
		if bd.phases[id] == s || s == before && bd.phases[id] == after {
			ids = append(ids, ir.BlockID(id))
		}
	}
	return ids
}

// faultTarget is a block that a fault may lead to; false when there is none.
func (bd *builder) faultTarget() (ir.BlockID, bool) {
	var ids []ir.BlockID
	for _, id := range bd.targets(bd.state) {
		if ps := bd.p.Blocks[id].Params; len(ps) == 1 && bd.p.Classes[ps[0]] == ir.I64 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return ir.NoBlock, false
	}
	return ids[bd.r.Intn(len(ids))], true
}

// reach records an edge from here.
func (bd *builder) reach(to ir.BlockID) {
	if bd.in[to] == nil {
		bd.in[to] = append([]ir.Value{}, bd.avail...)
		return
	}
	have := map[ir.Value]bool{}
	for _, v := range bd.avail {
		have[v] = true
	}
	kept := bd.in[to][:0]
	for _, v := range bd.in[to] {
		if have[v] {
			kept = append(kept, v)
		}
	}
	bd.in[to] = kept
}

// emit appends an instruction without a result. Fields that are zero and
// have no use become None.
func (bd *builder) emit(i ir.Instr) {
	info := i.Op.Info()
	if info.A == ir.NoOperand {
		i.A = ir.None
	}
	if info.B == ir.NoOperand {
		i.B = ir.None
	}
	if info.Result == ir.NoResult {
		i.Dst = ir.None
	}
	if !info.MayFault {
		i.Fault = ir.NoBlock
	}
	if i.Fault != ir.NoBlock {
		bd.reach(i.Fault)
	}
	b := bd.p.Blocks[bd.id]
	b.Instrs = append(b.Instrs, i)
}

// def appends an instruction with a result.
func (bd *builder) def(c ir.Class, i ir.Instr) ir.Value {
	i.Dst = bd.newValue(c)
	bd.emit(i)
	b := bd.p.Blocks[bd.id]
	bd.done = append(bd.done, b.Instrs[len(b.Instrs)-1])
	bd.avail = append(bd.avail, i.Dst)
	return i.Dst
}

// pick finds an available value of class c, recent ones more often; None
// when there is none.
func (bd *builder) pick(c ir.Class) ir.Value {
	var vs []ir.Value
	for _, v := range bd.avail {
		if bd.p.Classes[v] == c {
			vs = append(vs, v)
		}
	}
	if len(vs) == 0 {
		return ir.None
	}
	if len(vs) > 4 && bd.r.Intn(2) == 0 {
		vs = vs[len(vs)-4:]
	}
	return vs[bd.r.Intn(len(vs))]
}

func (bd *builder) has(v ir.Value) bool {
	if v == ir.None {
		return true
	}
	for _, x := range bd.avail {
		if x == v {
			return true
		}
	}
	return false
}

// hidden is def for a result that nothing else may use.
func (bd *builder) hidden(i ir.Instr) ir.Value {
	i.Dst = bd.newValue(ir.I64)
	bd.emit(i)
	return i.Dst
}

// phase is the state of the record. Blocks are laid out by phase, so that every
// edge leads forward; from before the record there is a way past it.
type phase uint8

const (
	before phase = iota
	inside
	after
)
