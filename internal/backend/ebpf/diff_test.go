package ebpf

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/test/testkit"
)

const statesPerProgram = 4

// trial is one program with its code.
type trial struct {
	p    *ir.Program
	cfg  Config
	prog *ebpf.Program
	text string
}

// TestDifferential runs random programs in random states and compares the resulting states with the
// reference evaluator's. JALON_EBPF_RUNS sets the number of programs, each run in a few states.
func TestDifferential(t *testing.T) {
	programs, seed := envInt("JALON_EBPF_RUNS", 3000), testkit.Seed(t, 1)
	t.Logf("seed %d", seed)
	m := newMachine(t)
	r := rand.New(rand.NewSource(seed))
	began := time.Now()
	var n tally
	for n.programs < programs {
		tr, opt := m.trial(r)
		if n.programs%16 == 0 || opt.High != m.lastHigh {
			m.state = irgen.RandomState(r, opt)
			m.lastHigh = opt.High
			m.setMemory(m.state)
		}
		for range statesPerProgram {
			m.state.Registers(r)
			m.state.RecordRoom = r.Intn(12) != 0
			m.state.Maps, m.state.MapsFull = irgen.RandomMaps(r), r.Intn(6) == 0
			if err := m.compare(tr, r, &n); err != nil {
				t.Fatalf("program %d (seed %d): %v\n%s\n%s\nregisters %#x", n.programs, seed, err, tr.describe(), tr.text, m.state.Regs)
			}
		}
		tr.prog.Close()
		n.programs++
	}
	d := time.Since(began)
	t.Logf("%d programs, %d runs, %d records, %d fault edges taken, %d rings full, %d events without context, %d in rings that are overwritten (%d without context, %d begin sub-buffers, %d of these passed over others), %.0f programs/s",
		n.programs, n.runs, n.records, n.faults, n.full, m.near, n.over, m.overNear, m.overBegun, m.overPassed, float64(n.programs)/d.Seconds())
	if programs >= 3000 && (m.overNear < n.over/20 || m.overBegun < n.over/20 || m.overPassed == 0) {
		t.Errorf("of %d events in rings that are overwritten %d have no context, %d begin sub-buffers, %d passed over others", n.over, m.overNear, m.overBegun, m.overPassed)
	}
	if programs >= 3000 && m.near < n.records/20 {
		t.Errorf("only %d of %d events have no context", m.near, n.records)
	}
}

// tally counts what happened.
type tally struct{ programs, runs, records, faults, full, over int }

func envInt(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

// trial makes a program that compiles and loads.
func (m *machine) trial(r *rand.Rand) (*trial, irgen.Options) {
	cfg := m.randomConfig(r)
	if r.Intn(3) == 0 {
		cfg.Layout = overwriting(cfg.Layout)
	}
	opt := irgen.Options{Kernel: true, NoRegs: cfg.Context != Regs, Maps: r.Intn(2) == 0}
	if cfg.Space == Kernel {
		opt.High = m.highAt
	}
	opt.Blocks, opt.Instrs = 1+r.Intn(10), 1+r.Intn(12)
	if r.Intn(20) == 0 {
		opt.Blocks, opt.Instrs = 4, 50 // more values than registers
	}
	if r.Intn(100) == 0 {
		opt.Blocks, opt.Instrs = 60, 30
	}
	p := irgen.Random(r, opt)
	if r.Intn(2) == 0 {
		must(m.t, ir.Optimize(p))
	}
	tr := &trial{p: withoutFrames(p), cfg: cfg}
	insns, err := Compile(tr.p, cfg)
	if err != nil {
		if strings.Contains(err.Error(), "stack") {
			return m.trial(r)
		}
		m.t.Fatalf("%v\n%s", err, tr.describe())
	}
	tr.text = Listing(insns)
	if tr.prog, err = m.tryLoad(ebpf.Syscall, insns); err != nil {
		m.t.Fatalf("%v\n%s", err, tr.describe())
	}
	return tr, opt
}

func (m *machine) randomConfig(r *rand.Rand) Config {
	l, size := layout()
	cfg := Config{
		Name: mapName, Layout: l, Slack: testSlack, MapSize: size,
		Maps: testTables(), Context: Context(r.Intn(3)), Space: Space(r.Intn(2)), Features: m.full,
		Return: int32(r.Intn(2)), Atomic: r.Intn(2) == 0,
	}
	if r.Intn(4) == 0 {
		cfg.Layout.CPUMask = 0
	}
	switch r.Intn(4) {
	case 0:
		cfg.Features = Features{FSBase: -1, TaskComm: -1}
	case 1:
		cfg.Features.V4 = m.full.V4 && r.Intn(2) == 0
		if r.Intn(2) == 0 {
			cfg.Features.RdonlyCast = 0
		}
	}
	return cfg
}

// withoutFrames drops CopyFrames, which programs of the type used here cannot do.
func withoutFrames(p *ir.Program) *ir.Program {
	for _, b := range p.Blocks {
		var kept []ir.Instr
		for _, in := range b.Instrs {
			if in.Op != ir.CopyFrames {
				kept = append(kept, in)
			}
		}
		b.Instrs = kept
	}
	return p
}

func (tr *trial) describe() string { return fmt.Sprintf("%s\nconfig %+v", tr.p, tr.cfg) }

// compare runs the program and the evaluator in m.state. Memory outside the test's
// own may change under it: a difference counts when it is seen three times.
func (m *machine) compare(tr *trial, r *rand.Rand, n *tally) (err error) {
	s := m.state
	for k, v := range m.env {
		if k != ir.EnvContext && k != ir.EnvTime && k != ir.EnvJiffies {
			s.Env[k] = v
		}
	}
	s.Env[ir.EnvSite] = uint64(tr.cfg.Layout.SiteID)
	s.Comm = m.comm
	s.Outside = outside{m, tr.cfg.Space}
	if r.Intn(2) == 0 {
		s.Given = 0
	}
	for range 3 {
		if err = m.compareOnce(tr, r, n); err == nil {
			return nil
		}
	}
	return err
}

func (m *machine) compareOnce(tr *trial, r *rand.Rand, n *tally) error {
	s, l := m.state, &tr.cfg.Layout
	want := eval.Run(tr.p, s.Machine())
	if want.Exit == eval.BadAccess {
		return fmt.Errorf("the program reads what it must not")
	}
	n.runs++
	word := func(at uint64) []byte { return m.mem[at : at+8] }
	put := func(at, v uint64) { binary.LittleEndian.PutUint64(word(at), v) }
	pos := uint64(r.Intn(1<<20)) * 8
	if !s.RecordRoom { // room in a sub-buffer that was begun is free
		pos &^= ring.SubSize(l.RingSize) - 1
	}
	if l.Overwrite && s.RecordRoom && r.Intn(2) == 0 { // near the end of a sub-buffer
		pos = pos&^(testOverSub-1) + testOverSub - uint64(r.Intn(80))*8
	}
	put(l.Rings+ring.RingReserved, pos)
	put(l.Rings+ring.RingConsumed, pos)
	if !l.Overwrite && s.RecordRoom && pos&(testSub-1) >= ring.ContextSize && r.Intn(2) == 0 {
		put(l.Rings+ring.RingReserved, m.putContext(l, pos))
		defer clear(m.mem[l.Rings+ring.RingData+(pos-ring.ContextSize)&(l.RingSize-1):][:ring.ContextSize])
	}
	if !s.RecordRoom {
		put(l.Rings+ring.RingConsumed, pos-testRing)
	}
	put(l.Given, s.Given)
	if l.Overwrite {
		m.prepareOver(l, r, pos, s.RecordRoom)
	}
	for k, v := range s.Vars {
		put(l.Variables+8*uint64(k), v)
	}
	m.setMaps(s.Maps, s.MapsFull)
	result := m.run(tr.prog, s.Context[:])
	if len(tr.p.Maps) > 0 {
		got, noRoom := m.tables()
		if d := want.DiffMaps(got); d != "" {
			return fmt.Errorf("%s", d)
		}
		if noRoom != want.NoRoom {
			return fmt.Errorf("%d keys without room, want %d", noRoom, want.NoRoom)
		}
	}

	for k, v := range want.Vars {
		if got := binary.LittleEndian.Uint64(word(l.Variables + 8*uint64(k))); got != v {
			return fmt.Errorf("variable %d is %#x, want %#x", k, got, v)
		}
	}
	var counters [ir.Counters]uint64
	for k := range counters {
		counters[k] = binary.LittleEndian.Uint64(word(l.Counters + 8*uint64(k)))
		put(l.Counters+8*uint64(k), 0)
	}
	given, recorded := counters[3], counters[3]
	counters[3] = 0
	take := m.take
	if l.Overwrite {
		take, given = m.takeOver, binary.LittleEndian.Uint64(word(l.Given))
	}
	size := ring.Position(binary.LittleEndian.Uint64(word(l.Rings+ring.RingReserved))) - pos
	rec, err := take(l, pos, size)
	if l.Overwrite && err == nil && recorded != uint64(min(1, len(rec))) {
		err = fmt.Errorf("%d records counted, of %d bytes", recorded, len(rec))
	}
	if l.Overwrite && err != nil {
		m.t.Fatalf("%v\n%s\n%s", err, tr.describe(), tr.text) // whatever the memory outside is
	}
	if err != nil {
		return err
	}
	if d := want.Diff(rec, counters); d != "" {
		return fmt.Errorf("%s", d)
	}
	if given != want.Given {
		return fmt.Errorf("given %#x, want %#x", given, want.Given)
	}
	expect := uint32(tr.cfg.Return)
	if want.Result != nil {
		expect = *want.Result
	}
	if result != expect {
		return fmt.Errorf("result %#x, want %#x", result, expect)
	}
	n.count(&want)
	if l.Overwrite && rec != nil {
		n.over++
	}
	if rec == nil {
		return nil
	}
	return m.header(tr, rec)
}

func (n *tally) count(want *eval.Outcome) {
	if want.Exit == eval.Full {
		n.full++
	}
	if want.Record != nil {
		n.records++
	}
	n.faults += want.Faults
}

// take removes the only event of what a program has reserved, and makes a record of it as the reader does.
func (m *machine) take(l *ring.Layout, pos, size uint64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	list, end, err := m.read(l, 0, pos, pos+size)
	if err == nil && (len(list) != 1 || end != pos+size) {
		err = fmt.Errorf("%d events in %d bytes, %d read", len(list), size, end-pos)
	}
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// read removes the complete events of a CPU's ring from pos to end, and checks all heads.
func (m *machine) read(l *ring.Layout, cpu, pos, end uint64) (list [][]byte, at uint64, err error) {
	data := m.mem[l.Rings+cpu*l.RingStride+ring.RingData:]
	offset := func(pos uint64) uint64 { return pos & (l.RingSize - 1) }
	word := func(pos, off uint64) uint64 {
		return atomic.LoadUint64((*uint64)(unsafe.Pointer(&data[offset(pos)+off])))
	}
	drop := func(n uint64) { clear(data[offset(pos):][:n]); pos += n }
	last, sub := pos, ring.SubSize(l.RingSize)
	for pos < end {
		w := word(pos, 0)
		switch w >> ring.WordKind & 31 {
		case ring.KindFiller:
			if last = pos; (pos+w>>32)%sub != 0 || w>>32 >= sub {
				return list, pos, fmt.Errorf("a filler of %d bytes at %#x", w>>32, pos)
			}
			drop(w >> 32)
			continue
		case ring.PacketMagic >> ring.WordKind:
			if w != ring.PacketMagic || pos%sub != 0 || word(pos, ring.PacketPosition) != pos || word(pos, ring.PacketBefore) != last || word(pos, ring.PacketBegin) == 0 {
				return list, pos, fmt.Errorf("sub-buffer at %#x, head %x", pos, data[offset(pos):][:ring.PacketHead])
			}
			drop(ring.PacketHead)
			continue
		case ring.KindContext:
			size := w >> 32
			if event := word(pos, ring.ContextSize); event == 0 || event&ring.WordPending != 0 {
				return list, pos, nil
			}
			time := word(pos, ring.ContextTime)
			if event := word(pos, ring.ContextSize); (time^w)&ring.WordClock != 0 || (time^event)&ring.WordClock != 0 {
				return list, pos, fmt.Errorf("words %#x, %#x of an event at %#x", w, event, time)
			}
			m.last[cpu].time, m.last[cpu].thread = time, word(pos, ring.ContextThread)
			drop(ring.ContextSize)
			rec, n, err := m.event(data[offset(pos):])
			if err != nil || n != size {
				return list, pos, fmt.Errorf("an event of %d bytes with a context of one of %d: %v", n, size, err)
			}
			list, last = append(list, m.head(cpu, rec)), pos+n
			drop(n)
			continue
		case ring.KindEvent:
			if w&ring.WordPending != 0 {
				return list, pos, nil
			}
			m.near++
			rec, n, err := m.event(data[offset(pos):])
			if err != nil {
				return list, pos, err
			}
			list, last = append(list, m.head(cpu, rec)), pos+n
			drop(n)
			continue
		case 0:
			if w == 0 {
				return list, pos, nil
			}
			fallthrough
		default:
			return list, pos, fmt.Errorf("word %#x at %#x", w, pos)
		}
	}
	return list, pos, nil
}

// event reads an event as a record without thread and with the low bits of its time, and its size in the ring.
func (m *machine) event(b []byte) (rec []byte, size uint64, err error) {
	word := binary.LittleEndian.Uint64(b)
	size, head := word>>53*8, uint64(ring.EventHead)
	if size == 0 {
		head, size = 2*head, binary.LittleEndian.Uint64(b[8:])
	}
	site := uint32(word>>32) & (1<<21 - 1)
	if size < head || size > uint64(len(b)) || uint32(word>>32) != ring.EventWord(site, size, head) || word>>ring.WordKind&31 != ring.KindEvent {
		return nil, 0, fmt.Errorf("event of %d bytes with the word %#x", size, word)
	}
	rec = binary.LittleEndian.AppendUint64(nil, size-head+ring.RecHeader|uint64(site+1)<<32)
	rec = binary.LittleEndian.AppendUint64(rec, word&ring.WordClock)
	rec = binary.LittleEndian.AppendUint64(rec, 0)
	return append(rec, b[head:size]...), size, nil
}

// head puts the thread and the time of the newest context into a record.
func (m *machine) head(cpu uint64, rec []byte) []byte {
	c := &m.last[cpu]
	time := binary.LittleEndian.Uint64(rec[8:]) | c.time&^ring.WordClock
	binary.LittleEndian.PutUint64(rec[8:], time)
	binary.LittleEndian.PutUint64(rec[16:], c.thread)
	return rec
}

// putContext puts a context of this thread before pos, for the event that comes there. It returns what is reserved then.
func (m *machine) putContext(l *ring.Layout, pos uint64) uint64 {
	var now unix.Timespec
	must(m.t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &now))
	m.last[0].time, m.last[0].thread = uint64(now.Nano()), m.env[ir.EnvPidTgid]
	at := m.mem[l.Rings+ring.RingData+(pos-ring.ContextSize)&(l.RingSize-1):]
	binary.LittleEndian.PutUint64(at[ring.ContextTime:], m.last[0].time)
	binary.LittleEndian.PutUint64(at[ring.ContextThread:], m.last[0].thread)
	return pos | ring.ContextSize/ring.NearUnit<<ring.NearShift
}

func (m *machine) header(tr *trial, rec []byte) error {
	size, site := binary.LittleEndian.Uint32(rec), binary.LittleEndian.Uint32(rec[4:])
	if int(size) != len(rec) || site != tr.cfg.Layout.SiteID+1 {
		return fmt.Errorf("header says size %d, site %d", size, site)
	}
	if id := binary.LittleEndian.Uint64(rec[ring.RecThread:]); id != m.env[ir.EnvPidTgid] {
		return fmt.Errorf("thread %#x, want %#x", id, m.env[ir.EnvPidTgid])
	}
	if binary.LittleEndian.Uint64(rec[ring.RecTSC:]) == 0 {
		return fmt.Errorf("no time")
	}
	return nil
}
