package amd64

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/unwind"
	"github.com/jalon-trace/jalon/test/testkit"
)

// Where the area for walks lies in the shared memory of the executor, behind the rings.
const (
	walkArea   = 0x60000
	walkCache  = walkArea + (unwind.AreaSize+0xfff)&^0xfff
	walkTable  = walkCache + unwind.CacheSize
	walkStacks = 0x100000
	walkCode   = 0x5a3d00000000 // of the program whose stacks are walked
)

// randomRows are rules of code at walkCode.
func randomRows(r *rand.Rand) []unwind.Row {
	var rows []unwind.Row
	for pc := uint64(walkCode); len(rows) < 400; pc += 1 + uint64(r.Intn(400)) {
		n := int64(1+r.Intn(16)) * 8
		rule := unwind.NewRule(unwind.BySP, n, int64(r.Intn(3))*8*int64(r.Intn(int(n/8+2))))
		switch r.Intn(40) {
		case 0, 1, 2:
			rule = unwind.NewRule(unwind.ByFP, 16, 16)
		case 3:
			rule = unwind.NewRule(unwind.ByFP, n, int64(r.Intn(20))*8)
		case 4:
			rule = unwind.NewRule(unwind.SavedByFP, n, 0)
		case 5:
			rule = unwind.Rule(unwind.Signal)
		case 6:
			rule = unwind.Rule([]unwind.Kind{unwind.Outermost, unwind.None, unwind.General, 7}[r.Intn(4)])
		case 7:
			rule = unwind.NewRule(unwind.BySP, 8*int64(r.Intn(1<<13)), 8*int64(r.Intn(1<<13)))
		}
		rows = append(rows, unwind.Row{PC: pc, Rule: rule})
	}
	return rows
}

// walkProgram records a stack of at most n frames, or its number, and other values before and behind it.
func walkProgram(r *rand.Rand, frames int64) *ir.Program {
	b := ir.NewBuilder("walk")
	none := ir.Instr{Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock}
	emit := func(op ir.Op, w uint8, imm, aux int64, x, y ir.Value) {
		i := none
		i.Op, i.W, i.Imm, i.Aux, i.A, i.B = op, w, imm, aux, x, y
		b.Emit(i)
	}
	values := make([]ir.Value, r.Intn(12))
	for i := range values {
		values[i] = b.Reg(int64(r.Intn(16)))
		if r.Intn(2) == 0 {
			values[i] = b.Bin(ir.Mul, 8, values[i], b.Const(r.Int63()))
		}
	}
	at := int64(ir.RecordHeader)
	slot := at + 8*int64(len(values))
	end := slot + ir.CountedHeader + 8*frames
	number := ir.None
	if r.Intn(2) == 0 {
		i := none
		i.Op, i.Aux, i.A, i.B = ir.Intern, 8*frames, b.Reg(rspNumber), b.Reg(rbpNumber)
		number, end = b.Def(ir.I64, i), slot+8
	}
	emit(ir.Reserve, 0, end, 0, ir.None, ir.None)
	first := r.Intn(len(values) + 1)
	for i, v := range values[:first] {
		emit(ir.Put, 8, at+8*int64(i), 0, v, ir.None)
	}
	if number != ir.None {
		emit(ir.Put, 8, slot, 0, number, ir.None)
	} else {
		emit(ir.Walk, 0, slot, 8*frames, b.Reg(rspNumber), b.Reg(rbpNumber))
	}
	for i, v := range values[first:] {
		emit(ir.Put, 8, at+8*int64(first+i), 0, v, ir.None)
	}
	emit(ir.Commit, 0, 0, 0, ir.None, ir.None)
	b.Exit()
	return b.Finish()
}

const rbpNumber = 6 // DWARF's

// TestWalkDifferential runs the code of walks along random stacks, by random tables, and compares the records
// with unwind.Walk's. The cache begins empty with each table.
func TestWalkDifferential(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	opt := irgen.Options{}
	state := irgen.RandomState(r, opt)
	e := startExecutor(t, state.Base, state.Mem[:])
	ends, frames, done, below, faults, full := map[uint32]int{}, 0, 0, 0, uint64(0), 0
	low := false // a walk read below the red zone
	for done < envInt("JALON_AMD64_RUNS", 12000) {
		state = irgen.RandomState(r, opt)
		rows := randomRows(r)
		for off := 0; off < len(state.Mem); off += 8 {
			if !irgen.Readable[off/irgen.PageSize] || threadBlock(state, off) {
				continue
			}
			v := rows[0].PC + uint64(r.Intn(int(rows[len(rows)-1].PC-rows[0].PC)+100))
			switch r.Intn(24) {
			case 0, 1, 2:
				v = state.Base + uint64(off+r.Intn(4096))&^7
			case 3:
				v = []uint64{0, 1, 8, ^uint64(0), r.Uint64(), 1 << 47, 1<<47 | v}[r.Intn(7)]
			}
			binary.LittleEndian.PutUint64(state.Mem[off:], v)
		}
		e.setMemory(state.Mem[:])
		trials := walkBatch(t, e, r, state, rows, &low)
		if err := e.run(); err != nil {
			t.Fatalf("%v\n%s", err, trials[min(int(e.word(8)), len(trials)-1)].describe())
		}
		for i, tr := range trials {
			out := e.output(i)
			faults += out.NFaults
			low = false
			err := tr.verify(out)
			if err != nil && low {
				below++
				continue
			}
			if err != nil {
				t.Fatalf("run %d: %v\n%s", done+i, err, tr.describe())
			}
			if rec, _ := tr.record(out); rec != nil {
				if at, number := internSlot(tr.p); number != ir.None {
					if id := binary.LittleEndian.Uint32(rec[at:]); id == 0 {
						full++
					} else {
						pcs, end := tr.stacks.Frames(id)
						frames += len(pcs) / 8
						ends[uint32(end)]++
					}
				} else {
					frames += int(binary.LittleEndian.Uint32(rec[at:])) / 8
					ends[binary.LittleEndian.Uint32(rec[at+4:])/ir.WalkEnd]++
				}
			}
		}
		done += len(trials)
	}
	t.Logf("%d walks of %d frames, %d faults; ends %v; %d stacks had no place; %d read what lies below the stack", done, frames, faults, ends, full, below)
	if full < done/100 || full > done/5 {
		t.Errorf("%d of %d stacks had no place in the table", full, done)
	}
	if below > done/500 {
		t.Errorf("%d of %d walks read what lies below the stack", below, done)
	}
	for end := unwind.Whole; end <= unwind.Damaged; end++ {
		if ends[uint32(end)] < done/1000 {
			t.Errorf("only %d of %d walks end with %q", ends[uint32(end)], done, end)
		}
	}
	if frames < 2*done {
		t.Errorf("%d frames in %d walks", frames, done)
	}
}

// threadBlock reports whether an offset in the memory lies in the thread's control block: the code writes there.
func threadBlock(s *irgen.State, off int) bool {
	at := s.Base + uint64(off) - s.Regs[58]
	return at < 256
}

// internSlot is the offset of a program's stack in its record, and the value that is its number; ir.None: the pcs
// are there.
func internSlot(p *ir.Program) (at int64, number ir.Value) {
	number = ir.None
	for in := range p.Instrs() {
		switch {
		case in.Op == ir.Intern:
			number = in.Dst
		case in.Op == ir.Walk, in.Op == ir.Put && number != ir.None && in.A == number:
			return in.Imm, number
		}
	}
	panic("no walk")
}

// interned is the meaning of ir.Intern in a run: any number whose stack in the table is right.
func (tr *trial) interned(out *caseOut) func(pcs []uint64, end uint8) uint32 {
	return func(pcs []uint64, end uint8) uint32 {
		at, _ := internSlot(tr.p)
		rec, err := tr.record(out)
		if rec == nil || err != nil { // the ring was full
			return 0
		}
		id := binary.LittleEndian.Uint32(rec[at:])
		if id == 0 {
			return tr.stacks.Intern(pcs, end)
		}
		got, reason := tr.stacks.Frames(id)
		if len(got) != 8*len(pcs) || reason != end {
			return ^id
		}
		for i, pc := range pcs {
			if binary.LittleEndian.Uint64(got[8*i:]) != pc {
				return ^id
			}
		}
		return id
	}
}

// walkBatch fills a batch with programs that walk by the same table. The reference sets *low when it reads below the
// red zone.
func walkBatch(t *testing.T, e *executor, r *rand.Rand, state *irgen.State, rows []unwind.Row, low *bool) (trials []*trial) {
	table := unwind.New(rows)
	end := rows[len(rows)-1].PC
	shared := e.shm[offShared:]
	clear(shared[walkArea : walkTable+len(table.Bytes())])
	copy(shared[walkTable:], table.Bytes())
	// Random rules and frame pointers lead below the red zone too. There the code saves registers and signals have
	// their frames, so what a walk reads there is not what the reference reads.
	walk := func(pc, sp, fp uint64, memory func(uint64) (uint64, bool), n int) ([]uint64, uint8) {
		read := func(addr uint64) (uint64, bool) {
			if below := sp - redZone - addr; below-1 < 1<<14 {
				*low = true
			}
			return memory(addr)
		}
		pcs, end := unwind.Walk(unwind.Registers{PC: pc, SP: sp, FP: fp}, &unwind.Memory{Read: read}, table.Find, make([]uint64, 0, n))
		return pcs, uint8(end)
	}
	stacks := ring.StacksIn(shared[walkStacks:])
	nodes := shared[walkStacks+ring.StacksNodes:]
	clear(nodes[:8*ring.StackNodes])
	taken := r.Intn(100) // of 100 places, by what no stack of these has
	for i := range ring.StackNodes {
		if r.Intn(100) < taken {
			binary.LittleEndian.PutUint64(nodes[8*i:], 1<<62|r.Uint64())
		}
	}
	e.reset()
	// All see the area at one address.
	base := []uint64{nearAddr, farAddr}[r.Intn(2)]
	word := func(off int, v uint64) { binary.LittleEndian.PutUint64(shared[walkArea+off:], v) }
	word(unwind.AreaCache, base+walkCache)
	modules := []unwind.Module{
		{Lo: 0x1000, Hi: 0x2000, Table: unwind.New([]unwind.Row{{PC: 0x1000}, {PC: 0x2000}})},
		{Lo: walkCode, Hi: end, Table: table},
	}
	for i := range modules {
		copy(shared[walkArea+unwind.AreaModules+i*unwind.ModuleSize:], modules[i].Encode(base+walkTable))
	}
	word(unwind.AreaCount, uint64(len(modules)))
	for len(trials)+statesPerProgram <= maxCases {
		cfg := randomConfig(r, e.nextAddr())
		cfg.Walk = base + walkArea
		cfg.Layout.Stacks = cfg.Layout.Control + walkStacks
		cfg.PC = walkCode + uint64(r.Intn(int(end-walkCode)))
		if r.Intn(2) == 0 {
			cfg.ColdAddr = e.coldAddr()
		}
		tr := &trial{p: walkProgram(r, int64(1+r.Intn(40))), cfg: cfg, walk: walk, stacks: stacks}
		if err := ir.Check(tr.p); err != nil {
			t.Fatal(err)
		}
		code, err := compile(tr.p, cfg, randomTuning(r))
		if err != nil {
			if strings.Contains(fmt.Sprint(err), "on this machine") {
				continue
			}
			t.Fatalf("%v\n%s", err, tr.describe())
		}
		tr.code = code
		more, ok := tr.inStates(e, r, state)
		if !ok {
			break
		}
		trials = append(trials, more...)
	}
	return trials
}
