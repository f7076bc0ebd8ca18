package patch

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestFields: the search for one function, the index, and a look at every byte
// find the same fields.
func TestFields(t *testing.T) {
	seed := testkit.Seed(t, 1)
	rnd := rand.New(rand.NewSource(seed))
	for round := range 40 {
		text := &Text{Absolute: round%2 == 1}
		at := uint64(0x400000)
		for range 1 + rnd.Intn(3) {
			b := make([]byte, 1+rnd.Intn(20000))
			rnd.Read(b)
			for i := 0; i+10 < len(b); i += 1 + rnd.Intn(40) {
				op := [][]byte{{0xe8}, {0xe9}, {0x0f, 0x84}, {0xc7, 0xf8}, {0x48, 0x8d, 0x15}, {0xb8}}[rnd.Intn(6)]
				copy(b[i:], op)
				v := uint32(rnd.Intn(60000) - 30000)
				if op[0] == 0xb8 {
					v = 0x400000 + uint32(rnd.Intn(60000))
				}
				binary.LittleEndian.PutUint32(b[i+len(op):], v)
			}
			text.Code = append(text.Code, Region{at, b})
			at += uint64(len(b) + 1 + rnd.Intn(5000))
		}
		index := newFieldIndex(text)
		for range 20 {
			lo := 0x400000 + uint64(rnd.Intn(60000))
			hi := lo + uint64(rnd.Intn(9000))
			var want, indexed []field
			for _, r := range text.Code {
				for i := 0; i+4 <= len(r.Bytes); i++ {
					if f, ok := fieldAt(r, i); ok && f.to >= lo && f.to < hi {
						want = append(want, f)
					}
					if v := uint64(binary.LittleEndian.Uint32(r.Bytes[i:])); text.Absolute && v >= lo && v < hi {
						want = append(want, field{r.Addr + uint64(i), v, true})
					}
				}
			}
			// The index need not have targets outside the code.
			want = slices.DeleteFunc(want, func(f field) bool { return f.to >= text.Code[len(text.Code)-1].end() })
			index.each(lo, hi, func(f field) { indexed = append(indexed, f) })
			searched := slices.DeleteFunc(text.search(lo, hi), func(f field) bool { return f.to >= text.Code[len(text.Code)-1].end() })
			for what, got := range map[string][]field{"search": searched, "index": indexed} {
				if a, b := ordered(got), ordered(want); fmt.Sprint(a) != fmt.Sprint(b) {
					t.Fatalf("seed %d, round %d: %s of [%#x,%#x):\n%v\nwant\n%v", seed, round, what, lo, hi, a, b)
				}
			}
		}
	}
}

func ordered(l []field) []field {
	l = slices.Clone(l)
	slices.SortFunc(l, func(a, b field) int {
		if a.at != b.at {
			return int(int64(a.at - b.at))
		}
		return int(int64(a.to - b.to))
	})
	return l
}

// TestCancelled: a search that is cancelled proves nothing.
func TestCancelled(t *testing.T) {
	looks := 0
	text := &Text{Code: []Region{{0x400000, make([]byte, 3<<20)}}, Cancelled: func() bool { looks++; return looks > 2 }}
	if newFieldIndex(text) != nil || looks != 3 {
		t.Errorf("the index was made, %d looks", looks)
	}
	text.asked = 1000 // from now on with the index
	if _, arrives := text.arrives(&Code{Lo: 0x400100, Hi: 0x400200}, 0x400110, 0x400118); !arrives {
		t.Error("nothing was searched, and nothing found")
	}
}

// TestStruckOut: what reads as a branch and lies inside an instruction of a
// neighbour counts only when that neighbour cannot be decoded without doubt.
func TestStruckOut(t *testing.T) {
	target := unhex(t, "55 48 89 e5 5d c3")
	for _, test := range []struct {
		name, before string
		known, jump  bool
	}{
		{"inside a mov", "b8 eb 05 90 90 c3", true, true}, // eb 05 = jmp to base+1, in an immediate
		{"no function is known there", "b8 eb 05 90 90 c3", false, false},
		{"it is a branch", "90 eb 04 90 90 c3", true, false},
		{"the neighbour cannot be decoded", "b8 eb 05 90 90 06", true, false},
		{"the neighbour branches into itself", "b8 eb 05 90 90 eb fb", true, false},
		{"padding", "66 90 66 90 66 90", false, true},
	} {
		before := unhex(t, test.before)
		lo := base - uint64(len(before))
		text := &Text{Code: []Region{{lo, append(slices.Clone(before), target...)}}}
		text.Function = func(addr uint64) (uint64, uint64, bool) {
			if addr >= base {
				return base, base + uint64(len(target)), true
			}
			return lo, base, test.known
		}
		c := &Code{Lo: base, Hi: base + uint64(len(target)), Bytes: target, Text: func() (*Text, error) { return text, nil }}
		p, err := Make(c, base, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Tactic == JumpMany; got != test.jump {
			t.Errorf("%s: %v, refused %v", test.name, p.Tactic, p.Refused)
		}
	}
}
