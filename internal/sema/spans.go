package sema

import "github.com/jalon-trace/jalon/internal/debuginfo"

// span is a stretch of whole bytes of an object in pieces that is stored at once: whole bytes of one piece, or a byte
// that several share, as neighbouring bit fields do.
type span struct {
	at, bits int64 // in the object
	piece    debuginfo.Piece
	off      int64 // of its first bit in the piece
	gathered bool  // it is put together as a value, since its bits are not bytes of a piece
	missing  bool  // no bit has a value
	high     bool  // a bit is where no value is made of: in the x87, or in the high half of a vector register
}

// spans divides bits [lo, lo+n) of an object.
func spans(list []debuginfo.Piece, lo, n int64) (out []span) {
	window(list, lo, n, func(p debuginfo.Piece, off, at, bits int64) {
		for bits > 0 {
			take := bits &^ 7
			switch begun := at % 8; {
			case begun != 0:
				take = min(bits, 8-begun)
			case take == 0:
				take = bits
			case shifted(p, off):
				take = min(take, 64)
			}
			if at%8 == 0 {
				out = append(out, span{at: at, piece: p, off: off, missing: true})
			}
			out[len(out)-1].add(p, off, take)
			off, at, bits = off+take, at+take, bits-take
		}
	})
	return out
}

// add adds n bits of a piece.
func (s *span) add(p debuginfo.Piece, off, n int64) {
	first := p.BitOffset + off
	s.gathered = s.gathered || s.bits > 0 || n%8 != 0 || shifted(p, off)
	s.bits += n
	s.missing = s.missing && p.Kind == debuginfo.IsMissing
	s.high = s.high || p.Kind == debuginfo.InRegister && (isX87(p.Reg) || isXMM(p.Reg) && first+n > 64)
}

// shifted reports whether bit off of a piece begins no byte of what holds it.
func shifted(p debuginfo.Piece, off int64) bool {
	return (p.BitOffset+off)%8 != 0 && p.Kind != debuginfo.IsMissing && p.Kind != debuginfo.IsBytes
}
