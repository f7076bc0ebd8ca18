package elf

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// TestGoTableIn: a table is found by its head, at a place that it may have and with a number of functions that it can have.
func TestGoTableIn(t *testing.T) {
	table := func(functions uint64) []byte {
		b := append(append([]byte{0xf1}, goHead...), 1, 8)
		b = binary.LittleEndian.AppendUint64(b, functions)
		return append(b, make([]byte, 64)...)
	}
	pad := bytes.Repeat([]byte{0xff}, 16)
	for _, c := range []struct {
		data []byte
		want int
	}{
		{nil, -1},
		{[]byte(goHead), -1},
		{table(3), 0},
		{append(pad[:16:16], table(3)...), 16},
		{append(pad[:3:3], table(3)...), -1},
		{append(table(0), table(2)...), len(table(0))},
		{append(table(1<<40), table(2)...), len(table(0))},
		{table(3)[:30], -1},
	} {
		if got := goTableIn(c.data); got != c.want {
			t.Errorf("%x: %d, want %d", c.data, got, c.want)
		}
	}
}

// TestGoFuncs: a table of two functions is read; damaged ones have no function outside of the table, whatever their bytes are.
func TestGoFuncs(t *testing.T) {
	const names, funcs = 72, 96
	b := make([]byte, 160)
	le := binary.LittleEndian
	copy(b, "\xf1"+goHead+"\x01\x08")
	le.PutUint64(b[8:], 2)
	le.PutUint64(b[8+8*3:], names)
	le.PutUint64(b[8+8*7:], funcs)
	copy(b[names:], "\x00main.f\x00main.g\x00")
	for i, w := range []uint32{0x10, 24, 0x30, 40, 0x50, 0, 0x10, 1, 0, 0, 0x30, 8} {
		le.PutUint32(b[funcs+4*i:], w)
	}
	g, ok := openGoFuncs(b, 0x400000)
	if !ok || g.n != 2 {
		t.Fatalf("%v, %d functions", ok, g.n)
	}
	for i, want := range [][3]uint64{{0x400010, 0x400030, 1}, {0x400030, 0x400050, 8}} {
		if lo, hi, name, ok := g.function(i); !ok || [3]uint64{lo, hi, uint64(name)} != want {
			t.Errorf("%d: %#x to %#x, name at %d, %v", i, lo, hi, name, ok)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		d := bytes.Clone(b[:rnd.IntN(len(b)+1)])
		for range 1 + rnd.IntN(4) {
			if len(d) > 8 {
				d[8+rnd.IntN(len(d)-8)] = byte(rnd.Uint32())
			}
		}
		g, ok := openGoFuncs(d, 0)
		for i := 0; ok && i < g.n; i++ {
			if _, _, name, ok := g.function(i); ok && int(name) >= len(g.names) {
				t.Fatalf("%x: a name at %d of %d", d, name, len(g.names))
			}
		}
	}
}
