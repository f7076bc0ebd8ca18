package bpf

import "testing"

// FuzzCodeRecords: no record makes the decoder fail.
func FuzzCodeRecords(f *testing.F) {
	f.Add(make([]byte, 96))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 8 {
			return
		}
		b[1], b[2], b[3] = 0, 0, 0
		c := &CodeEvents{}
		for _, kind := range []byte{perfLost, perfComm, perfFork, perfMmap2, b[0]} {
			b[0] = kind
			c.decode(b)
		}
	})
}
