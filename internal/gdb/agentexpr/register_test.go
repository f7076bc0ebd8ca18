package agentexpr_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/x86"
)

// TestRegisters: numbers, names and sizes are those of the description that GDB gets.
func TestRegisters(t *testing.T) {
	target := rsp.TargetX86Linux(rsp.CPU{AVX: true})
	if len(target.Registers) != len(agentexpr.Registers) {
		t.Fatalf("%d registers, %d in the description", len(agentexpr.Registers), len(target.Registers))
	}
	for n, r := range target.Registers {
		if x := agentexpr.Registers[n]; x.Name != r.Name || 8*x.Size != r.Bits {
			t.Errorf("register %d: %s of %d bytes, in the description %s of %d", n, x.Name, x.Size, r.Name, r.Bits/8)
		}
	}
}

// collect lowers and runs an R action for each list.
func collect(t *testing.T, m *eval.Machine, opt agentexpr.Options, lists ...[]int) (*ir.Program, *agentexpr.Layout, []byte) {
	t.Helper()
	s := &agentexpr.Site{}
	for _, l := range lists {
		s.Actions = append(s.Actions, agentexpr.Action{Kind: agentexpr.CollectRegs, Regs: l})
	}
	p, lay, err := agentexpr.Lower(s, &opt)
	check(t, err)
	check(t, ir.Optimize(p))
	m.RecordRoom = true
	return p, lay, eval.Run(p, m).Record
}

func all() (list []int) {
	for n := range agentexpr.Registers {
		list = append(list, n)
	}
	return list
}

// TestAllRegisters: the x87 state is stored once, before the registers in the rest of its slot, and later slots
// do not overlap it.
func TestAllRegisters(t *testing.T) {
	w := &x86.State{}
	m := &eval.Machine{Wide: w}
	for i := range w.X87 {
		w.X87[i] = byte(i)
	}
	p, lay, rec := collect(t, m, agentexpr.Options{GSBase: true, AVX: true}, append(all(), 99, 113), []int{24}, []int{0, 40})
	if !slices.Equal(lay.Missing, []int{99, 113}) || strings.Count(p.String(), ", x87\n") != 1 {
		t.Errorf("missing %v\n%s", lay.Missing, p)
	}
	// 19 words and 6 halves of words (cs, ss and orig_rax are known), xmm and ymm, the x87
	// state; and xmm0 once more.
	if want := 24 + (16+1+2)*8 + (1+4+1)*4 + 33*16 + amd64.X87Bytes; lay.RecordSize != want || len(rec) != want {
		t.Errorf("a record of %d bytes, want %d", lay.RecordSize, want)
	}
	if f := lay.Frame(rec); len(f.Regs) != len(agentexpr.Registers)+3 || f.Regs[76].Num != 24 || string(f.Regs[76].Data) != string(w.X87[32:42]) {
		t.Errorf("%+v", f.Regs)
	}
	// Alone, the slot is left as large as the store needs it.
	_, lay, rec = collect(t, m, agentexpr.Options{}, []int{24}, []int{0})
	if want := 24 + amd64.X87Slot + 8; lay.RecordSize != want || len(rec) != want {
		t.Errorf("a record of %d bytes, want %d", lay.RecordSize, want)
	}
}

// TestInUse: what is not in use is in no record, and shown as it is initially.
func TestInUse(t *testing.T) {
	state := &x86.State{}
	full := &eval.Machine{RecordRoom: true, Wide: state}
	for i := range state.X87 {
		state.X87[i] = byte(i)
	}
	for n := range state.YMMH {
		state.XMM[n][1], state.YMMH[n][2] = byte(n+1), byte(n+100)
	}
	list, opt := all(), agentexpr.Options{GSBase: true, AVX: true}
	_, plain, _ := collect(t, full, opt, list, []int{24, 61})
	opt.InUse = true
	p, lay, _ := collect(t, full, opt, list, []int{24, 61})
	for inUse := uint64(0); inUse < 8; inUse++ {
		m, w := *full, *state
		m.Regs[amd64.InUse], m.Wide = inUse&(amd64.InUseX87|amd64.InUseAVX), &w
		w.Initial(inUse)
		size := lay.RecordSize
		if m.Regs[amd64.InUse] == 0 {
			size = lay.ShortSize
		}
		rec := eval.Run(p, &m).Record
		q, _, want := collect(t, &m, agentexpr.Options{GSBase: true, AVX: true}, list, []int{24, 61})
		if len(rec) != size {
			t.Errorf("in use %d: a record of %d bytes, want %d\n%s", inUse, len(rec), size, p)
		}
		if got, want := fmt.Sprint(lay.Frame(rec)), fmt.Sprint(plain.Frame(want)); got != want {
			t.Errorf("in use %d:\n got %s\nwant %s\n%s", inUse, got, want, q)
		}
	}
	if lay.ShortSize != 24+(16+1+2)*8+(1+4+1)*4+16*16+8 { // to a multiple of 16
		t.Errorf("a record of %d bytes", lay.ShortSize)
	}
	if lay.Frame(make([]byte, lay.ShortSize-1)) != nil {
		t.Error("a record that is too short was taken")
	}
	// Without registers of the x87 all records are alike.
	if _, lay, _ = collect(t, full, opt, []int{0, 60}); lay.ShortSize != 0 {
		t.Errorf("records of %d and %d bytes", lay.ShortSize, lay.RecordSize)
	}
}

// TestMissing: what a processor or the kernel engine has not.
func TestMissing(t *testing.T) {
	_, lay, _ := collect(t, &eval.Machine{}, agentexpr.Options{GSBase: true}, all())
	if !slices.Equal(lay.Missing, all()[60:]) {
		t.Errorf("without AVX %v", lay.Missing)
	}
	_, lay, _ = collect(t, &eval.Machine{Context: make([]byte, 168)}, agentexpr.Options{Kernel: true, PtRegs: true}, all())
	if want := append(append(all()[20:57:57], 59), all()[60:]...); !slices.Equal(lay.Missing, want) {
		t.Errorf("in the kernel engine %v", lay.Missing)
	}
}

// TestX87: what FXSAVE stores becomes GDB's registers.
func TestX87(t *testing.T) {
	w := &x86.State{}
	m := &eval.Machine{Wide: w}
	for i := range w.X87[:24] {
		w.X87[i] = byte(i + 1)
	}
	set := func(i int, exponent uint16, significand uint64) {
		binary.LittleEndian.PutUint64(w.X87[32+16*i:], significand)
		binary.LittleEndian.PutUint16(w.X87[32+16*i+8:], exponent)
	}
	set(0, 0x3fff, 1<<63)                           // 1
	set(1, 0x8000, 0)                               // -0
	set(2, 0x7fff, 1<<63)                           // infinity
	set(3, 0, 1)                                    // denormal
	set(4, 0x3fff, 1)                               // unnormal
	binary.LittleEndian.PutUint16(w.X87[2:], 6<<11) // st0 is register 6
	w.X87[4] = 0b11000111
	w.X87[7] = 0xff
	_, lay, rec := collect(t, m, agentexpr.Options{}, all()[24:40])
	var got []string
	for _, r := range lay.Frame(rec).Regs[8:] {
		got = append(got, fmt.Sprintf("%s=%x", agentexpr.Registers[r.Num].Name, binary.LittleEndian.Uint32(r.Data)))
	}
	// Registers 7 to 0: zero, valid, three empty, three special.
	want := fmt.Sprintf("fctrl=201 fstat=3000 ftag=%x fiseg=e0d fioff=c0b0a09 foseg=1615 fooff=14131211 fop=707", 0b01_00_11_11_11_10_10_10)
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}
