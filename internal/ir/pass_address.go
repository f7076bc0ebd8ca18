package ir

import "math"

// addressPass moves the constant part of an address into the operation, as far
// as it fits the 32 bits that processors give it. The sum, and so the
// address of a fault, stays.
func addressPass(p *Program) bool {
	rw := newRewriter(p)
	return rw.run(func(i Instr) {
		for i.Op.Info().has('p') {
			d := rw.def(i.A)
			if d.Op != Add || d.W != 8 {
				break
			}
			c, ok := rw.isConst(d.B)
			sum := i.Imm + c
			if !ok || !fits32(c) || !fits32(i.Imm) || !fits32(sum) {
				break
			}
			i.A, i.Imm = d.A, sum
			rw.changed = true
		}
		rw.keep(i)
	}, nil)
}

func fits32(n int64) bool { return n >= math.MinInt32 && n <= math.MaxInt32 }
