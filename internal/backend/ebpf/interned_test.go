package ebpf

import (
	"encoding/binary"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/unwind"
	"github.com/jalon-trace/jalon/test/testkit"
)

const (
	usersName  = "users"
	tracesName = "traces"
	usersNodes = 1 << 14
)

// internedTest has programs that enter stacks of this process by random tables.
type internedTest struct {
	*machine
	t       *testing.T
	stack   []byte
	stackAt uint64
	shared  []byte
	users   []byte
	code    UserStacks
	stacks  *ring.Stacks
	tgid    uint64
	progs   map[int64]*ebpf.Program // by frames
	table   *unwind.Table
	rows    []unwind.Row
}

func newInternedTest(t *testing.T, frames ...int64) *internedTest {
	x := &internedTest{machine: newMachine(t), t: t, progs: map[int64]*ebpf.Program{}, code: UserStacks{Name: usersName, Nodes: usersNodes}}
	x.stack, x.stackAt = anonymous(t, walkStack)
	x.tabled, x.shared = mapping(t, sharedSize+TablesSlack)
	m, mem := mapping(t, int(x.code.Size()))
	traces, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.StackTrace, KeySize: 4, ValueSize: 8 * 64, MaxEntries: 64})
	must(t, err)
	t.Cleanup(func() { traces.Close() })
	x.others, x.users = map[string]*ebpf.Map{usersName: m, tracesName: traces}, mem
	x.stacks, x.tgid = ring.StacksOf(mem, usersNodes), x.env[ir.EnvPidTgid]>>32
	spec, err := btf.LoadKernelSpec()
	must(t, err)
	var task, mm *btf.Struct
	must(t, spec.TypeByName("task_struct", &task))
	must(t, spec.TypeByName("mm_struct", &mm))
	l, size := layout()
	for _, n := range frames {
		p, err := ir.Parse("b0:\n\tv0 = ctx.8 0\n\tv1 = userstack v0, " + strconv.FormatInt(8*n, 10) + "\n\tsetvar 0, v1\n\texit")
		must(t, err)
		must(t, ir.Check(p))
		insns, err := Compile(p, Config{
			Name: mapName, Layout: l, Slack: testSlack, MapSize: size, Context: Args, Features: x.full, UserStacks: x.code,
			Tables: Tables{Name: sharedName, Size: sharedSize, MM: offset(t, task, "mm"), Pages: offsetBelow(t, mm, "exec_vm")},
			Stacks: []StackTable{{Name: tracesName, Frames: n, First: FirstStack}},
		})
		must(t, err)
		prog, err := x.tryLoad(ebpf.RawTracepoint, insns)
		must(t, err)
		t.Cleanup(func() { prog.Close() })
		x.progs[n] = prog
		if i, err := prog.Info(); err == nil {
			if k, ok := i.VerifiedInstructions(); ok {
				t.Logf("%d frames: %d instructions, of which the verifier followed %d", n, len(insns), k)
			}
		}
	}
	return x
}

// tables gives the process new tables, and its stack new words.
func (x *internedTest) tables(r *rand.Rand, space uint64) {
	const list, table = unwind.SharedLists + 128, unwind.SharedLists + 4096
	x.rows = walkedRows(r)
	x.table = unwind.New(x.rows)
	end := x.rows[len(x.rows)-1].PC
	clear(x.shared)
	copy(x.shared[table:], x.table.Bytes())
	m := unwind.Module{Lo: walkCode, Hi: end, Table: x.table}
	copy(x.shared[list:], m.Encode(table))
	slot := x.shared[x.tgid%unwind.Processes*unwind.ProcessSize:]
	binary.LittleEndian.PutUint32(slot[unwind.ProcessTgid:], uint32(x.tgid))
	binary.LittleEndian.PutUint64(slot[unwind.ProcessList:], space<<unwind.SpaceShift|list<<unwind.ListShift|1)
	binary.LittleEndian.PutUint64(slot[unwind.ProcessPages:], codePages(x.t))
	for off := 0; off < len(x.stack); off += 8 {
		v := x.rows[r.Intn(16)*r.Intn(len(x.rows)/16)].PC + 1
		switch r.Intn(24) {
		case 0, 1, 2:
			v = x.stackAt + uint64(off+r.Intn(4096))&^7
		case 3:
			v = []uint64{0, 1, ^uint64(0), r.Uint64() | 1<<63, 1 << 47, 1<<47 - 1}[r.Intn(6)]
		}
		binary.LittleEndian.PutUint64(x.stack[off:], v)
	}
}

// number runs the program for stacks of n frames.
func (x *internedTest) number(start unwind.Registers, n int64) uint64 {
	host := (&Config{}).processor()
	for reg, v := range map[arch.Reg]uint64{host.PC: start.PC, host.SP: start.SP, host.FP: start.FP} {
		off, _ := host.PtRegs(reg)
		binary.LittleEndian.PutUint64(x.highMem[off:], v)
	}
	x.run(x.progs[n], binary.LittleEndian.AppendUint64(nil, x.highAt))
	l, _ := layout()
	return *x.machine.shared(l.Variables)
}

func (x *internedTest) registers(r *rand.Rand) unwind.Registers {
	start := unwind.Registers{
		PC: walkCode + uint64(r.Intn(int(x.rows[len(x.rows)-1].PC-walkCode))),
		SP: x.stackAt + uint64(r.Intn(walkStack))&^7, FP: x.stackAt + uint64(r.Intn(walkStack+4096))&^7,
	}
	if r.Intn(4) > 0 { // few places, so that stacks are equal
		start.PC, start.SP, start.FP = x.rows[r.Intn(8)].PC, x.stackAt+uint64(r.Intn(8))*64, x.stackAt+uint64(r.Intn(8))*512
	}
	return start
}

// TestInterned: programs of the kernel give stacks the numbers that the process's code gives them.
func TestInterned(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	frames := []int64{1, 2, 10, 64, maxWalkFrames}
	x := newInternedTest(t, frames...)
	other := make([]byte, x.code.Size())
	mine := ring.StacksOf(other, usersNodes)
	runs := 4000
	if n, err := strconv.Atoi(os.Getenv("JALON_EBPF_RUNS")); err == nil {
		runs = n
	}
	known, ends, full := map[uint32]bool{}, map[unwind.End]int{}, 0
	for run := range runs {
		space := uint64(1 + run/500)
		if run%500 == 0 {
			x.tables(r, space)
		}
		start, n := x.registers(r), frames[r.Intn(len(frames))]
		mem := &unwind.Memory{Read: func(addr uint64) (uint64, bool) {
			if off := addr - x.stackAt; off <= walkStack-8 {
				return binary.LittleEndian.Uint64(x.stack[off:]), true
			}
			return 0, false
		}}
		pcs, end := unwind.Walk(start, mem, x.table.Find, make([]uint64, 0, n))
		if at := slices.IndexFunc(pcs, func(pc uint64) bool { return pc>>ring.StackPCBits != 0 }); at > 0 {
			pcs, end = pcs[:at], unwind.Damaged
		}
		want := mine.Intern(pcs, uint8(end))
		got := x.number(start, n)
		if want == 0 {
			full++
		} else if got>>32 != space {
			t.Fatalf("run %d: address space %d, want %d", run, got>>32, space)
		}
		if uint32(got) != want {
			t.Fatalf("run %d, %+v, %d frames: %#x, want %#x %q\n%#x", run, start, n, got, want, end, pcs)
		}
		known[want] = true
		ends[end]++
	}
	t.Logf("%d stacks, %d different ones, %d without a place; ends %v", runs, len(known), full, ends)
	if x.stacks.Full() != mine.Full() {
		t.Errorf("%d stacks were counted as without a place, want %d", x.stacks.Full(), mine.Full())
	}
	if !slices.Equal(x.users[ring.StacksNodes:x.code.LateAt()], other[ring.StacksNodes:x.code.LateAt()]) {
		t.Error("the tables differ")
	}
	binary.LittleEndian.PutUint64(x.users, 0)
	for i := uint64(0); i < 8*usersNodes; i += 8 { // no room
		binary.LittleEndian.PutUint64(x.users[ring.StacksNodes+i:], 1)
	}
	if got := x.number(x.registers(r), 10); got != 0 || x.stacks.Full() != 1 {
		t.Errorf("in a full table: %#x, %d counted", got, x.stacks.Full())
	}
}

// TestLateSpaces: the stack of a process without tables has a number of the kernel, and an address space that says when and which
// process; the process is noted. At the end of the numbers the process is the number.
func TestLateSpaces(t *testing.T) {
	x := newInternedTest(t, 10)
	binary.LittleEndian.PutUint64(x.users[unwind.SpaceNext:], 1)
	late := x.users[x.code.LateAt()+x.tgid%unwind.Processes*unwind.LateSize:]
	space := func(n uint64) (tgid, time uint64) {
		at := x.users[x.code.SpacesAt()+n*unwind.SpaceSize:]
		return binary.LittleEndian.Uint64(at[unwind.SpaceTgid:]), binary.LittleEndian.Uint64(at[unwind.SpaceTime:])
	}
	for turn, want := range []uint64{1, 1, 2, unwind.SpaceProcess | x.tgid, unwind.SpaceProcess | x.tgid} {
		switch turn {
		case 2: // another process has the entry
			binary.LittleEndian.PutUint64(late[unwind.LateSpace:], (x.tgid+unwind.Processes)<<32|77)
		case 3:
			clear(late[:unwind.LateSize])
			binary.LittleEndian.PutUint64(x.users[unwind.SpaceNext:], unwind.Spaces)
		}
		clear(x.users[unwind.SpaceWanted:][:8])
		got := x.number(unwind.Registers{}, 10)
		if n := uint32(got); n < FirstStack || n&ring.StackKnown != 0 || got>>32 != want {
			t.Errorf("turn %d: %#x, want address space %#x", turn, got, want)
		}
		if binary.LittleEndian.Uint64(x.users[unwind.SpaceLate:]) != uint64(turn+1) || x.users[unwind.SpaceWanted] != 1 || late[unwind.LateWanted] != 1 {
			t.Errorf("turn %d: the hit is not counted, or the process not noted: % x, % x", turn, x.users[:32], late[:16])
		}
		if tgid, time := space(want & 3); turn < 3 && (tgid != x.tgid || time == 0) {
			t.Errorf("turn %d: process %d at %d", turn, tgid, time)
		}
	}
	if next := binary.LittleEndian.Uint64(x.users[unwind.SpaceNext:]); next != unwind.Spaces {
		t.Errorf("the next number is %d", next)
	}
}
