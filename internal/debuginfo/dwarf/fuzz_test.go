package dwarf

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/line"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/loc"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/raw"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/test/testkit"
)

// exercise calls everything on a module; nothing may panic, even caught, or take
// long.
func exercise(t testing.TB, image []byte) {
	t.Helper()
	f, err := elf.New("image", image)
	if err != nil {
		return
	}
	m, err := newModule("image", f, Options{DebugDirs: []string{}})
	if err != nil {
		t.Fatalf("newModule: %v", err)
	}
	defer m.Close()
	m.TLS()
	m.Sections()
	m.RseqRanges()
	m.MadeAborts()
	m.Files("*")
	m.Functions("*")
	var at []uint64
	for _, n := range []string{"work", "half", "_start", "none"} {
		s, _ := m.FuncSites(n)
		for _, x := range s {
			at = append(at, x.Addr)
		}
	}
	for _, l := range []int{1, 9, 11, 12, 20, 99} {
		s, _ := m.LineSites("small.c", l)
		for _, x := range s {
			at = append(at, x.Addr)
		}
	}
	for i, pc := range at {
		if i > 12 {
			break
		}
		exerciseAt(m, pc)
	}
	if m.Faults() > 0 {
		t.Fatalf("%d panics were only caught at the border", m.Faults())
	}
}

func exerciseAt(m *Module, pc uint64) {
	m.Symbolize(pc)
	m.Unwind(pc)
	if f, ok := m.FunctionAt(pc); ok {
		m.LandingPads(f)
	}
	s, err := m.ScopeAt(pc)
	if err != nil {
		return
	}
	for _, v := range append(s.Args(), s.Locals()...) {
		walkType(v.Type, 3)
	}
	for _, n := range []string{"counter", "later", "calls", "half", "zzz", "p"} {
		if v, err := s.Lookup(n); err == nil {
			walkType(v.Type, 3)
		}
		s.LookupIn("small.c", n)
		s.LookupIn("work", n)
	}
	for _, k := range []ctype.Kind{ctype.Struct, ctype.Union, ctype.Enum, ctype.Typedef} {
		for _, n := range []string{"s", "e", "s_t", "int", "opaque"} {
			if ty, err := s.Type(k, n); err == nil {
				walkType(ty, 3)
			}
		}
	}
	s.Enumerator("B")
}

func walkType(t *ctype.Type, depth int) {
	if t == nil || depth == 0 {
		return
	}
	t.Strip()
	for _, f := range t.Fields() {
		walkType(f.Type, depth-1)
	}
	t.Enumerators()
	walkType(t.Elem, depth-1)
	for _, p := range t.Params {
		walkType(p, depth-1)
	}
}

func smallImages(t testing.TB) (out [][]byte) {
	for _, v := range []variant{
		{"gcc", "-O2 -gdwarf-5 -nostdlib -static"},
		{"gcc", "-O1 -gdwarf-4 -nostdlib -static"},
		{"clang", "-O2 -gdwarf-5 -nostdlib -static"},
		{"gcc", "-O2 -gdwarf-4 -nostdlib -static -fdebug-types-section"},
	} {
		b, err := os.ReadFile(build(t, v, "small.c"))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// mutate overwrites bytes of a copy of base: groups of offset (4), width (1), value (8).
func mutate(base, edits []byte) []byte {
	b := append([]byte(nil), base...)
	for ; len(edits) >= 13; edits = edits[13:] {
		off := int(binary.LittleEndian.Uint32(edits)) % len(b)
		n := min(1<<(edits[4]&3), len(b)-off)
		copy(b[off:off+n], edits[5:13])
	}
	return b
}

// TestMutatedFiles damages small programs at random.
func TestMutatedFiles(t *testing.T) {
	seed := uint64(testkit.Seed(t, 1))
	rnd := rand.New(rand.NewPCG(seed, 2))
	for _, base := range smallImages(t) {
		exercise(t, base)
		for range 400 {
			edits := make([]byte, 13*(1+rnd.IntN(6)))
			for i := range edits {
				edits[i] = byte(rnd.Uint32())
				if i%13 > 5 && rnd.IntN(2) == 0 {
					edits[i] = [...]byte{0, 0xff, 1, 0x80}[rnd.IntN(4)]
				}
			}
			start := processorTime()
			exercise(t, mutate(base, edits))
			if d := processorTime() - start; d > 10*time.Second {
				t.Fatalf("%v for edits %x", d, edits)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	images := smallImages(f)
	f.Add(uint8(0), []byte{0, 16, 0, 0, 1, 255, 255, 255, 255, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, which uint8, edits []byte) {
		exercise(t, mutate(images[int(which)%len(images)], edits))
	})
}

func FuzzTruncated(f *testing.F) {
	images := smallImages(f)
	f.Add(uint8(0), uint32(1000))
	f.Fuzz(func(t *testing.T, which uint8, n uint32) {
		b := images[int(which)%len(images)]
		exercise(t, b[:int(n)%len(b)])
	})
}

func FuzzLocation(f *testing.F) {
	f.Add([]byte{0x91, 0x6c}, true)
	f.Add([]byte{0x75, 0, 0x08, 0xff, 0x1a, 0x9f}, false)
	f.Add([]byte{0x50, 0x93, 4, 0x93, 4}, false)
	f.Add([]byte{0x31, 0x28, 1, 0, 0x30, 0x12, 0x9f}, false)
	f.Add([]byte{0xa3, 1, 0x55, 0x9f}, true)
	f.Fuzz(func(t *testing.T, b []byte, entry bool) {
		env := &loc.Env{
			AddrSize: 8, CFA: []debuginfo.Op{{Code: debuginfo.OpReg, Arg: 7}}, AtEntry: entry,
			FrameBase: func() ([]debuginfo.Op, string) { return []debuginfo.Op{{Code: debuginfo.OpReg, Arg: 6}}, "" },
		}
		pieces, why := env.Translate(b)
		if (why == "") != (len(pieces) > 0) {
			t.Fatalf("%d pieces and reason %q", len(pieces), why)
		}
		for _, p := range pieces {
			if err := checkStack(p.Expr); p.Expr != nil && err != "" {
				t.Fatalf("%s in %+v", err, p.Expr)
			}
		}
		env.Word(b, env.CFA)
	})
}

// effects are the words each operation pops and pushes.
var effects = map[debuginfo.OpCode][2]int{
	debuginfo.OpConst: {0, 1}, debuginfo.OpAddr: {0, 1}, debuginfo.OpReg: {0, 1}, debuginfo.OpTLS: {1, 1},
	debuginfo.OpDeref: {1, 1}, debuginfo.OpDup: {1, 2}, debuginfo.OpDrop: {1, 0}, debuginfo.OpSwap: {2, 2},
	debuginfo.OpRot: {3, 3}, debuginfo.OpAbs: {1, 1}, debuginfo.OpNeg: {1, 1}, debuginfo.OpNot: {1, 1},
	debuginfo.OpAddConst: {1, 1}, debuginfo.OpConvert: {1, 1}, debuginfo.OpBra: {1, 0}, debuginfo.OpSkip: {0, 0},
}

// checkStack verifies that an expression never underflows, that branches are
// forward and agree on the depth, and that something is left.
func checkStack(expr []debuginfo.Op) string {
	depth := make([]int, len(expr)+1)
	for i := range depth {
		depth[i] = -1
	}
	join := func(at, d int) string {
		if at > len(expr) || depth[at] >= 0 && depth[at] != d {
			return "bad branch"
		}
		depth[at] = d
		return ""
	}
	if len(expr) > 0 {
		depth[0] = 0
	}
	for i, o := range expr {
		if depth[i] < 0 {
			continue // unreachable
		}
		e, ok := effects[o.Code]
		switch {
		case o.Code == debuginfo.OpPick:
			e = [2]int{int(o.Arg) + 1, int(o.Arg) + 2}
		case !ok:
			e = [2]int{2, 1}
		}
		d := depth[i] - e[0]
		if d < 0 {
			return "underflow"
		}
		d += e[1]
		if o.Code == debuginfo.OpBra || o.Code == debuginfo.OpSkip {
			if int(o.Arg) <= i {
				return "backward branch"
			}
			if s := join(int(o.Arg), d); s != "" {
				return s
			}
		}
		if o.Code != debuginfo.OpSkip {
			if s := join(i+1, d); s != "" {
				return s
			}
		}
	}
	if depth[len(expr)] < 1 {
		return "nothing left"
	}
	return ""
}

func FuzzLists(f *testing.F) {
	f.Add([]byte{4, 0, 8, 1, 0x50, 0}, uint8(5), false)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0x50}, uint8(4), false)
	f.Add([]byte{3, 0, 8, 0, 0, 0, 1, 0, 0x50, 0}, uint8(4), true)
	f.Fuzz(func(t *testing.T, b []byte, version uint8, dwo bool) {
		d := newData(assemble("x", nil, Options{}).info, "x", func(section) ([]byte, error) { return b, nil })
		d.dwo = dwo
		u := newUnit(&unit{d: d, f: raw.Format{Version: uint16(version), AddrSize: 8}})
		for _, form := range []uint16{raw.FormSecOffset, raw.FormLoclistx} {
			u.locList(val{raw.Value{Form: form, N: uint64(version) % 7}, u})
		}
		u.rangeList(val{raw.Value{Form: raw.FormSecOffset}, u}, tagLexicalBlock)
		h, err := line.ParseHeader(u.lineSource(0))
		if err == nil {
			line.New(h, line.Options{})
		}
	})
}
