package amd64

import "github.com/jalon-trace/jalon/internal/ir"

func init() {
	lower[ir.Load] = (*gen).lowerLoad
	lower[ir.FLoad] = (*gen).lowerFLoad
}

func (g *gen) lowerLoad(in *ir.Instr) {
	d := g.dst(in.Dst)
	g.extend(d, in.W, in.Signed, g.loadOpd(in))
	g.setDst(in.Dst, d)
}

func (g *gen) lowerFLoad(in *ir.Instr) {
	d := g.dstX(in.Dst)
	g.moveX(d, g.wide(in.Dst), g.loadOpd(in))
	g.setDstX(in.Dst, d)
}

func (m mem) indexed(i Reg) mem {
	m.index = i
	return m
}

// piece is a part of a run of bytes that one instruction moves.
type piece struct {
	off int32
	w   uint8
}

// pieces splits n bytes in moves of at most widest bytes; the last may overlap
// the one before it.
func pieces(n int64, widest uint8) []piece {
	var ps []piece
	off := int64(0)
	for w := int64(widest); w >= 1; w /= 2 {
		for n-off >= w {
			ps = append(ps, piece{int32(off), uint8(w)})
			off += w
		}
		if rest := n - off; rest > 0 && off > 0 && n >= w && rest > w/2 {
			return append(ps, piece{int32(n - w), uint8(w)})
		}
	}
	return ps
}
