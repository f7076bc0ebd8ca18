package amd64

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	x86 "github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/test/testkit"
)

// trial is one program with its code and one state.
type trial struct {
	p     *ir.Program
	cfg   Config
	code  *Code
	state *irgen.State
	in    caseIn
	dead  bool // the dead man's switch is set
	off   bool // the site is turned off
	full  bool // the maps have no room
	// stacks is the table of stacks as the program left it.
	stacks *ring.Stacks
	walk   func(pc, sp, fp uint64, read func(uint64) (uint64, bool), n int) ([]uint64, uint8)
}

const statesPerProgram = 4

// TestDifferential runs random programs in random states and compares the resulting states with the
// reference evaluator's. JALON_AMD64_RUNS sets the number of runs (program and state).
func TestDifferential(t *testing.T) {
	runs, seed := envInt("JALON_AMD64_RUNS", 48000), testkit.Seed(t, 1)
	r := rand.New(rand.NewSource(seed))
	opt := irgen.Options{Floats: true, SegBase: true, Maps: true}
	state := irgen.RandomState(r, opt)
	e := startExecutor(t, state.Base, state.Mem[:])
	done, faults, aborted := 0, uint64(0), uint64(0)
	for done < runs {
		state = irgen.RandomState(r, opt)
		e.setMemory(state.Mem[:])
		full := r.Intn(6) == 0
		e.setMaps(state.Maps, full)
		trials := makeBatch(t, e, r, opt, state)
		if err := e.run(); err != nil {
			i := int(e.word(8))
			t.Fatalf("%v\n%s", err, trials[min(i, len(trials)-1)].describe())
		}
		for i, tr := range trials {
			out := e.output(i)
			faults += out.NFaults
			aborted += out.Aborted
			tr.full = full
			if err := tr.verify(out); err != nil {
				t.Fatalf("run %d (seed %d): %v\n%s", done+i, seed, err, tr.describe())
			}
		}
		done += len(trials)
	}
	e.in.Close()
	e.cmd.Wait()
	if accidents.near < runs/50 {
		t.Errorf("%d runs: only %d records with lock without a context", done, accidents.near)
	}
	if aborted < uint64(runs)/500 {
		t.Errorf("%d runs: only %d were interrupted in a restartable sequence", done, aborted)
	}
	t.Logf("%d runs, %d faults answered, %d interrupted in a sequence; child %v+%v", done, faults, aborted, e.cmd.ProcessState.UserTime(), e.cmd.ProcessState.SystemTime())
}

// TestStackEdge is TestDifferential with a stack that ends 128 to 600 bytes below rsp, at a page that
// cannot be accessed: a hit is recorded completely or not at all, and the program's state is unchanged.
func TestStackEdge(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	opt := irgen.Options{Floats: true, SegBase: true}
	state := irgen.RandomState(r, opt)
	e := startExecutor(t, state.Base, state.Mem[:], "edge")
	e.edge = true
	var done, edges, counted int
	for done < envInt("JALON_AMD64_RUNS", 4096) {
		state = irgen.RandomState(r, opt)
		e.setMemory(state.Mem[:])
		trials := makeBatch(t, e, r, opt, state)
		if err := e.run(); err != nil {
			t.Fatalf("%v\n%s", err, trials[min(int(e.word(8)), len(trials)-1)].describe())
		}
		for i, tr := range trials {
			out := e.output(i)
			if err := tr.verify(out); err != nil {
				t.Fatalf("run %d, %d edges: %v\n%s", done+i, out.NEdges, err, tr.describe())
			}
			if edges += int(out.NEdges); out.NEdges == 0 && out.RecLen > 0 {
				counted++
			}
		}
		done += len(trials)
	}
	if edges < done/20 || counted < done/20 {
		t.Errorf("%d runs: %d without room, %d with a record", done, edges, counted)
	}
	t.Logf("%d runs: %d without room, %d with a record", done, edges, counted)
}

// The stack of a random state begins here, above a page that cannot be accessed.
const (
	edgeOff   = 6 * 4096
	rspNumber = 7 // DWARF's
)

func envInt(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

func makeBatch(t *testing.T, e *executor, r *rand.Rand, opt irgen.Options, state *irgen.State) []*trial {
	e.reset()
	var trials []*trial
	for len(trials)+statesPerProgram <= maxCases {
		o := opt
		o.Floats = r.Intn(3) == 0
		o.NoFlags = r.Intn(4) != 0
		o.Blocks, o.Instrs = 1+r.Intn(10), 1+r.Intn(12)
		if r.Intn(40) == 0 {
			o.Blocks, o.Instrs = 6, 60 // more values than registers
		}
		o.Maps = o.Maps && r.Intn(2) == 0
		p := irgen.Random(r, o)
		if r.Intn(2) == 0 {
			if err := ir.Optimize(p); err != nil {
				t.Fatal(err)
			}
		}
		cfg := randomConfig(r, e.nextAddr())
		if r.Intn(3) == 0 {
			cfg.ColdAddr = e.coldAddr()
		}
		cfg.Layout.Overwrite = r.Intn(3) == 0
		tr := &trial{p: p, cfg: cfg}
		if r.Intn(8) == 0 {
			farOffsets(r, p)
		}
		code, err := compile(p, cfg, randomTuning(r))
		if err != nil {
			if strings.Contains(err.Error(), "on this machine") {
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

// inStates adds the trial to the batch in several states; false: the batch is full.
func (tr *trial) inStates(e *executor, r *rand.Rand, state *irgen.State) ([]*trial, bool) {
	first, ok := e.addCode(tr.code)
	if !ok {
		return nil, false
	}
	var trials []*trial
	for k := 0; k < statesPerProgram; k++ {
		x := *tr
		s := *state
		s.Registers(r)
		for n, v := range s.Regs { // no pointers into the shared memory at low addresses, of which the evaluator does not know
			if v-lowAddr < 1<<26 {
				s.Regs[n] = v ^ 1<<40
			}
		}
		s.RecordRoom = r.Intn(12) != 0 && !tr.tooLarge()
		s.Regs[ir.RegPC] = tr.cfg.PC
		s.Env[ir.EnvSite] = uint64(tr.cfg.Layout.SiteID)
		x.state = &s
		x.thread(r)
		x.in.Code, x.in.NFault, x.in.NEdge, x.in.Faults = tr.cfg.Addr, uint64(len(tr.code.Faults)), uint64(len(tr.code.Edges)), uint64(first)
		if e.edge {
			s.Regs[rspNumber] = state.Base + edgeOff + redZone + 8*uint64(r.Intn(60))
		}
		x.randomSurroundings(r)
		if e.edge && eval.Run(x.p, s.Machine()).Exit == eval.BadAccess {
			continue // the program took the stack for longer
		}
		*e.input(e.n) = x.in
		e.n++
		trials = append(trials, &x)
	}
	return trials, true
}

// thread chooses the thread that runs code with restartable sequences: often one that is registered, and that may
// get a signal in a sequence.
func (tr *trial) thread(r *rand.Rand) {
	if tr.cfg.Layout.Registered == 0 || r.Intn(8) == 0 {
		return
	}
	if r.Intn(3) != 0 {
		tr.in.Ready = 1
		if tr.cfg.Clock == ring.ClockCoarse {
			tr.in.Ready = coarseTime >> ring.WordKind
		}
	}
	tr.state.Regs[x86.DwarfFSBase] = tcbAddr
	if r.Intn(4) == 0 {
		return
	}
	tr.in.Listed = 1
	if r.Intn(8) == 0 {
		tr.in.Gone = gone + uint64(r.Intn(2))
		tr.in.CPU = []uint64{0, uint64(tr.cfg.Layout.CPUMask), uint64(tr.cfg.Layout.CPUMask) + 1, 1 << 30, 1<<32 - 1, 1<<32 - 2}[r.Intn(6)]
		return
	}
	if at := tr.code.inSequences(); len(at) > 0 && r.Intn(2) == 0 {
		tr.in.Abort = at[r.Intn(len(at))]
	}
}

// inSequences lists the instructions of restartable sequences.
func (c *Code) inSequences() (pcs []uint64) {
	c = c.listed()
	for _, q := range c.asm.seqs {
		start, end := c.linked.off(q.start), c.linked.off(q.end)
		for _, i := range c.asm.insns[q.start.sec] {
			if off := c.linked.off(i.at); i.kind != kNote && off >= start && off < end {
				pcs = append(pcs, c.cfg.Addr+uint64(off))
			}
		}
	}
	return pcs
}

// tooLarge reports a record larger than the ring.
func (tr *trial) tooLarge() bool {
	for _, b := range tr.p.Blocks {
		for _, in := range b.Instrs {
			if in.Op == ir.Reserve && tr.cfg.Layout.Overwrite && in.Imm-ring.RecHeader+ring.EventHead+ring.ContextSize+ring.PacketHead > subSize {
				return true
			}
			if in.Op == ir.Reserve && in.Imm > ringSize-subSize-int64(ring.LargestEvent(ring.RecHeader)) {
				return true
			}
		}
	}
	return false
}

// randomTuning leaves few registers now and then, so that values are spilled.
func randomTuning(r *rand.Rand) tuning {
	tune := tuning{follow: 8, list: true}
	switch r.Intn(6) {
	case 0:
		tune.exclude = regSet(r.Uint64()|r.Uint64()) & (allGPR | allXMM)
	case 1:
		tune.follow = r.Intn(3)
	case 2: // one or two registers for values
		keep := setOf(item(r.Intn(16)), item(r.Intn(16)), itemXMM+item(r.Intn(16)))
		tune.exclude = (allGPR | allXMM) &^ keep
	}
	return tune
}

// farOffsets moves a large number between addresses and offsets of loads.
func farOffsets(r *rand.Rand, p *ir.Program) {
	for _, b := range p.Blocks {
		var out []ir.Instr
		for _, in := range b.Instrs {
			if (in.Op == ir.Load || in.Op == ir.FLoad || in.Op == ir.StrEq) && r.Intn(3) == 0 {
				k := int64(1)<<(29+r.Intn(12)) + int64(r.Intn(5))
				c, a := ir.Value(len(p.Classes)), ir.Value(len(p.Classes)+1)
				p.Classes = append(p.Classes, ir.I64, ir.I64)
				out = append(out,
					ir.Instr{Op: ir.Const, Imm: k, Dst: c, A: ir.None, B: ir.None, Fault: ir.NoBlock},
					ir.Instr{Op: ir.Sub, W: 8, Dst: a, A: in.A, B: c, Fault: ir.NoBlock})
				in.A, in.Imm = a, in.Imm+k
			}
			out = append(out, in)
		}
		b.Instrs = out
	}
}

func randomConfig(r *rand.Rand, addr uint64) Config {
	cfg := Config{Addr: addr, PC: addr + uint64(r.Intn(1<<20)) - 1<<19, Layout: execLayout(nearAddr)}
	l := &cfg.Layout
	if r.Intn(4) == 0 {
		*l = execLayout(farAddr)
	}
	cfg.Maps = execMaps(l.Control + mapsAt)
	if r.Intn(2) == 0 {
		cfg.Constants = execConstants()
	}
	cfg.Clock = ring.Clock(max(0, r.Intn(5)-2))
	l.SiteID = uint32(r.Intn(1000))
	if r.Intn(4) != 0 {
		l.Switch = l.Control + switchOff
	}
	l.CPUMask = []uint32{0, 1, 3, 3}[r.Intn(4)]
	l.PrefetchW, l.FSGSBASE, l.AVX = r.Intn(2) == 0, r.Intn(4) != 0 && host.X86().FSGSBASE, true
	l.RDPID = l.PrefetchW && host.X86().RDPID
	l.XGETBV1 = hasXGETBV1() && r.Intn(4) != 0
	if r.Intn(3) == 0 {
		l.RseqCPU = []int32{-32, 8, 1024, -4096}[r.Intn(4)] // the last cannot be read
	} else if r.Intn(2) == 0 {
		restartableLayout(l)
	}
	switch r.Intn(4) {
	case 0:
		cfg.DeadGPR = x86.RegSet(r.Intn(1 << 16))
	case 1:
		a, b := r.Intn(1<<16), r.Intn(1<<16)
		cfg.DeadGPR = x86.RegSet(a & b)
	case 2:
		cfg.DeadGPR = 1<<RAX | 1<<R10 | 1<<R11
	}
	if r.Intn(2) == 0 {
		cfg.DeadXMM = uint32(r.Intn(1 << 16))
	}
	cfg.DeadFlags = r.Intn(2) == 0
	return cfg
}

func (tr *trial) randomSurroundings(r *rand.Rand) {
	in := &tr.in
	in.fill(tr.state)
	in.MXCSR = 0x1f80 | uint64(r.Intn(64))
	if r.Intn(4) == 0 {
		in.MXCSR &^= uint64(r.Intn(64)) << 7 // traps enabled
		in.MXCSR &^= 63
	}
	tr.state.MXCSR = uint32(in.MXCSR)
	in.RingPos = uint64(r.Intn(1<<20)) * 8
	in.Consumed = in.RingPos
	if !tr.state.RecordRoom && !tr.tooLarge() { // room in a sub-buffer that was begun is free
		in.RingPos &^= subSize - 1
		in.Consumed = in.RingPos - ringSize + uint64(r.Intn(3))*8
	}
	if tr.cfg.Layout.Overwrite {
		tr.overwriting(r)
	}
	if !tr.cfg.Layout.Overwrite && r.Intn(3) != 0 {
		tr.nearest(r)
	}
	in.Control_ = uint64(r.Intn(1 << 22))
	if r.Intn(16) == 0 {
		tr.dead = true
		in.Control_ |= ring.OwnerDied
	}
	if tr.off = r.Intn(8) == 0 && tr.cfg.Layout.Switch != 0; tr.off {
		in.Control_ |= 1 << (32 + r.Intn(8))
	}
}

// nearest gives the rings of writers with lock a context that events may use: often the thread's, and of the present.
func (tr *trial) nearest(r *rand.Rand) {
	in := &tr.in
	near := uint64(3 + r.Intn(20))
	if r.Intn(4) == 0 {
		near = uint64(ring.MaxNear - r.Intn(20))
	}
	if in.RingPos < 8*near || near > 20 && ringSize-subSize < 8*near {
		return
	}
	in.Near, in.NearThread = near, in.FS
	if tr.cfg.Layout.Registered != 0 {
		in.NearFrom = execRings / 2
	}
	if tr.cfg.Clock == ring.ClockCoarse {
		in.NearTime = coarseTime
	}
	switch r.Intn(8) {
	case 0:
		in.NearThread ^= 1 << (3 + r.Intn(40))
	case 1:
		in.NearThread = 0
	case 2:
		in.NearTime = 1
	case 3:
		in.NearTime = coarseTime - 1<<ring.WordKind
	}
}

// usesNear reports whether an event may be without a context in a ring.
func (tr *trial) usesNear(ringNo uint64) bool {
	in := &tr.in
	now := in.NearTime == 0 || tr.cfg.Clock == ring.ClockCoarse && in.NearTime == coarseTime || tr.cfg.Clock == ring.ClockNone
	return in.Near != 0 && ringNo >= in.NearFrom && in.NearThread == in.FS && in.FS != 0 && now
}

// verifyDistance: what was reserved with lock says how far back the newest context is.
func (tr *trial) verifyDistance(out *caseOut, event uint64, own bool) error {
	locked := tr.cfg.Layout.Registered == 0 || out.Ring >= execRings/2
	want := event / ring.NearUnit
	if own {
		want += ring.ContextSize / ring.NearUnit
	} else {
		want += tr.in.Near
		if locked {
			accidents.near++
		}
	}
	if want > ring.MaxNear || !locked || tr.cfg.Layout.Overwrite {
		want = 0
	}
	if out.Distance != want {
		return fmt.Errorf("the newest context is %d units back, not %d; own %v", out.Distance, want, own)
	}
	return nil
}

// accidents counts runs in which the kernel or the processor did something by itself that the code under test has to
// bear, and that happens more often on a busy machine.
var accidents struct {
	runs      int
	preempted int // the thread lost its CPU in a restartable sequence, and recorded in the other form's ring
	near      int // records with lock without a context: no accident
	inUse     int // a part of the state that was put back is in use: the processor may report more than there is
}

// fewAccidents fails a test in which they are not the exception.
func fewAccidents(t testing.TB) {
	accidents.runs, accidents.preempted, accidents.inUse, accidents.near = 0, 0, 0, 0
	t.Cleanup(func() {
		if most := 2 + accidents.runs/100; accidents.preempted > most || accidents.inUse > most {
			t.Errorf("not accidents: %+v", accidents)
		}
	})
}

func (tr *trial) verify(out *caseOut) error {
	if out.Sig != 0 {
		return fmt.Errorf("signal %d at %#x (+%#x), address %#x", out.Sig, out.PC, out.PC-tr.cfg.Addr, out.Addr)
	}
	accidents.runs++
	if out.InUse&tr.in.Initial != 0 {
		accidents.inUse++
	}
	tr.state.X87, tr.state.Regs[x86.InUse] = out.Before, out.InUse
	m := tr.state.Machine()
	m.Walk, m.Intern, m.MapsFull = tr.walk, tr.interned(out), tr.full
	want := eval.Run(tr.p, m)
	if out.NEdges > 0 { // nothing is done then
		want = eval.Outcome{Vars: tr.in.Vars[:]}
	}
	if tr.off || tr.dead && tr.code.guarded {
		want = eval.Outcome{Vars: tr.in.Vars[:]}
	}
	if want.Exit == eval.BadAccess {
		return fmt.Errorf("the program reads what it must not")
	}
	if !slices.Equal(out.Vars[:], want.Vars) {
		return fmt.Errorf("variables %#x, want %#x", out.Vars, want.Vars)
	}
	if err := tr.verifyRegisters(out); err != nil {
		return err
	}
	if len(tr.p.Maps) > 0 {
		got, noRoom := out.tables()
		if want.Maps == nil { // nothing was done
			want.Maps = tr.state.Maps
		}
		if d := want.DiffMaps(got); d != "" {
			return fmt.Errorf("%s", d)
		}
		if noRoom != want.NoRoom {
			return fmt.Errorf("%d keys without room, want %d", noRoom, want.NoRoom)
		}
	}
	if out.BadMem != 0 {
		return fmt.Errorf("memory changed: %d", out.BadMem)
	}
	rec, err := tr.record(out)
	if err != nil {
		return err
	}
	if rec != nil && tr.cfg.Layout.Overwrite {
		if err := tr.verifyTable(out); err != nil {
			return err
		}
		out.Counters[ring.CounterRecorded]--
	}
	if out.Dropped > want.Counters[ring.CounterLost] { // programs count there too
		return fmt.Errorf("%d dropped, %d lost", out.Dropped, want.Counters[ring.CounterLost])
	}
	for _, at := range tr.lostPointers(out) {
		if at < len(want.Defined) {
			want.Defined[at] = false
		}
	}
	if d := want.Diff(rec, out.Counters); d != "" {
		return fmt.Errorf("%s", d)
	}
	if rec != nil {
		return tr.verifyHeader(rec, out.Ring)
	}
	return nil
}

// record is what a reader makes of what is in the ring, nil if nothing is.
func (tr *trial) record(out *caseOut) ([]byte, error) {
	if out.RecLen == 0 {
		return nil, nil
	}
	b, pos := out.Rec[:out.RecLen], out.Pos
	word := func(off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }
	skip := func(n uint64) { b, pos = b[n:], pos+n }
	kind := func() uint64 { return word(0) >> ring.WordKind & 31 }
	if kind() == ring.KindFiller {
		if skip(word(0) >> 32); pos%subSize != 0 {
			return nil, fmt.Errorf("a filler ends at %#x", pos)
		}
	}
	if tr.cfg.Layout.Overwrite {
		for pos%subSize == 0 && tr.passes(pos, out.Ring) && pos < out.Pos+ringSize {
			skip(subSize)
		}
	}
	if pos%subSize == 0 {
		if word(0) != ring.PacketMagic || word(ring.PacketPosition) != pos || word(ring.PacketBefore) != out.Pos || word(ring.PacketLost) != 0 {
			return nil, fmt.Errorf("sub-buffer at %#x with head %x", pos, b[:ring.PacketHead])
		}
		if err := tr.verifyTime(word(ring.PacketBegin)); err != nil {
			return nil, err
		}
		skip(ring.PacketHead)
	}
	time, thread, size := uint64(1<<60), tr.in.FS, uint64(len(b))
	own := kind() == ring.KindContext
	if own {
		if time, thread, size = word(ring.ContextTime), word(ring.ContextThread), word(0)>>32; (word(0)^time)&ring.WordClock != 0 {
			return nil, fmt.Errorf("context with the word %#x of %#x", word(0), time)
		}
		if err := tr.verifyTime(time); err != nil {
			return nil, err
		}
		skip(ring.ContextSize)
	} else if tr.in.Ready == 0 && !tr.usesNear(out.Ring) {
		return nil, fmt.Errorf("no context")
	}
	if err := tr.verifyDistance(out, size, own); err != nil {
		return nil, err
	}
	head := uint64(ring.EventHead)
	if word(0)>>53&1023 == 0 {
		head *= 2
		if word(8) != uint64(len(b)) {
			return nil, fmt.Errorf("event of %d bytes says %d", len(b), word(8))
		}
	}
	if want := ring.EventWord(tr.cfg.Layout.SiteID, size, head); word(0)>>32 != uint64(want) || kind() != ring.KindEvent || size != uint64(len(b)) {
		return nil, fmt.Errorf("event of %d bytes (%d by its context) with the word %#x", len(b), size, word(0))
	}
	if time = time&^ring.WordClock | word(0)&ring.WordClock; tr.cfg.Clock == ring.ClockCoarse && (time^coarseTime)&ring.WordClock != 0 || tr.cfg.Clock == ring.ClockNone && time&ring.WordClock != 0 {
		return nil, fmt.Errorf("event with the word %#x", word(0))
	}
	rec := make([]byte, ring.RecHeader, ring.RecHeader+len(b))
	rec = append(rec, b[head:]...)
	binary.LittleEndian.PutUint32(rec, uint32(len(rec)))
	binary.LittleEndian.PutUint32(rec[ring.RecSite:], tr.cfg.Layout.SiteID+1)
	binary.LittleEndian.PutUint64(rec[ring.RecTSC:], time)
	binary.LittleEndian.PutUint64(rec[ring.RecThread:], thread)
	return rec, nil
}

func (tr *trial) verifyTime(time uint64) error {
	switch {
	case tr.cfg.Clock == ring.ClockTSC && (time == 0 || time == coarseTime):
		return fmt.Errorf("no time")
	case tr.cfg.Clock == ring.ClockCoarse && time != coarseTime, tr.cfg.Clock == ring.ClockNone && time != 0:
		return fmt.Errorf("time %#x", time)
	}
	return nil
}

func (tr *trial) verifyHeader(rec []byte, ringNo uint64) error {
	if fs := binary.LittleEndian.Uint64(rec[ring.RecThread:]); fs != tr.in.FS {
		return fmt.Errorf("thread %#x, want %#x", fs, tr.in.FS)
	}
	first, mask := uint64(0), tr.cfg.Layout.CPUMask
	if tr.cfg.Layout.Registered != 0 && tr.in.Listed == 0 {
		first = execRings / 2
	}
	if tr.in.Gone == gone || tr.in.Gone == cpuID && tr.in.CPU > uint64(mask) && ringNo >= execRings/2 { // the kernel may have put it right
		first = execRings / 2
	}
	if first == 0 && tr.in.Listed != 0 && ringNo >= execRings/2 && tr.in.Abort == 0 && tr.in.Race == 0 {
		accidents.preempted++
		first = execRings / 2
	}
	if last := first + uint64(mask); ringNo < first || ringNo > last && tr.in.Abort == 0 && tr.in.Race == 0 {
		return fmt.Errorf("ring %d, not %d to %d", ringNo, first, last)
	}
	return nil
}

func (tr *trial) verifyRegisters(out *caseOut) error {
	in := &tr.in
	for n := range in.Regs {
		if out.Regs[n] != in.Regs[n] && (tr.cfg.DeadGPR>>n&1 == 0 || n == int(RSP)) {
			return fmt.Errorf("%s is %#x, was %#x", Reg(n).Name(8), out.Regs[n], in.Regs[n])
		}
	}
	mask := ^uint64(0)
	if tr.cfg.DeadFlags {
		mask &^= 0x8d5
	}
	if (out.Flags^in.Flags)&mask != 0 {
		return fmt.Errorf("flags are %#x, were %#x", out.Flags, in.Flags)
	}
	if out.FS != in.FS || out.GS != in.GS {
		return fmt.Errorf("segment bases %#x %#x", out.FS, out.GS)
	}
	if out.MXCSR != in.MXCSR {
		return fmt.Errorf("mxcsr is %#x, was %#x", out.MXCSR, in.MXCSR)
	}
	if out.Selectors != in.Selectors {
		return fmt.Errorf("selectors are %#x, were %#x", out.Selectors, in.Selectors)
	}
	if err := tr.verifyX87(out); err != nil {
		return err
	}
	for n := range in.YMM {
		from := 0
		if tr.cfg.DeadXMM>>n&1 != 0 {
			from = 16
		}
		if !bytes.Equal(out.YMM[n][from:], in.YMM[n][from:]) {
			return fmt.Errorf("ymm%d is %x, was %x", n, out.YMM[n], in.YMM[n])
		}
	}
	return nil
}

// withoutPointers clears the upper halves of the addresses of the last x87 instruction and its operand. Where a
// hypervisor saves the state in the 32-bit form, they are lost whenever it interrupts the program.
func withoutPointers(state [x86.X87Bytes]byte) [x86.X87Bytes]byte {
	for _, at := range pointerHalves {
		state[at] = 0
	}
	return state
}

// pointerHalves are the offsets in the x87 state of what withoutPointers clears.
var pointerHalves = []int{12, 13, 14, 15, 20, 21, 22, 23}

// lostPointers returns the offsets in a record of the bytes that may be 0, because the pointers were lost between the
// state before the code and the state after it.
func (tr *trial) lostPointers(out *caseOut) (offsets []int) {
	if out.After == out.Before {
		return nil
	}
	for _, b := range tr.p.Blocks {
		for i := range b.Instrs {
			if in := &b.Instrs[i]; in.Op == ir.PutReg && in.Aux == x86.X87 {
				for _, half := range pointerHalves {
					offsets = append(offsets, int(in.Imm)+half)
				}
			}
		}
	}
	return offsets
}

// verifyX87 compares the x87 state with that before the code, and that with the requested state, except for the
// pointers, which not all processors keep.
func (tr *trial) verifyX87(out *caseOut) error {
	if out.After != out.Before && out.After != withoutPointers(out.Before) {
		return fmt.Errorf("the x87 state is %x, was %x", out.After, out.Before)
	}
	in := &tr.in.X87
	same := out.Before[0] == in[0] && out.Before[1] == in[1] && out.Before[4] == in[4]
	for at := x86.X87Stack; at < x86.X87Bytes; at += 16 {
		same = same && bytes.Equal(out.Before[at:at+10], in[at:at+10])
	}
	if !same {
		return fmt.Errorf("the executor has the x87 state %x, not %x", out.Before, *in)
	}
	return nil
}

func (tr *trial) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nconfig %+v\nregisters %#x\n", tr.p, tr.cfg, tr.state.Regs)
	if tr.code == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "%s\n", strings.Join(tr.code.Listing(), "\n"))
	if tr.state != nil {
		fmt.Fprintf(&b, "registers %#x flags %#x mxcsr %#x dead man %v\n", tr.in.Regs, tr.in.Flags, tr.in.MXCSR, tr.dead || tr.off)
	}
	return b.String()
}
