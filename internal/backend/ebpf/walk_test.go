package ebpf

import (
	"encoding/binary"
	"math/rand"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/unwind"
	"github.com/jalon-trace/jalon/test/testkit"
)

const (
	walkCode  = 0x5a3d00000000 // of the program whose stacks are walked
	walkStack = 64 << 10
)

// anonymous maps memory of this process, between memory that cannot be read.
func anonymous(t testing.TB, size int) (mem []byte, at uint64) {
	const guard = 1 << 20
	all, err := unix.Mmap(-1, 0, size+2*guard, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	must(t, err)
	t.Cleanup(func() { unix.Munmap(all) })
	mem = all[guard : guard+size]
	must(t, unix.Mprotect(mem, unix.PROT_READ|unix.PROT_WRITE))
	return mem, uint64(uintptr(unsafe.Pointer(&mem[0])))
}

// walkedRows are rules of code at walkCode.
func walkedRows(r *rand.Rand) []unwind.Row {
	var rows []unwind.Row
	for pc := uint64(walkCode); len(rows) < 400; pc += 1 + uint64(r.Intn(400)) {
		n := int64(1+r.Intn(16)) * 8
		rule := unwind.NewRule(unwind.BySP, n, int64(r.Intn(3))*8*int64(r.Intn(int(n/8+2))))
		switch r.Intn(40) {
		case 0, 1, 2:
			rule = unwind.NewRule(unwind.ByFP, 16, 16)
		case 3:
			rule = unwind.NewRule(unwind.SavedByFP, n, 0)
		case 4:
			rule = unwind.Rule(unwind.Signal)
		case 5:
			rule = unwind.Rule([]unwind.Kind{unwind.Outermost, unwind.None, unwind.General, 7}[r.Intn(4)])
		case 6:
			for range 20 { // a row a byte
				rows = append(rows, unwind.Row{PC: pc, Rule: unwind.NewRule(unwind.BySP, 8*int64(1+r.Intn(9)), 0)})
				pc++
			}
		}
		rows = append(rows, unwind.Row{PC: pc, Rule: rule})
	}
	return rows
}

// sharedName is the map of the shared area, sharedSize its size.
const (
	sharedName = "shared"
	sharedSize = 1 << 20
)

// walker records at most n frames. With shared the slot has the pc, as sema makes it.
func walker(n int64, shared bool) *ir.Program {
	b := ir.NewBuilder("walk")
	none := ir.Instr{Dst: ir.None, A: ir.None, B: ir.None, Fault: ir.NoBlock}
	emit := func(op ir.Op, imm, aux int64, x, y ir.Value) {
		i := none
		i.Op, i.Imm, i.Aux, i.A, i.B = op, imm, aux, x, y
		b.Emit(i)
	}
	sp, fp := b.Reg(7), b.Reg(6)
	emit(ir.Reserve, ir.RecordHeader+ir.CountedHeader+8*n, 0, ir.None, ir.None)
	if shared {
		put := none
		put.Op, put.W, put.A, put.Imm = ir.Put, 8, b.Reg(ir.RegPC), ir.RecordHeader+ir.CountedHeader
		b.Emit(put)
	}
	emit(ir.Walk, ir.RecordHeader, 8*n, sp, fp)
	emit(ir.Commit, 0, 0, ir.None, ir.None)
	b.Exit()
	return b.Finish()
}

// TestWalk: programs walk along random stacks of this process by random tables, as unwind.Walk does.
func TestWalk(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	m := newMachine(t)
	stack, stackAt := anonymous(t, walkStack)
	area, areaAt := anonymous(t, 2<<20)
	var shared []byte
	m.tabled, shared = mapping(t, sharedSize+TablesSlack)
	tgid := m.env[ir.EnvPidTgid] >> 32
	const sharedList, sharedTable = unwind.SharedLists + 128, unwind.SharedLists + 4096
	const tableAt = (unwind.AreaSize + 0xfff) &^ 0xfff
	l, size := layout()
	type form struct {
		n    int64
		prog *ebpf.Program
	}
	var forms []form
	for i, n := range []int64{1, 2, 10, 64, maxWalkFrames, 1, 10, 64, maxWalkFrames} {
		p := walker(n, i > 4)
		must(t, ir.Check(p))
		cfg := Config{
			Name: mapName, Layout: l, Slack: testSlack, MapSize: size, Context: Regs, Space: User, Features: m.full, Walk: areaAt, Sleeps: i%2 == 1,
		}
		if i > 4 {
			cfg.Tables = Tables{Name: sharedName, Size: sharedSize}
		}
		insns, err := Compile(p, cfg)
		must(t, err)
		prog := m.load(insns)
		t.Cleanup(func() { prog.Close() })
		forms = append(forms, form{n, prog})
		if i, err := prog.Info(); err == nil {
			if k, ok := i.VerifiedInstructions(); ok {
				t.Logf("%d frames: %d instructions, of which the verifier followed %d", n, len(insns), k)
			}
		}
	}
	host := (&Config{}).processor()
	regs := make([]byte, 256)
	put := func(reg arch.Reg, v uint64) {
		off, _ := host.PtRegs(reg)
		binary.LittleEndian.PutUint64(regs[off:], v)
	}
	ends, frames, runs := map[unwind.End]int{}, 0, 4000
	if n, err := strconv.Atoi(os.Getenv("JALON_EBPF_RUNS")); err == nil {
		runs = n
	}
	var rows []unwind.Row
	var table *unwind.Table
	for run := range runs {
		if run%200 == 0 {
			rows = walkedRows(r)
			table = unwind.New(rows)
			end := rows[len(rows)-1].PC
			clear(area)
			copy(area[tableAt:], table.Bytes())
			modules := []unwind.Module{
				{Lo: 0x1000, Hi: 0x2000, Table: unwind.New([]unwind.Row{{PC: 0x1000}, {PC: 0x2000}})},
				{Lo: walkCode, Hi: end, Table: table},
			}
			for i := range modules {
				copy(area[unwind.AreaModules+i*unwind.ModuleSize:], modules[i].Encode(areaAt+tableAt))
			}
			binary.LittleEndian.PutUint64(area[unwind.AreaCount:], uint64(len(modules)))
			clear(shared)
			copy(shared[sharedTable:], table.Bytes())
			for i := range uint64(run / 200 % 3) { // before the first one
				lo := 0x800 - i*0x100
				modules = append([]unwind.Module{{Lo: lo, Hi: lo + 0x100, Table: unwind.New([]unwind.Row{{PC: lo}, {PC: lo + 0x80}})}}, modules...)
			}
			for i := range uint64(run / 200 % 5) { // behind the last one
				lo := end + (i+1)<<20
				modules = append(modules, unwind.Module{Lo: lo, Hi: lo + 0x100, Table: unwind.New([]unwind.Row{{PC: lo}, {PC: lo + 0x100}})})
			}
			for i := range modules {
				copy(shared[sharedList+i*unwind.ModuleSize:], modules[i].Encode(sharedTable))
			}
			slot := shared[tgid%unwind.Processes*unwind.ProcessSize:]
			binary.LittleEndian.PutUint32(slot[unwind.ProcessTgid:], uint32(tgid))
			binary.LittleEndian.PutUint64(slot[unwind.ProcessList:], sharedList<<unwind.ListShift|uint64(len(modules)))
			for off := 0; off < len(stack); off += 8 {
				v := rows[0].PC + uint64(r.Intn(int(end-rows[0].PC)+100))
				switch r.Intn(24) {
				case 0, 1, 2:
					v = stackAt + uint64(off+r.Intn(4096))&^7
				case 3:
					v = []uint64{0, 1, 8, ^uint64(0), r.Uint64() | 1<<63, 1 << 47, 1<<47 | v}[r.Intn(7)]
				}
				binary.LittleEndian.PutUint64(stack[off:], v)
			}
		}
		pc := walkCode + uint64(r.Intn(int(rows[len(rows)-1].PC-walkCode)))
		start := unwind.Registers{PC: pc, SP: stackAt + uint64(r.Intn(walkStack))&^7, FP: stackAt + uint64(r.Intn(walkStack+4096))&^7}
		if r.Intn(8) == 0 {
			start.SP = stackAt + walkStack - uint64(r.Intn(32))*8
		}
		put(host.PC, start.PC)
		put(host.SP, start.SP)
		put(host.FP, start.FP)
		f := forms[r.Intn(len(forms))]
		mem := &unwind.Memory{Read: func(addr uint64) (uint64, bool) {
			if off := addr - stackAt; off <= walkStack-8 {
				return binary.LittleEndian.Uint64(stack[off:]), true
			}
			return 0, false
		}}
		want, end := unwind.Walk(start, mem, table.Find, make([]uint64, 0, f.n))
		pos := uint64(r.Intn(1<<20)) * 8
		binary.LittleEndian.PutUint64(m.mem[l.Rings+ring.RingReserved:], pos)
		binary.LittleEndian.PutUint64(m.mem[l.Rings+ring.RingConsumed:], pos)
		m.run(f.prog, regs)
		rec, err := m.take(&l, pos, ring.Position(binary.LittleEndian.Uint64(m.mem[l.Rings+ring.RingReserved:]))-pos)
		must(t, err)
		if int64(len(rec)) != int64(ir.RecordHeader+ir.CountedHeader)+8*f.n {
			t.Fatalf("run %d: a record of %d bytes", run, len(rec))
		}
		rec = rec[ir.RecordHeader:]
		flags := uint32(end) * ir.WalkEnd
		if end == unwind.Deep {
			flags |= ir.FlagTruncated
		}
		ok := binary.LittleEndian.Uint32(rec) == uint32(8*len(want)) && binary.LittleEndian.Uint32(rec[4:]) == flags
		for i, pc := range want {
			ok = ok && binary.LittleEndian.Uint64(rec[ir.CountedHeader+8*i:]) == pc
		}
		if !ok {
			t.Fatalf("run %d, %+v, %d frames: % x\nwant %#x %q", run, start, f.n, rec, want, end)
		}
		ends[end]++
		frames += len(want)
	}
	t.Logf("%d walks of %d frames; ends %v", runs, frames, ends)
	for end := unwind.Whole; end <= unwind.Damaged; end++ {
		if ends[end] < runs/1000 {
			t.Errorf("only %d of %d walks end with %q", ends[end], runs, end)
		}
	}
}

// TestTables: there are tables of the process if its slot is its own, not stale, and has the pages of code that the process has.
func TestTables(t *testing.T) {
	m := newMachine(t)
	var shared []byte
	m.tabled, shared = mapping(t, sharedSize+TablesSlack)
	spec, err := btf.LoadKernelSpec()
	must(t, err)
	var task, mm *btf.Struct
	must(t, spec.TypeByName("task_struct", &task))
	must(t, spec.TypeByName("mm_struct", &mm))
	l, size := layout()
	cfg := Config{
		Name: mapName, Layout: l, Slack: testSlack, MapSize: size, Context: Regs, Space: User, Features: m.full,
		Tables: Tables{Name: sharedName, Size: sharedSize, MM: offset(t, task, "mm"), Pages: offsetBelow(t, mm, "exec_vm")},
	}
	b := ir.NewBuilder("tables")
	v := b.Def(ir.I64, ir.Instr{Op: ir.Env, Imm: ir.EnvTables, A: ir.None, B: ir.None, Fault: ir.NoBlock})
	b.Emit(ir.Instr{Op: ir.Result, Dst: ir.None, A: v, B: ir.None, Fault: ir.NoBlock})
	b.Exit()
	p := b.Finish()
	must(t, ir.Check(p))
	insns, err := Compile(p, cfg)
	must(t, err)
	prog := m.load(insns)
	t.Cleanup(func() { prog.Close() })
	tgid := uint32(m.env[ir.EnvPidTgid] >> 32)
	slot := shared[tgid%unwind.Processes*unwind.ProcessSize:]
	pages := codePages(t)
	for _, x := range []struct {
		tgid, stale uint32
		pages       uint64
		want        uint32
	}{
		{tgid, 0, pages, 1}, {tgid, 1, pages, 0}, {tgid, 0, pages + 1, 0}, {tgid, 0, 0, 0}, {tgid + unwind.Processes, 0, pages, 0}, {0, 0, pages, 0}, {tgid, 0, pages, 1},
	} {
		binary.LittleEndian.PutUint32(slot[unwind.ProcessTgid:], x.tgid)
		binary.LittleEndian.PutUint32(slot[unwind.ProcessStale:], x.stale)
		binary.LittleEndian.PutUint64(slot[unwind.ProcessPages:], x.pages)
		if got := m.run(prog, make([]byte, 256)); got != x.want {
			t.Errorf("%+v: %d", x, got)
		}
	}
	if _, err := Compile(p, Config{Name: mapName, Layout: l, Slack: testSlack, MapSize: size, Context: Regs}); err == nil {
		t.Error("a program without tables is accepted")
	}
}

// offsetBelow is that of a member of a struct or of one without a name in it.
func offsetBelow(t *testing.T, s *btf.Struct, name string) int32 {
	for _, m := range s.Members {
		inner, ok := btf.UnderlyingType(m.Type).(*btf.Struct)
		if m.Name == name || m.Name == "" && ok && slices.ContainsFunc(inner.Members, func(m btf.Member) bool { return m.Name == name }) {
			if m.Name == name {
				return int32(m.Offset.Bytes())
			}
			return int32(m.Offset.Bytes()) + offset(t, inner, name)
		}
	}
	t.Fatalf("no %s in struct %s", name, s.Name)
	return 0
}

// codePages is how many pages of code this process has.
func codePages(t *testing.T) (pages uint64) {
	b, err := os.ReadFile("/proc/self/status")
	must(t, err)
	for _, m := range regexp.MustCompile(`Vm(?:Exe|Lib):\s*(\d+) kB`).FindAllStringSubmatch(string(b), -1) {
		kb, err := strconv.ParseUint(m[1], 10, 64)
		must(t, err)
		pages += kb * 1024 / uint64(os.Getpagesize())
	}
	return pages
}
