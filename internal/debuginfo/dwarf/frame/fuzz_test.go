package frame

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// FuzzTable reads arbitrary bytes as all sections and asks for rules everywhere.
func FuzzTable(f *testing.F) {
	e, err := elf.Open("/bin/true")
	if err != nil {
		f.Fatal(err)
	}
	defer e.Close()
	eh, err := e.Bytes(".eh_frame")
	if err != nil || len(eh) == 0 {
		f.Fatalf("/bin/true has no .eh_frame: %v", err)
	}
	_, header := e.EhFrameHdr()
	f.Add(eh, header, uint64(0x401000))
	f.Add([]byte{}, header, uint64(0))
	f.Fuzz(func(t *testing.T, b, header []byte, pc uint64) {
		read := func(vaddr uint64, n int) []byte { return b[:min(n, len(b))] }
		for _, s := range []Sources{
			{EHFrame: b, EHFrameVaddr: 0x402000, Read: read},
			{EHFrame: b, EHFrameVaddr: 0x402000, Header: header, HeaderVaddr: 0x400000, Read: read},
			{DebugFrame: b, Read: read},
		} {
			c := New(s)
			c.Find(pc)
			c.Gap(pc)
			n := 0
			c.All(func(d *Entry) {
				if n++; n > 20 {
					return
				}
				for _, at := range []uint64{d.Lo, d.Lo + 1, d.Hi - 1, pc} {
					_, _ = d.Rule(at)
				}
				if d.HasLSDA {
					_, _ = d.LandingPads(read)
				}
			})
		}
	})
}
