package ebpf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/ring"
)

// edges are numbers at which something changes.
var edges = []uint64{
	0, 1, 2, 7, 31, 32, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff,
	math.MaxInt32, 1 << 31, math.MaxUint32, 1 << 32, math.MaxInt64, 1 << 63,
	^uint64(0), ^uint64(1), uint64(0xffffffff80000000), 0x8000000080000000, 10,
}

// operation makes a program that puts the result of an operation on words 8
// and 16 of its context, or on numbers where a or b is not nil, into a record.
func operation(op ir.Op, w uint8, a, b *uint64) *ir.Program {
	p := &ir.Program{Name: fmt.Sprintf("%v.%d", op, w), Classes: make([]ir.Class, 3)}
	source := func(v ir.Value, off int64, k *uint64) ir.Instr {
		i := ir.Instr{Op: ir.Ctx, W: 8, Dst: v, Imm: off, A: ir.None, B: ir.None, Fault: ir.NoBlock}
		if k != nil {
			i.Op, i.W, i.Imm = ir.Const, 0, int64(*k)
		}
		return i
	}
	in := ir.Instr{Op: op, W: w, A: 0, B: 1, Dst: 2, Fault: ir.NoBlock}
	if op.Info().B == ir.NoOperand {
		in.B = ir.None
	}
	p.Blocks = []*ir.Block{{
		Instrs: []ir.Instr{
			source(0, 8, a), source(1, 16, b), in,
			{Op: ir.Reserve, Imm: 32, A: ir.None, B: ir.None, Dst: ir.None, Fault: ir.NoBlock},
			{Op: ir.Put, W: 8, A: 2, Imm: 24, B: ir.None, Dst: ir.None, Fault: ir.NoBlock},
			{Op: ir.Commit, A: ir.None, B: ir.None, Dst: ir.None, Fault: ir.NoBlock},
		},
		Term: ir.Term{Cond: ir.None},
	}}
	return p
}

// TestOperations holds each operation, with values and with numbers, to
// ir.Compute at the edges, with the instruction set of all kernels and the newest.
func TestOperations(t *testing.T) {
	m := newMachine(t)
	for op := ir.Add; op <= ir.ULe; op++ {
		for _, w := range []uint8{1, 2, 4, 8} {
			if !op.Info().Widths.Has(w) {
				continue
			}
			for _, v4 := range []bool{false, true}[:1+len(m.newest())] {
				m.operations(t, op, w, v4)
			}
		}
	}
}

// newest has an element when this kernel has the newest instructions.
func (m *machine) newest() []bool {
	if m.full.V4 {
		return []bool{true}
	}
	return nil
}

func (m *machine) operations(t *testing.T, op ir.Op, w uint8, v4 bool) {
	l, size := layout()
	cfg := Config{Name: mapName, Layout: l, Slack: testSlack, MapSize: size, Features: Features{FSBase: -1, TaskComm: -1, V4: v4}}
	check := func(a, b *uint64, as, bs []uint64) {
		p := operation(op, w, a, b)
		must(t, ir.Check(p))
		insns, err := Compile(p, cfg)
		must(t, err)
		prog := m.load(insns)
		defer prog.Close()
		for _, x := range as {
			for _, y := range bs {
				want, ok := ir.Compute(op, w, ir.I64, x, y)
				if got := m.result(prog, x, y); !ok || got != want {
					t.Fatalf("%v.%d of %#x and %#x (numbers: %v %v, V4 %v) is %#x, want %#x\n%s", op, w, x, y, a != nil, b != nil, v4, got, want, Listing(insns))
				}
			}
		}
	}
	check(nil, nil, edges, edges)
	if op.Info().B == ir.NoOperand {
		return
	}
	for k := range edges {
		if k%envInt("JALON_EBPF_EVERY", 1) != 0 {
			continue // an emulated machine takes long to load so many programs
		}
		one := edges[k : k+1]
		check(nil, &one[0], edges, one)
		if k%3 == 0 {
			check(&one[0], nil, one, edges)
		}
	}
}

// firstField is where the first event of a ring has its fields.
const firstField = ring.PacketHead + ring.ContextSize + ring.EventHead

// result runs a program with two words and gives the field of its record.
func (m *machine) result(p *ebpf.Program, a, b uint64) uint64 {
	var ctx [24]byte
	binary.LittleEndian.PutUint64(ctx[8:], a)
	binary.LittleEndian.PutUint64(ctx[16:], b)
	l, _ := layout()
	clear(m.mem[l.Rings+ring.RingReserved : l.Rings+ring.RingConsumed+8])
	m.run(p, ctx[:])
	at := l.Rings + ring.RingData + firstField
	if m.mem[at-2]>>5|m.mem[at-1] == 0 { // the event's head has its size
		at += ring.EventHead
	}
	return binary.LittleEndian.Uint64(m.mem[at:])
}

// TestRefusals: unsupported operations are reported in words.
func TestRefusals(t *testing.T) {
	l, size := layout()
	base := Config{Name: mapName, Layout: l, Slack: testSlack, MapSize: size, Context: Args, Features: Features{FSBase: -1, TaskComm: -1}}
	regs := base
	regs.Context = Regs
	record := base
	record.Context = Record
	narrow := base
	narrow.MapSize = 4096
	for _, c := range []struct {
		cfg  Config
		text string
		want string
	}{
		{base, "b0:\nv0:f64 = fconst 0x0\nv1 = ftos v0\nexit", "floating point: the kernel's programs cannot compute with it"},
		{base, "b0:\nv0 = reg rax\nexit", "register rax: there are no registers at this place"},
		{regs, "b0:\nv0 = reg gs_base\nexit", "register gs_base: the kernel's programs cannot read it"},
		{regs, "b0:\nv0 = reg fs_base\nexit", "register fs_base: its place in struct task_struct is not known on this kernel"},
		{record, "b0:\nv0 = ctx.4 4\nexit", "the first 8 bytes of a tracepoint's record cannot be read by a program"},
		{base, "b0:\nreserve 13000\ncommit\nexit", "a record of 13000 bytes takes 13080, more than the buffers allow (12288)"},
		{base, "b0:\nreserve 64\nputreg.8 @24, xmm3\ncommit\nexit", "register xmm3: the kernel's programs cannot read it"},
		{base, "b0:\nreserve 64\nputreg.16 @24, ymm3h\ncommit\nexit", "register ymm3h: the kernel's programs cannot read it"},
		{base, "b0:\nreserve 64\nputreg.4 @24, mxcsr\ncommit\nexit", "register mxcsr: the kernel's programs cannot read it"},
		{base, "b0:\nreserve 560\nputreg @24, x87\ncommit\nexit", "register x87: the kernel's programs cannot read it"},
		{regs, "b0:\nv0 = reg ds\nexit", "register ds: the kernel's programs cannot read it"},
		{narrow, "b0:\nexit", "layout of the map: the counters do not fit 4096 bytes"},
	} {
		p, err := ir.Parse(c.text)
		must(t, err)
		must(t, ir.Check(p))
		if _, err := Compile(p, c.cfg); err == nil || err.Error() != c.want {
			t.Errorf("%s\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// TestNullIsUnreadable: the first page is, for programs of kernel space.
func TestNullIsUnreadable(t *testing.T) {
	m := newMachine(t)
	l, size := layout()
	for _, f := range []Features{m.full, {FSBase: -1, TaskComm: -1}} {
		p, err := ir.Parse("b0:\nv0 = ctx.8 8\nv1 = load.4 v0+16 fault b1\njump b2(v1)\nb1(v2):\nv3 = const 1000\nv4 = add.8 v2, v3\njump b2(v4)\nb2(v5):\nreserve 32\nput.8 @24, v5\ncommit\nexit")
		must(t, err)
		insns, err := Compile(p, Config{Name: mapName, Layout: l, Slack: testSlack, MapSize: size, Features: f})
		must(t, err)
		prog := m.load(insns)
		for _, c := range []struct{ at, want uint64 }{
			{0, 1016},
			{irgen.DefaultBase + 3*irgen.PageSize, irgen.DefaultBase + 3*irgen.PageSize + 1016},
			{^uint64(0), 1015},
		} {
			if got := m.result(prog, c.at, 0); got != c.want {
				t.Errorf("address %#x: %d, want %d", c.at, got, c.want)
			}
		}
		prog.Close()
	}
}

// TestTimeOnce: the time is the same at each use in a program.
func TestTimeOnce(t *testing.T) {
	m := newMachine(t)
	p := m.program(`b0:
	v0 = ctx.8 8
	v1 = ctx.8 16
	brif v0 -> b1() else b2(v1)
	b1:
	v2 = env time
	jump b2(v2)
	b2(v3):
	count 1
	v4 = env time
	v5 = env time
	v6 = sub.8 v4, v3
	v7 = sub.8 v5, v4
	v8 = or.8 v6, v7
	v9 = const 1
	v10 = add.8 v8, v9
	reserve 32
	put.8 @24, v10
	commit
	exit`, m.config())
	defer p.Close()
	for range 100 {
		if d := m.result(p, 1, 0) - 1; d != 0 {
			t.Fatalf("the time went on by %d ns", d)
		}
	}
	if m.result(p, 0, 0) == 1 {
		t.Error("the time is 0")
	}
}

// TestLongCopies: copies over many pages, up to the first that cannot be read.
func TestLongCopies(t *testing.T) {
	m := newMachine(t)
	const room = 40 << 10
	l, _ := layout()
	l.CPUMask, l.RingSize = 0, 64<<10
	size := int(l.Rings) + ring.RingData + int(l.RingSize) + room
	m.buffers, m.mem = mapping(t, size)
	const pages = 6
	mem, err := unix.Mmap(-1, 0, (pages+1)*irgen.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	must(t, err)
	defer unix.Munmap(mem)
	for k := range mem {
		mem[k] = byte('a' + k%23)
	}
	must(t, unix.Mprotect(mem[pages*irgen.PageSize:], unix.PROT_NONE))
	base := uint64(uintptr(unsafe.Pointer(&mem[0])))
	const whole = pages * irgen.PageSize
	for _, c := range []struct {
		op          string
		from, nul   int
		want, flags uint32
	}{
		{"copymax", 0, 0, whole, 0},
		{"copymax", 100, 0, whole - 100, 0},
		{"copymax", whole - 1, 0, 1, 0},
		{"copymax", whole, 0, 0, 0},
		{"copystr.1", 3, 0, whole - 3, ir.FlagUnreadable},
		{"copystr.1", 3, 9000, 8997, 0},
		{"copystr.1", whole - 4096, 0, 4096, ir.FlagUnreadable},
		{"copystr.2", whole - 5001, 0, 5000, ir.FlagUnreadable},
		{"copystr.2", 5, 7000, 6996, 0}, // the zero bytes begin inside a character
		{"copystr.2", 8, 0, 8000, ir.FlagTruncated},
		{"copystr.4", whole - 4094, 0, 4092, ir.FlagUnreadable},
		{"copystr.4", whole - 6000, whole - 2000, 4000, 0},
		{"copystr.4", 1, 0, 4 * maxWideChars, ir.FlagTruncated},
		{"copystr.4", whole - 3, 0, 0, ir.FlagUnreadable},
	} {
		for _, space := range []Space{Kernel, User} {
			cfg := Config{Name: mapName, Layout: l, Slack: room, MapSize: uint64(size), Space: space, Features: m.full}
			if c.nul > 0 {
				clear(mem[c.nul : c.nul+4])
			}
			most := map[string]int{"copystr.2": 8000, "copystr.4": 4 * maxWideChars}[c.op]
			if most == 0 {
				most = 32000
			}
			p := m.program(fmt.Sprintf("b0:\nv0 = ctx.8 8\nreserve 33000\n%s @24, v0, %d\ncommit\nexit", c.op, most), cfg)
			n := m.result(p, base+uint64(c.from), 0)
			got := m.mem[l.Rings+ring.RingData+firstField+ring.EventHead+8:][:uint32(n)]
			if uint32(n) != c.want || uint32(n>>32) != c.flags || !bytes.Equal(got, mem[c.from:c.from+len(got)]) {
				t.Errorf("%s from %d: %d bytes, flags %d; want %d, %d", c.op, c.from, uint32(n), n>>32, c.want, c.flags)
			}
			p.Close()
			if c.nul > 0 {
				copy(mem[c.nul:], "xyzw")
			}
		}
	}
}

// TestBitTests: branches on bits, in all forms and widths.
func TestBitTests(t *testing.T) {
	m := newMachine(t)
	for _, mask := range []int64{64, 1, -1, -2, 1 << 31, 0x7fffffff, 1 << 40, -1 << 31} {
		for _, form := range []string{
			"v2 = and.W v0, v1\nbrif v2 -> T else F", "v2 = and.W v0, v1\nv3 = ne.V v2, v9\nbrif v3 -> T else F",
			"v2 = and.W v1, v0\nv3 = eq.V v2, v9\nbrif v3 -> F else T",
		} {
			for _, w := range []string{"44", "48", "84", "88"} {
				text := strings.NewReplacer("W", w[:1], "V", w[1:], "T", "b1()", "F", "b2()").Replace(form)
				text = fmt.Sprintf("b0:\nv0 = ctx.8 8\nv1 = const %d\nv9 = const 0\n%s\nb1:\nv4 = const 1\njump b3(v4)\nb2:\nv5 = const 2\njump b3(v5)\nb3(v6):\nreserve 32\nput.8 @24, v6\ncommit\nexit", mask, text)
				p, err := ir.Parse(text)
				must(t, err)
				must(t, ir.Check(p))
				prog := m.program(text, m.config())
				for _, x := range edges {
					var s irgen.State
					binary.LittleEndian.PutUint64(s.Context[8:], x)
					s.RecordRoom = true
					want := eval.Run(p, s.Machine()).Record[24]
					if got := m.result(prog, x, 0); got != uint64(want) {
						t.Errorf("%s\nof %#x gives %d, want %d", text, x, got, want)
					}
				}
				prog.Close()
			}
		}
	}
	insns, err := Compile(parsed(t, "b0:\nv0 = ctx.4 8\nv1 = const 64\nv2 = and.4 v0, v1\nv3 = const 0\nv4 = ne.4 v2, v3\nbrif v4 -> b1() else b2()\nb1:\ncount 0\nexit\nb2:\nexit"), m.config())
	must(t, err)
	if s := Listing(insns); !strings.Contains(s, "JSet32Imm") {
		t.Errorf("no test of bits in\n%s", s)
	}
}

func parsed(t *testing.T, text string) *ir.Program {
	t.Helper()
	p, err := ir.Parse(text)
	must(t, err)
	return p
}
