package ebpf

import "github.com/jalon-trace/jalon/internal/ir"

// fuse finds comparisons whose only use is a branch, and tests of bits
// whose only use is such a comparison with zero or the branch itself.
func (an *analysis) fuse() {
	for id, b := range an.p.Blocks {
		if !an.reach[id] || b.Term.Kind != ir.Branch {
			continue
		}
		v := b.Term.Cond
		if an.once(v) && an.def[v].Op.IsCompare() {
			an.fused[v] = true
			if k, ok := an.number(an.def[v].B); !ok || k != 0 || an.def[v].Op != ir.Eq && an.def[v].Op != ir.Ne {
				continue
			}
			v = an.def[v].A
		}
		if an.once(v) && an.def[v].Op == ir.And {
			if k, ok := an.number(an.def[v].B); ok && int64(k) == int64(int32(k)) {
				an.fused[v] = true
			}
		}
	}
}

// once: v is computed, and used at one place.
func (an *analysis) once(v ir.Value) bool {
	return an.def[v] != nil && an.uses[v] == 1 && !an.known[v]
}

// condInputs are the values that a branch on v reads.
func (an *analysis) condInputs(v ir.Value) []ir.Value {
	if !an.fused[v] {
		return []ir.Value{v}
	}
	d := an.def[v]
	if d.Op.IsCompare() && an.fused[d.A] {
		d = an.def[d.A]
	}
	return []ir.Value{d.A, d.B}
}

// bitTest: a branch on v tests bits k of x in width w; negated: it is taken if none is set.
func (an *analysis) bitTest(v ir.Value) (x ir.Value, k int32, w uint8, negated, ok bool) {
	if !an.fused[v] {
		return ir.None, 0, 0, false, false
	}
	d, w := an.def[v], uint8(8)
	if d.Op.IsCompare() {
		if !an.fused[d.A] {
			return ir.None, 0, 0, false, false
		}
		negated, w = d.Op == ir.Eq, d.W
		d = an.def[d.A]
	}
	n, _ := an.number(d.B)
	return d.A, int32(uint32(n)), min(w, d.W), negated, true
}

// contextOffset gives the offset when v is an address in the context block.
func (an *analysis) contextOffset(v ir.Value) (int64, bool) {
	if v == ir.None || an.def[v] == nil {
		return 0, false
	}
	d := an.def[v]
	switch {
	case d.Op == ir.Env && d.Imm == ir.EnvContext:
		return 0, true
	case d.Op == ir.Add && d.W == 8:
		for _, x := range [2][2]ir.Value{{d.A, d.B}, {d.B, d.A}} {
			if k, ok := an.number(x[1]); ok {
				off, ok := an.contextOffset(x[0])
				return off + int64(k), ok
			}
		}
	}
	return 0, false
}

// maxContextCopy is how many bytes of the context are copied by loads and
// stores of the program; longer ones are left to a helper.
const maxContextCopy = 128

// contextCopy reports whether in copies bytes of the context block that the
// program can load itself, and from which offset on.
func (an *analysis) contextCopy(in *ir.Instr) (int64, bool) {
	if in.Op != ir.Copy || in.Aux == 0 || in.Aux > maxContextCopy {
		return 0, false
	}
	off, ok := an.contextOffset(in.A)
	if !ok || off < an.c.firstContext() || off+in.Aux > ir.MaxContext {
		return 0, false
	}
	return off, true
}
