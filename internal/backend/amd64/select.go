package amd64

import (
	"math"

	"github.com/jalon-trace/jalon/internal/ir"
)

// defSite says where a value is defined: instruction idx of a block, or -1 for a
// parameter. block is NoBlock for values never defined in a reachable block.
type defSite struct {
	block ir.BlockID
	idx   int
}

// amode is an address or a sum: base + index*scale + disp. A scale of 3, 5 or 9
// is index*(scale-1) with the index as base too.
type amode struct {
	base, index ir.Value
	scale       uint8
	disp        int32
}

// analysis is what is known of a program before registers are chosen.
type analysis struct {
	p     *ir.Program
	reach []bool
	preds [][]ir.BlockID
	def   []defSite
	uses  []int
	// folded values are computed inside the instruction that uses them.
	folded []bool
	// dead values have no use and no effect.
	dead []bool
	// modes holds the address of a load and the sum of an addition.
	modes map[*ir.Instr]amode

	regReads  regSet // program registers that the program reads (general and xmm)
	readFlags bool
	reserves  int
	sizes     map[int64]bool // sizes of the Reserves
	guarded   bool           // some access may fault
}

func analyse(p *ir.Program) *analysis {
	an := &analysis{p: p,
		reach: make([]bool, len(p.Blocks)), preds: make([][]ir.BlockID, len(p.Blocks)),
		def: make([]defSite, len(p.Classes)), uses: make([]int, len(p.Classes)),
		folded: make([]bool, len(p.Classes)), dead: make([]bool, len(p.Classes)),
		modes: map[*ir.Instr]amode{}, sizes: map[int64]bool{},
	}
	an.scan()
	an.markDead()
	for b := range p.Blocks {
		if an.reach[b] {
			an.foldBlock(ir.BlockID(b))
		}
	}
	return an
}

// operands returns the value operands of i.
func operands(i *ir.Instr) []ir.Value {
	var v []ir.Value
	if hasA(i.Op) {
		v = append(v, i.A)
	}
	if hasB(i.Op) {
		v = append(v, i.B)
	}
	return v
}

// shapes of the operations: which operand fields are meaningful.
func hasA(op ir.Op) bool {
	switch op {
	case ir.Const, ir.FConst, ir.Reg, ir.FReg, ir.Reserve, ir.PutReg, ir.Commit, ir.Count, ir.Invalid:
		return false
	}
	return true
}

func hasB(op ir.Op) bool {
	switch {
	case op >= ir.Add && op <= ir.Sar, op >= ir.Eq && op <= ir.ULe,
		op >= ir.FAdd && op <= ir.FDiv, op >= ir.FEq && op <= ir.FLe, op == ir.CopyN:
		return true
	}
	return false
}

func hasEffect(op ir.Op) bool { return op >= ir.Reserve && op <= ir.Count }

func (an *analysis) scan() {
	for v := range an.def {
		an.def[v] = defSite{ir.NoBlock, -1}
	}
	an.reach[0] = true
	for b, blk := range an.p.Blocks {
		if !an.reach[b] {
			continue
		}
		id := ir.BlockID(b)
		for _, v := range blk.Params {
			an.def[v] = defSite{id, -1}
		}
		for i := range blk.Instrs {
			an.scanInstr(id, i, &blk.Instrs[i])
		}
		an.scanTerm(id, &blk.Term)
	}
}

func (an *analysis) edgeTo(from, to ir.BlockID) {
	an.reach[to] = true
	an.preds[to] = append(an.preds[to], from)
}

func (an *analysis) scanInstr(b ir.BlockID, idx int, in *ir.Instr) {
	if in.Dst != ir.None && !hasEffect(in.Op) {
		an.def[in.Dst] = defSite{b, idx}
	}
	for _, v := range operands(in) {
		an.uses[v]++
	}
	if in.Op == ir.StrEq || in.Op == ir.CopyStr {
		an.guarded = true // read by words, which may reach past the string
	}
	switch in.Op {
	case ir.Load, ir.FLoad, ir.StrEq, ir.Copy, ir.CopyN, ir.CopyStr:
		if in.Fault != ir.NoBlock {
			an.guarded = true
			an.edgeTo(b, in.Fault)
		}
	case ir.CopyMax:
		an.guarded = true
	case ir.Reg:
		switch {
		case in.Imm < 16:
			an.regReads.add(item(dwarfGPR[in.Imm]))
		case in.Imm == ir.RegRFLAGS:
			an.readFlags = true
		}
	case ir.FReg:
		an.regReads.add(itemXMM + item(in.Imm))
	case ir.PutReg:
		an.regReads.add(itemXMM + item(in.Aux))
	case ir.Reserve:
		an.reserves++
		an.sizes[in.Imm] = true
	}
}

func (an *analysis) scanTerm(b ir.BlockID, t *ir.Term) {
	if t.Kind == ir.Branch {
		an.uses[t.Cond]++
	}
	for _, e := range edges(t) {
		for _, v := range e.Args {
			an.uses[v]++
		}
		an.edgeTo(b, e.To)
	}
}

// edges returns the edges of t in use.
func edges(t *ir.Term) []ir.Edge {
	switch t.Kind {
	case ir.Jump:
		return []ir.Edge{t.Then}
	case ir.Branch:
		return []ir.Edge{t.Then, t.Else}
	}
	return nil
}

// markDead finds values without use whose computation has no effect, and
// releases their operands in turn. A load that may fault stays: its fault is seen.
func (an *analysis) markDead() {
	for b := len(an.p.Blocks) - 1; b >= 0; b-- {
		if !an.reach[b] {
			continue
		}
		ins := an.p.Blocks[b].Instrs
		for i := len(ins) - 1; i >= 0; i-- {
			in := &ins[i]
			if hasEffect(in.Op) || in.Dst == ir.None || an.uses[in.Dst] > 0 {
				continue
			}
			if (in.Op == ir.Load || in.Op == ir.FLoad || in.Op == ir.StrEq) && in.Fault != ir.NoBlock {
				continue
			}
			an.dead[in.Dst] = true
			for _, v := range operands(in) {
				an.uses[v]--
			}
		}
	}
}

// instr returns the instruction that defines v, or nil for a parameter.
func (an *analysis) instr(v ir.Value) *ir.Instr {
	if v == ir.None {
		return nil
	}
	d := an.def[v]
	if d.block == ir.NoBlock || d.idx < 0 {
		return nil
	}
	return &an.p.Blocks[d.block].Instrs[d.idx]
}

// constant returns the value of v when it is a constant.
func (an *analysis) constant(v ir.Value) (int64, bool) {
	if in := an.instr(v); in != nil && in.Op == ir.Const {
		return in.Imm, true
	}
	return 0, false
}

// rematerialised values never get a register of their own: constants, and
// program registers, which are where they are.
func (an *analysis) remat(v ir.Value) bool {
	in := an.instr(v)
	if in == nil {
		return false
	}
	switch in.Op {
	case ir.Const, ir.FConst, ir.FReg:
		return true
	case ir.Reg:
		return in.Imm <= ir.RegRIP || in.Imm == ir.RegRFLAGS
	}
	return false
}

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
			if x.Fault != ir.NoBlock || hasEffect(x.Op) {
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
		if in := an.foldable(blk.Term.Cond, b, root); in != nil && (isCompare(in.Op) || in.Op == ir.And) {
			an.folded[blk.Term.Cond] = true
			an.foldOperands(in, b, root)
		}
	}
	for i := len(blk.Instrs) - 1; i >= 0; i-- {
		in := &blk.Instrs[i]
		if in.Dst != ir.None && !hasEffect(in.Op) && (an.folded[in.Dst] || an.dead[in.Dst]) {
			continue
		}
		an.foldOperands(in, b, i)
	}
}

func isCompare(op ir.Op) bool {
	return op >= ir.Eq && op <= ir.ULe || op >= ir.FEq && op <= ir.FLe
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
			an.modes[in] = an.matchRoot(in, b, root)
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

// matchRoot is matchSum for an addition itself.
func (an *analysis) matchRoot(in *ir.Instr, b ir.BlockID, root int) amode {
	m := an.splitAdd(in, amode{base: ir.None, index: ir.None, scale: 1}, b, root)
	return m
}

// splitAdd adds the two terms of the addition in to m, which has no base and no index.
func (an *analysis) splitAdd(in *ir.Instr, m amode, b ir.BlockID, root int) amode {
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

// growBase replaces the base of m by its terms as long as the form has room.
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
