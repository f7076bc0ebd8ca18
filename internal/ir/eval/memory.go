package eval

import (
	"bytes"
	"slices"

	"github.com/jalon-trace/jalon/internal/ir"
)

// address is the first byte that i accesses. In a record operation Imm is the
// offset in the record, in KeyText a word of the key.
func (r *run) address(i *ir.Instr) uint64 {
	if i.Op.Info().Record || i.Op == ir.KeyText {
		return r.values[i.A]
	}
	return r.values[i.A] + uint64(i.Imm)
}

// read returns the readable bytes from addr on, at most n. Memory ends at the
// last address: an access does not go on at 0. They are valid until the next read.
func (r *run) read(addr uint64, n int64) []byte {
	if left := -addr; left != 0 && uint64(n) > left {
		n = int64(left)
	}
	r.buf = slices.Grow(r.buf[:0], int(n))
	buf := r.buf[:n]
	clear(buf)
	if r.m.Mem == nil || n == 0 {
		return buf[:0]
	}
	return buf[:r.m.Mem.Read(addr, buf)]
}

// little reads a little-endian number.
func little(b []byte) (v uint64) {
	for i, x := range b {
		v |= uint64(x) << (8 * i)
	}
	return v
}

func (r *run) load(i *ir.Instr) flow {
	b := r.read(r.address(i), int64(i.W))
	if len(b) < int(i.W) {
		return fault
	}
	return r.set(i, extend(little(b), i))
}

// extend makes 64 bits of a word of i's width.
func extend(v uint64, i *ir.Instr) uint64 {
	if !i.Signed {
		return v
	}
	shift := 64 - 8*uint(i.W)
	return uint64(int64(v<<shift) >> shift)
}

func (r *run) fload(i *ir.Instr) flow {
	n := r.p.Classes[i.Dst].Bytes()
	b := r.read(r.address(i), n)
	if int64(len(b)) < n {
		return fault
	}
	return r.set(i, little(b))
}

// streq compares up to and including the NUL. It faults only when all bytes
// before the first unreadable one are equal and more are needed.
func (r *run) streq(i *ir.Instr) flow {
	want := append([]byte(i.Data), 0)
	got := r.read(r.address(i), int64(len(want)))
	if !bytes.Equal(got, want[:len(got)]) {
		return r.set(i, 0)
	}
	if len(got) < len(want) {
		return fault
	}
	return r.set(i, 1)
}
