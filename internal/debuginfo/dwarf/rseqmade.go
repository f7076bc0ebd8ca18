package dwarf

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// An Abort is the abort handler of a restartable sequence whose descriptor is made at run time: its start and its end
// are not known.
type Abort struct {
	At uint64
	// Near are the addresses of code that instructions or data name near the places that name At. Where a descriptor
	// is made, one of these is the start of the sequence.
	Near []uint64
}

// MadeAborts lists the abort handlers that belong to no sequence of RseqRanges. They are found by the signature before
// them, anywhere in executable sections: the linker puts sections of handlers (.text.unlikely) into .text.
func (sq *sequences) MadeAborts() (out []Abort, err error) {
	defer sq.guard(&err)()
	t := sq.table()
	if t.err != nil || t.searched {
		return t.made, t.err
	}
	t.searched = true
	found := map[uint64]*Abort{}
	sq.eachText(func(lo uint64, b []byte) {
		for off := 0; ; {
			i := bytes.Index(b[off:], rseqSignature)
			if i < 0 {
				return
			}
			off += i + len(rseqSignature)
			// A function that registers with the kernel has it in a mov to a register.
			before := off - len(rseqSignature) - 1
			if at := lo + uint64(off); !t.aborts[at] && (before < 0 || b[before]&0xf8 != 0xb8) {
				found[at] = &Abort{At: at}
			}
		}
	})
	if len(found) == 0 {
		return nil, nil
	}
	sq.nameText(found)
	if err := sq.nameData(found); err != nil {
		return nil, err
	}
	for _, a := range found {
		slices.Sort(a.Near)
		a.Near = slices.Compact(a.Near)
		t.made = append(t.made, *a)
	}
	slices.SortFunc(t.made, func(a, b Abort) int { return int(int64(a.At - b.At)) })
	return t.made, nil
}

const (
	nearText = 128  // bytes of code in which the words of a descriptor are computed, before and after
	nearData = 64   // bytes of data in which they are stored
	maxNear  = 4096 // addresses, of a hostile file
)

// nameText looks for instructions that name the handlers, by a 32-bit displacement or a 32-bit address, at every byte, and
// takes what else is named near them.
func (sq *sequences) nameText(found map[uint64]*Abort) {
	lowest, highest := ^uint64(0), uint64(0)
	for at := range found {
		lowest, highest = min(lowest, at), max(highest, at)
	}
	span := highest - lowest
	sq.eachText(func(lo uint64, b []byte) {
		for off := 0; off+4 <= len(b); off++ {
			word := binary.LittleEndian.Uint32(b[off:])
			relative := lo + uint64(off) + 4 + uint64(int64(int32(word)))
			if relative-lowest > span && uint64(word)-lowest > span {
				continue
			}
			for _, to := range []uint64{relative, uint64(word)} {
				a := found[to]
				if a == nil || len(a.Near) >= maxNear {
					continue
				}
				for o := max(off-nearText, 0); o+4 <= len(b) && o < off+nearText; o++ {
					v := binary.LittleEndian.Uint32(b[o:])
					a.take(sq, lo+uint64(o)+4+uint64(int64(int32(v))))
					a.take(sq, uint64(v))
				}
			}
		}
	})
}

// nameData looks for pointers to the handlers in data, and takes the pointers near them.
func (sq *sequences) nameData(found map[uint64]*Abort) error {
	word := func(at uint64) uint64 {
		b, err := sq.file.ReadLoaded(at, 8, 0)
		if err != nil || len(b) < 8 {
			return 0
		}
		return binary.LittleEndian.Uint64(b)
	}
	return sq.file.EachPointer(func(at uint64) {
		a := found[word(at)]
		if a == nil || len(a.Near) >= maxNear {
			return
		}
		for near := max(at, nearData) - nearData; near <= at+nearData; near += 8 {
			a.take(sq, word(near))
		}
	})
}

func (a *Abort) take(sq *sequences, to uint64) {
	if to != a.At && sq.file.IsCode(to) {
		a.Near = append(a.Near, to)
	}
}

// eachText passes the executable sections.
func (sq *sequences) eachText(do func(lo uint64, b []byte)) {
	for _, s := range sq.file.Sections() {
		if s.Exec && s.Alloc && !s.NoBits {
			do(s.Vaddr, sq.file.ReadVaddr(s.Vaddr, int(min(s.Size, 1<<30))))
		}
	}
}
