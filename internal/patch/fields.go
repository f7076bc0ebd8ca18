package patch

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
)

// search finds the fields that lead into [lo, hi) by one pass over the module,
// about 0.5 ms a megabyte. Half of all time would go into recognising opcodes, so
// the sum of place and displacement is looked at first.
func (t *Text) search(lo, hi uint64) (found []field) {
	for _, r := range t.Code {
		found = append(found, inParallel(r, func(r Region, from, to int) (out []field) {
			fields(r.Bytes, from, to, uint32(r.Addr+4-lo), uint32(hi-lo), 1, func(i int) {
				if f, ok := fieldAt(r, i); ok && f.to >= lo && f.to < hi {
					out = append(out, f)
				}
			})
			return out
		})...)
	}
	if !t.Absolute {
		return found
	}
	for _, list := range [][]Region{t.Code, t.data()} {
		for _, r := range list {
			found = append(found, inParallel(r, func(r Region, from, to int) (out []field) {
				fields(r.Bytes, from, to, -uint32(lo), uint32(hi-lo), 0, func(i int) {
					out = append(out, field{r.Addr + uint64(i), uint64(binary.LittleEndian.Uint32(r.Bytes[i:])), true})
				})
				return out
			})...)
		}
	}
	return found
}

// fields calls f for the offsets i in [from, to) where the 4 bytes at i, plus
// place times i, plus add, are less than width in 32-bit arithmetic.
func fields(b []byte, from, to int, add, width, place uint32, f func(i int)) {
	to = min(to, len(b)-3)
	i := from
	sum := add + place*uint32(i)
	for ; i+4 <= to && i+8 <= len(b); i += 4 {
		v := binary.LittleEndian.Uint64(b[i:])
		a0, a1 := uint32(v)+sum, uint32(v>>8)+sum+place
		a2, a3 := uint32(v>>16)+sum+2*place, uint32(v>>24)+sum+3*place
		if a0 < width || a1 < width || a2 < width || a3 < width {
			for k, a := range [4]uint32{a0, a1, a2, a3} {
				if a < width {
					f(i + k)
				}
			}
		}
		sum += 4 * place
	}
	for ; i < to; i++ {
		if binary.LittleEndian.Uint32(b[i:])+sum < width {
			f(i)
		}
		sum += place
	}
}

// inParallel runs f over pieces of a region. The pieces are of offsets: a field
// may reach into the next piece.
func inParallel[T any](r Region, f func(r Region, from, to int) []T) []T {
	const piece = 1 << 20
	n := min(runtime.GOMAXPROCS(0), len(r.Bytes)/piece)
	if n <= 1 {
		return f(r, 0, len(r.Bytes))
	}
	out := make([][]T, n)
	var wg sync.WaitGroup
	for k := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			out[k] = f(r, len(r.Bytes)*k/n, len(r.Bytes)*(k+1)/n)
		}()
	}
	wg.Wait()
	return slices.Concat(out...)
}

// fieldIndex lists the places of all fields by the page that they lead to. It takes
// about 4 ms and 150 KB a megabyte of code.
type fieldIndex struct {
	text     *Text
	base     uint64            // of the lowest region
	relative pageLists[uint32] // offsets from base of fields with displacements
	absolute pageLists[uint64] // target<<32 | place, of fields with addresses
}

// pageLists are lists by page, one behind the other.
type pageLists[T any] struct {
	first []uint32
	list  []T
}

// byPage makes the lists of what each calls its argument with. each is called twice.
func byPage[T any](pages int, each func(f func(page int, v T)) bool) (p pageLists[T], ok bool) {
	p.first = make([]uint32, pages+1)
	if !each(func(page int, _ T) { p.first[page+1]++ }) {
		return p, false
	}
	for i := range pages {
		p.first[i+1] += p.first[i]
	}
	p.list = make([]T, p.first[pages])
	next := slices.Clone(p.first)
	return p, each(func(page int, v T) {
		p.list[next[page]] = v
		next[page]++
	})
}

// of is the list of a page.
func (p *pageLists[T]) of(page uint64) []T {
	if page+1 >= uint64(len(p.first)) {
		return nil
	}
	return p.list[p.first[page]:p.first[page+1]]
}

const (
	indexPage  = 12
	indexPiece = 1 << 20 // bytes of code between two looks at Cancelled
)

// newFieldIndex returns nil if it was cancelled.
func newFieldIndex(t *Text) *fieldIndex {
	x := &fieldIndex{text: t}
	if len(t.Code) == 0 {
		return x
	}
	x.base = t.Code[0].Addr
	end := t.Code[len(t.Code)-1].end()
	pages := int((end-x.base)>>indexPage) + 1
	var ok bool
	x.relative, ok = byPage(pages, func(f func(page int, at uint32)) bool {
		return t.pieces(t.Code, func(r Region, from, to int) {
			opcodes(r.Bytes, from, to, func(i int) {
				to := r.Addr + uint64(i+4) + uint64(int64(int32(binary.LittleEndian.Uint32(r.Bytes[i:]))))
				if to >= x.base && to < end {
					f(int((to-x.base)>>indexPage), uint32(r.Addr-x.base)+uint32(i))
				}
			})
		})
	})
	if ok && t.Absolute {
		x.absolute, ok = x.absolutes(pages, end)
	}
	if !ok {
		return nil
	}
	return x
}

// absolutes lists the fields that hold an address of the code.
func (x *fieldIndex) absolutes(pages int, end uint64) (p pageLists[uint64], ok bool) {
	t := x.text
	return byPage(pages, func(f func(page int, v uint64)) bool {
		return t.pieces(slices.Concat(t.Code, t.data()), func(r Region, from, to int) {
			fields(r.Bytes, from, to, -uint32(x.base), uint32(end-x.base), 0, func(i int) {
				to := uint64(binary.LittleEndian.Uint32(r.Bytes[i:]))
				f(int((to-x.base)>>indexPage), to<<32|(r.Addr+uint64(i)))
			})
		})
	})
}

// pieces calls f for the regions piece by piece. ok is false if it was cancelled.
func (t *Text) pieces(list []Region, f func(r Region, from, to int)) (ok bool) {
	for _, r := range list {
		for from := 0; from < len(r.Bytes); from += indexPiece {
			if t.Cancelled != nil && t.Cancelled() {
				return false
			}
			f(r, from, min(from+indexPiece, len(r.Bytes)))
		}
	}
	return true
}

// opcodes calls f with the offset of each field that fieldAt handles, for opcodes in [from, to).
func opcodes(b []byte, from, to int, f func(i int)) {
	for i := from; i < to && i+6 <= len(b); i++ {
		switch c := b[i]; c {
		case 0xe8, 0xe9:
			f(i + 1)
		case 0x0f:
			if b[i+1]&0xf0 == 0x80 {
				f(i + 2)
			}
		case 0xc7:
			if b[i+1] == 0xf8 {
				f(i + 2)
			}
		case 0x8d:
			if b[i+1]&0xc7 == 0x05 {
				f(i + 2)
			}
		}
	}
	if n := len(b); n >= 5 && from <= n-5 && n-5 < to && b[n-5]&0xfe == 0xe8 { // shorter than the others
		f(n - 4)
	}
}

// each calls f with the fields that lead into [lo, hi).
func (x *fieldIndex) each(lo, hi uint64, f func(field)) {
	for page := (max(lo, x.base) - x.base) >> indexPage; page < uint64(max(len(x.relative.first), 1)-1) && x.base+page<<indexPage < hi; page++ {
		for _, off := range x.relative.of(page) {
			at := x.base + uint64(off)
			b := x.text.slice(at, at+4)
			if to := at + 4 + uint64(int64(int32(binary.LittleEndian.Uint32(b.Bytes)))); to >= lo && to < hi {
				f(field{at: at, to: to})
			}
		}
		for _, v := range x.absolute.of(page) {
			if to := v >> 32; to >= lo && to < hi {
				f(field{v & 0xffffffff, to, true})
			}
		}
	}
}
