package sema

import (
	"math/rand"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// TestSpans: spans are whole bytes, cover the object in order, and those that are not gathered are bytes of one piece.
func TestSpans(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 20000 {
		var list []debuginfo.Piece
		total := int64(0)
		for range 1 + r.Intn(8) {
			p := debuginfo.Piece{Kind: debuginfo.PieceKind(r.Intn(int(debuginfo.IsMissing) + 1)), BitSize: 1 + r.Int63n(80), BitOffset: r.Int63n(3) * 4}
			list = append(list, p)
			total += p.BitSize
		}
		n, at := total&^7, int64(0)
		for _, s := range spans(list, 0, n) {
			if s.at != at || s.bits <= 0 || s.bits%8 != 0 || s.gathered && s.bits > 64 {
				t.Fatalf("%+v: %+v at %d", list, s, at)
			}
			start, within := int64(0), 0
			for _, p := range list {
				if start < s.at+s.bits && s.at < start+p.BitSize {
					within++
					if s.missing && p.Kind != debuginfo.IsMissing {
						t.Fatalf("%+v: %+v is missing", list, s)
					}
				}
				start += p.BitSize
			}
			if !s.gathered && within != 1 {
				t.Fatalf("%+v: %+v is in %d pieces", list, s, within)
			}
			at += s.bits
		}
		if at != n {
			t.Fatalf("%+v: %d of %d bits", list, at, n)
		}
	}
}

// TestWindowOfNothing: an object without bytes, such as Rust's PhantomData behind the last described member, misses nothing.
func TestWindowOfNothing(t *testing.T) {
	list := []debuginfo.Piece{{Kind: debuginfo.InRegister, BitSize: 64}}
	for _, lo := range []int64{0, 8, 64, 128} {
		window(list, lo, 0, func(p debuginfo.Piece, _, _, bits int64) { t.Errorf("at %d: %d bits of %v", lo, bits, p) })
	}
}
