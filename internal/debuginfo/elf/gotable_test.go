package elf

import (
	"bytes"
	"encoding/binary"
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
