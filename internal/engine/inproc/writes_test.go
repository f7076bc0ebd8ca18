package inproc

import (
	"bytes"
	"errors"
	"math/rand"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// pagedMemory is memory of some pages, of which one cannot be read.
type pagedMemory struct {
	b      []byte
	hole   uint64
	writes int
}

func (m *pagedMemory) in(addr uint64, n int) bool {
	end := addr + uint64(n)
	return end <= uint64(len(m.b)) && (end <= m.hole || addr >= m.hole+pageSize)
}

func (m *pagedMemory) ReadMem(addr uint64, b []byte) error {
	if !m.in(addr, len(b)) {
		return errors.New("unmapped")
	}
	copy(b, m.b[addr:])
	return nil
}

func (m *pagedMemory) WriteMem(addr uint64, b []byte) error {
	if !m.in(addr, len(b)) {
		return errors.New("unmapped")
	}
	copy(m.b[addr:], b)
	m.writes++
	return nil
}

// TestCodePages: changes that are collected by pages have the effect of changes one by one, and what is asked in
// between is the changed memory.
func TestCodePages(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	for range 200 {
		one := &pagedMemory{b: make([]byte, 8*pageSize), hole: pageSize * uint64(r.Intn(8))}
		r.Read(one.b)
		paged := &pagedMemory{b: bytes.Clone(one.b), hole: one.hole}
		code := codePages{st: paged, write: paged.WriteMem}
		for range 300 {
			addr, b := uint64(r.Intn(7*pageSize)), make([]byte, 1+r.Intn(14))
			if r.Intn(3) == 0 {
				addr = addr&^(pageSize-1) + pageSize - uint64(r.Intn(14)) // over the end of a page
			}
			want := make([]byte, len(b))
			mapped := one.ReadMem(addr, want) == nil
			if code.has(addr, want) != mapped {
				t.Fatalf("has(%#x) is not %v", addr, mapped)
			}
			want[0]++
			if code.has(addr, want) {
				t.Fatalf("other bytes at %#x are there", addr)
			}
			r.Read(b)
			if e, f := one.WriteMem(addr, b), code.change(addr, b); (e == nil) != (f == nil) {
				t.Fatalf("change(%#x): %v instead of %v", addr, f, e)
			}
		}
		if err := code.flush(); err != nil || !bytes.Equal(one.b, paged.b) {
			t.Fatalf("the memory differs: %v", err)
		}
	}
	m := &pagedMemory{b: make([]byte, 4*pageSize), hole: 3 * pageSize}
	code := codePages{st: m, write: m.WriteMem}
	for at := uint64(0); at < 2*pageSize; at += 16 {
		if err := code.change(at, []byte{1, 2, 3, 4, 5}); err != nil {
			t.Fatal(err)
		}
	}
	if err := code.flush(); err != nil || m.writes != 2 {
		t.Errorf("%d writes of two pages: %v", m.writes, err)
	}
}

// TestWriteJoined: pieces of code that are written together are what they are one by one.
func TestWriteJoined(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	for range 200 {
		one, all := make([]byte, 1<<16), make([]byte, 1<<16)
		var list []piece
		for at := r.Intn(100); at < 1<<15; at += r.Intn(200) {
			b := make([]byte, 1+r.Intn(300))
			r.Read(b)
			list = append(list, piece{uint64(at), b})
			at += copy(one[at:], b)
		}
		n := len(list)
		r.Shuffle(n, func(i, k int) { list[i], list[k] = list[k], list[i] })
		writes := 0
		err := writeJoined(list, func(at uint64, code []byte) error {
			copy(all[at:], code)
			writes++
			return nil
		})
		if err != nil || !bytes.Equal(one, all) || writes >= n {
			t.Fatalf("%d pieces in %d writes: %v", n, writes, err)
		}
	}
}
