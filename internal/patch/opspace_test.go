package patch

import (
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// slot is the distance of two generated instructions: objdump finds its way
// back to a boundary in the nops between.
const slot = 32

// randomEncodings gives n instructions: prefixes, every opcode map, any ModRM.
func randomEncodings(rng *rand.Rand, n int) []byte {
	out := make([]byte, 0, n*slot)
	for range n {
		var b []byte
		switch rng.Intn(8) {
		case 0, 1: // legacy, with prefixes
			for rng.Intn(3) == 0 {
				b = append(b, []byte{0x66, 0x67, 0xf2, 0xf3, 0x64, 0x2e, 0x3e, 0xf0}[rng.Intn(8)])
			}
			if rng.Intn(3) == 0 {
				b = append(b, 0x40|byte(rng.Intn(16)))
			}
			b = append(b, [][]byte{nil, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}}[rng.Intn(4)]...)
		case 2:
			b = append(b, 0xc5, byte(rng.Intn(256)))
		case 3, 4:
			b = append(b, 0xc4, byte(rng.Intn(256))&0xe0|byte(1+rng.Intn(3)), byte(rng.Intn(256)))
		case 5, 6:
			b = append(b, 0x62, byte(rng.Intn(256))&0xf0|[]byte{1, 2, 3, 5, 6}[rng.Intn(5)], byte(rng.Intn(256))|4, byte(rng.Intn(256)))
		case 7:
			b = append(b, 0x8f, byte(rng.Intn(256))&0xe0|byte(8+rng.Intn(3)), byte(rng.Intn(256)))
		}
		for len(b) < 16 {
			b = append(b, byte(rng.Intn(256)))
		}
		for len(b) < slot {
			b = append(b, 0x90)
		}
		out = append(out, b...)
	}
	return out
}

// TestOpcodeSpace compares random encodings of every opcode map with objdump.
// A length must never differ. Refusals are free, but an instruction that
// objdump calls bad should be refused, with exceptions that fault anyway.
func TestOpcodeSpace(t *testing.T) {
	n := 60000
	code := randomEncodings(rand.New(rand.NewSource(testkit.Seed(t, 7))), n)
	path := filepath.Join(t.TempDir(), "code.bin")
	if err := os.WriteFile(path, code, 0o600); err != nil {
		t.Fatal(err)
	}
	both, lax, strict := 0, map[string]int{}, map[string]int{}
	objdumpRaw(t, path, func(l line) {
		if l.addr%slot != 0 || barePrefix.MatchString(l.text) {
			return
		}
		in, err := Decode(code[l.addr:], l.addr)
		bad := l.odd()
		switch {
		case err == nil && bad:
			lax[encodingName(&in)]++
		case err != nil && !bad:
			strict[strings.Fields(l.text)[0]+" "+err.(*DecodeError).Why]++
		case err == nil && in.Len != len(l.code):
			t.Errorf("% x %s: length %d", l.code, l.text, in.Len)
		case err == nil:
			both++
		}
	})
	t.Logf("%d encodings, %d decoded by both", n, both)
	logCounts(t, "objdump: bad, we decode", lax)
	logCounts(t, "objdump decodes, we refuse", strict)
}
