package amd64

import (
	"math"

	"github.com/jalon-trace/jalon/internal/ir"
)

// foldable returns the instruction of v when v may be computed at instruction
// root of block b instead of at its own place.
func (an *analysis) foldable(v ir.Value, b ir.BlockID, root int) *ir.Instr {
	d := an.def[v]
	if d.block != b || d.idx < 0 || an.uses[v] != 1 || an.folded[v] {
		return nil
	}
	in := an.instr(v)
	if (in.Op == ir.Load || in.Op == ir.FLoad) && in.Fault != ir.NoBlock {
		for k := d.idx + 1; k < root; k++ {
			x := &an.p.Blocks[b].Instrs[k]
			if x.Fault != ir.NoBlock || x.Op.HasEffect() {
				return nil
			}
		}
	}
	return in
}

func (an *analysis) foldBlock(b ir.BlockID) {
	blk := an.p.Blocks[b]
	if blk.Term.Kind == ir.Branch {
		root := len(blk.Instrs)
		if in := an.foldable(blk.Term.Cond, b, root); in != nil && (in.Op.IsCompare() || in.Op == ir.And || in.Op == ir.MapHas) {
			an.folded[blk.Term.Cond] = true
			an.foldOperands(in, b, root)
		}
	}
	for i := len(blk.Instrs) - 1; i >= 0; i-- {
		in := &blk.Instrs[i]
		if in.Dst != ir.None && !in.Op.HasEffect() && (an.folded[in.Dst] || an.dead[in.Dst]) {
			continue
		}
		an.foldOperands(in, b, i)
	}
}

// foldOperands decides what instruction in, computed at root, takes into itself.
func (an *analysis) foldOperands(in *ir.Instr, b ir.BlockID, root int) {
	switch in.Op {
	case ir.Load, ir.FLoad:
		an.modes[in] = an.matchSum(in.A, in.Imm, 8, b, root)
	case ir.Eq, ir.Ne, ir.SLt, ir.SLe, ir.ULt, ir.ULe:
		an.foldCompare(in, b, root)
	case ir.Add:
		if !an.foldLoad(in.B, in.W, b, root) && !an.foldLoad(in.A, in.W, b, root) {
			an.modes[in] = an.splitAdd(in, b, root)
		}
	case ir.And, ir.Or, ir.Xor, ir.Mul:
		if in.Op == ir.Mul && an.byZero(in) {
			return // the load would be lost, and its fault with it
		}
		if !an.foldLoad(in.B, in.W, b, root) {
			an.foldLoad(in.A, in.W, b, root)
		}
	case ir.Sub, ir.FAdd, ir.FSub, ir.FMul, ir.FDiv, ir.FEq, ir.FNe:
		an.foldLoad(in.B, in.W, b, root)
	case ir.FLt, ir.FLe, ir.FToF:
		an.foldLoad(in.A, in.W, b, root)
	case ir.SExt, ir.ZExt:
		an.foldLoad(in.A, in.W, b, root)
	}
}

func (an *analysis) byZero(in *ir.Instr) bool {
	a, aConst := an.constant(in.A)
	b, bConst := an.constant(in.B)
	return aConst && a&widthMask(in.W) == 0 || bConst && b&widthMask(in.W) == 0
}

func (an *analysis) foldCompare(in *ir.Instr, b ir.BlockID, root int) {
	if k, ok := an.constant(in.B); ok && k == 0 && (in.Op == ir.Eq || in.Op == ir.Ne) {
		if and := an.foldable(in.A, b, root); and != nil && and.Op == ir.And && and.W == in.W {
			an.folded[in.A] = true
			an.foldOperands(and, b, root)
			return
		}
	}
	if !an.foldLoad(in.B, in.W, b, root) {
		an.foldLoad(in.A, in.W, b, root)
	}
}

// foldLoad folds v when it is a load of exactly the width that the operation reads.
func (an *analysis) foldLoad(v ir.Value, w uint8, b ir.BlockID, root int) bool {
	in := an.foldable(v, b, root)
	if in == nil || in.Op != ir.FLoad && (in.Op != ir.Load || in.W != w) {
		return false
	}
	an.folded[v] = true
	an.foldOperands(in, b, root)
	return true
}

// splitAdd decomposes the addition in.
func (an *analysis) splitAdd(in *ir.Instr, b ir.BlockID, root int) amode {
	m := amode{base: ir.None, index: ir.None, scale: 1}
	if k, ok := an.constant(in.B); ok {
		if d, ok := addDisp(m.disp, k, in.W); ok {
			m.base, m.disp = in.A, d
			return an.growBase(m, in.W, b, root)
		}
	}
	if k, ok := an.constant(in.A); ok {
		if d, ok := addDisp(m.disp, k, in.W); ok {
			m.base, m.disp = in.B, d
			return an.growBase(m, in.W, b, root)
		}
	}
	m.base, m.index = in.A, in.B
	if !an.growIndex(&m, in.W, b, root) {
		m.base, m.index = in.B, in.A
		if !an.growIndex(&m, in.W, b, root) {
			m.base, m.index = in.A, in.B
		}
	}
	return an.growBase(m, in.W, b, root)
}

// matchSum decomposes v + imm.
func (an *analysis) matchSum(v ir.Value, imm int64, w uint8, b ir.BlockID, root int) amode {
	m := amode{base: v, index: ir.None, scale: 1}
	if imm != int64(int32(imm)) {
		// The emitter adds it by hand.
		return m
	}
	m.disp = int32(imm)
	return an.growBase(m, w, b, root)
}

// growBase replaces the base of m by its terms while the form has room.
func (an *analysis) growBase(m amode, w uint8, b ir.BlockID, root int) amode {
	for {
		in := an.foldable(m.base, b, root)
		if in == nil || in.Op != ir.Add && in.Op != ir.Sub || !(in.W == 8 || in.W == w) {
			return m
		}
		k, isConst := an.constant(in.B)
		if in.Op == ir.Sub {
			d, ok := addDisp(m.disp, -k, w)
			if !isConst || !ok {
				return m
			}
			an.folded[m.base] = true
			m.base, m.disp = in.A, d
			continue
		}
		if isConst {
			d, ok := addDisp(m.disp, k, w)
			if !ok {
				return m
			}
			an.folded[m.base] = true
			m.base, m.disp = in.A, d
			continue
		}
		if _, aConst := an.constant(in.A); aConst || m.index != ir.None {
			return m
		}
		an.folded[m.base] = true
		m.base, m.index = in.A, in.B
		if !an.growIndex(&m, w, b, root) {
			m.base, m.index = in.B, in.A
			an.growIndex(&m, w, b, root)
		}
	}
}

// growIndex folds a multiplication by 2, 4 or 8 in the index.
func (an *analysis) growIndex(m *amode, w uint8, b ir.BlockID, root int) bool {
	in := an.foldable(m.index, b, root)
	if in == nil || !(in.W == 8 || in.W == w) {
		return false
	}
	k, ok := an.constant(in.B)
	if !ok {
		return false
	}
	var scale uint8
	switch {
	case in.Op == ir.Mul && (k == 2 || k == 4 || k == 8):
		scale = uint8(k)
	case in.Op == ir.Shl && k >= 1 && k <= 3:
		scale = 1 << k
	default:
		return false
	}
	an.folded[m.index] = true
	m.index, m.scale = in.A, scale
	return true
}

// addDisp is d + k where the sum stays exact (W 8) or wraps (W 4).
func addDisp(d int32, k int64, w uint8) (int32, bool) {
	if w == 4 {
		return d + int32(k), true
	}
	if k < math.MinInt32 || k > math.MaxInt32 {
		return 0, false
	}
	s := int64(d) + k
	return int32(s), s == int64(int32(s))
}
