package rsp

import "testing"

func BenchmarkParse(b *testing.B) {
	for _, payload := range []string{"m7ffff7fcc060,40", "vCont;r5555555551ad,5555555551b2:p57c3.57c3;c:p57c3.-1", "qTStatus"} {
		b.Run(payload[:2], func(b *testing.B) {
			for b.Loop() {
				if _, err := Parse([]byte(payload)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	p := MemoryData{Data: make(Bytes, 64)}
	var dst []byte
	for b.Loop() {
		dst = Append(dst[:0], p)
	}
}
