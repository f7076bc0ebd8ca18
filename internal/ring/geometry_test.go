package ring

import (
	"fmt"
	"testing"
)

// TestNoFalseSharing: no line of the file is written by two processors' hits, or by a hit and the reader, but for the
// records themselves. Lines are 64 bytes; two processors' lines are a page apart, so that none is fetched with another.
func TestNoFalseSharing(t *testing.T) {
	const line = 64
	for _, g := range []Geometry{
		{CPUs: 1, RingSize: 4096, Sites: 1},
		{CPUs: 8, RingSize: 8192, Sites: 3},
		{CPUs: 2, RingSize: 4096, Sites: 1, Restartable: true},
		{CPUs: 6, RingSize: 16384, Sites: 10000, Restartable: true},
	} {
		writer := map[uint64]string{} // of each line
		page := map[uint64]string{}   // the processor whose hits write to it
		write := func(who string, off, n uint64) {
			for at := off / line; at <= (off+n-1)/line; at++ {
				if other := writer[at]; other != "" && other != who {
					t.Errorf("%+v: the line at %#x is written by %s and by %s", g, at*line, other, who)
				}
				writer[at] = who
			}
		}
		write("the tracer", ControlDeadman, ControlClock+8)
		write("all", ControlVariables, 8*MaxVariables)
		if g.Restartable {
			write("the tracer", g.registered(), RegisteredSize)
		}
		for r := range g.Rings() {
			hits := fmt.Sprintf("hits of ring %d", r)
			header := g.RingFileOffset(r)
			cells := g.CounterOffset(r, uint32(g.Sites-1), CountersPerSite-1) + 8 - g.CounterOffset(r, 0, 0)
			write(hits, g.CounterOffset(r, 0, 0), cells)
			write(hits, header+RingReserved, RingDropped+8)
			write("the reader", header+RingConsumed, 8)
			write(hits, header+RingData, uint64(g.RingSize))
			for _, off := range []uint64{g.CounterOffset(r, 0, 0), g.CounterOffset(r, 0, 0) + cells - 1, header, header + RingData} {
				if other := page[off/PageSize]; other != "" && other != hits {
					t.Errorf("%+v: the page of %#x has %s and %s", g, off, other, hits)
				}
				page[off/PageSize] = hits
			}
		}
		if last := g.FileSize() - 1; writer[last/line] == "" || writer[last/line+1] != "" {
			t.Errorf("%+v: the file does not end with the last ring", g)
		}
	}
}
