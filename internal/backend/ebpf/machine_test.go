package ebpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/ring"
)

// The machine that programs are run on is this kernel, by BPF_PROG_TEST_RUN of
// a program of type "syscall": its context is a block of bytes that the test
// gives, and all helpers that tracing programs have work in it.
const (
	testRing  = 16 << 10
	testOver  = 512 << 10 // of rings that are overwritten
	testSub   = 512
	testSlack = 12 << 10
	testSites = 8
	mapName   = "buffers"
)

// layout is that of the map of the tests, for two CPUs.
func layout() (ring.Layout, uint64) {
	l := ring.Layout{
		Counters: 64, CounterStride: 4096 - 64, Given: 64 + 8*ring.CounterRecorded, Recorded: 64 + 8*ring.CounterRecorded,
		Rings: 2 * 4096, RingStride: ring.RingData + testRing + testSlack, RingSize: testRing,
		SiteID: 41, CPUMask: 1,
		Variables: 8, VariableCount: irgen.Vars,
	}
	over := overwriting(l)
	return l, over.Rings + 2*over.RingStride
}

// overwriting is the layout with rings that are overwritten, which are behind the others.
func overwriting(l ring.Layout) ring.Layout {
	l.Rings, l.Given, l.Overwrite = l.Rings+2*l.RingStride, 4096-128, true
	l.RingStride, l.RingSize = ring.RingData+testOver+testSlack, testOver
	return l
}

// testTables are the tables of irgen's maps.
func testTables() (list []Table) {
	for _, m := range irgen.MapsOf {
		t := Table{Name: m.Name, Shape: maps.Shape{Slots: m.Slots, Limit: m.Limit, Words: m.Words, More: m.More, Single: m.Single, Reuse: m.Deletes}}
		if m.Cells {
			t.Sets = 1 + len(list)%2 // CPUs may share one
		}
		list = append(list, t)
	}
	return list
}

// setMaps makes the tables with which a run begins.
func (m *machine) setMaps(in eval.Maps, full bool) {
	for n, tab := range testTables() {
		clear(m.mapsMem[n])
		if n < len(in) {
			tab.Fill(m.mapsMem[n], full, func(add func(key []uint64, shown bool, value []uint64)) {
				for k, s := range in[n] {
					add(k[:tab.KeyWords()], s.Shown, s.Words)
				}
			})
		}
	}
}

// tables reads what a run has left.
func (m *machine) tables() (out eval.Maps, noRoom uint64) {
	out = eval.Maps{}.Clone(len(irgen.MapsOf))
	for n, tab := range testTables() {
		r := maps.NewReader(tab.Shape, m.mapsMem[n])
		noRoom += r.NoRoom()
		for e := range r.Entries() {
			if tab.Sets > 0 {
				e.Value = r.Sum(&e, irgen.MapSums)
			}
			k := eval.Key{}
			copy(k[:], e.Key)
			out[n][k] = &eval.Slot{Shown: e.Shown, Words: e.Value}
		}
	}
	return out, noRoom
}

type machine struct {
	t       testing.TB
	buffers *ebpf.Map
	mem     []byte // of buffers
	maps    []*ebpf.Map
	tabled  *ebpf.Map // sharedName
	others  map[string]*ebpf.Map
	mapsMem [][]byte
	high    *ebpf.Map
	highMem []byte
	highAt  uint64
	user    []byte // at irgen.DefaultBase
	probe   *ebpf.Program
	ctx     [16]byte
	over    overState
	near    int                              // events that read found without a context of their own
	last    [2]struct{ time, thread uint64 } // the context of what read finds next, by CPU

	full Features // of this kernel
	env  [ir.NumEnv]uint64
	comm [ir.CommSize]byte

	// Of events in rings that are overwritten: without a context, that begin sub-buffers, that passed over others.
	overNear, overBegun, overPassed int

	state    *irgen.State
	lastHigh uint64
}

// newMachine keeps the calling goroutine on one thread and one CPU.
func newMachine(t testing.TB) *machine {
	t.Helper()
	runtime.LockOSThread()
	m := &machine{t: t, full: features(t)}
	must(t, rlimit.RemoveMemlock())
	_, size := layout()
	m.buffers, m.mem = mapping(t, int(size))
	m.high, m.highMem = mapping(t, irgen.HighSize)
	for _, tab := range testTables() {
		x, mem := mapping(t, int(tab.Bytes()))
		m.maps, m.mapsMem = append(m.maps, x), append(m.mapsMem, mem)
	}
	m.user = userMemory(t)
	var old, one unix.CPUSet
	must(t, unix.SchedGetaffinity(0, &old))
	one.Set(0)
	must(t, unix.SchedSetaffinity(0, &one))
	t.Cleanup(func() { unix.SchedSetaffinity(0, &old); runtime.UnlockOSThread() })
	m.highAt = m.addressOf(m.high)
	m.probe = m.load(prober())
	m.readEnvironment()
	return m
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// features are those of this kernel, found by loading programs that need them.
func features(t testing.TB) Features {
	t.Helper()
	f := Features{FSBase: -1, TaskComm: -1}
	spec, err := btf.LoadKernelSpec()
	must(t, err)
	f.V4 = loads(asm.Mov.Imm(asm.R0, 5), asm.SDiv.Imm(asm.R0, -2), asm.MovSX8.Reg(asm.R0, asm.R0), asm.LongJump("end"), asm.Return().WithSymbol("end"))
	var cast *btf.Func
	if host.Processor.GuardedLoads && spec.TypeByName("bpf_rdonly_cast", &cast) == nil {
		id, err := spec.TypeID(cast)
		must(t, err)
		if loads(asm.Mov.Imm(asm.R1, 0), asm.Mov.Imm(asm.R2, 0),
			asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoKfuncCall, Constant: int64(id)},
			asm.LoadMem(asm.R0, asm.R0, 8, asm.DWord), asm.Return()) {
			f.RdonlyCast = int32(id)
		}
	}
	var task *btf.Struct
	must(t, spec.TypeByName("task_struct", &task))
	f.TaskComm = offset(t, task, "comm")
	f.FSBase = offset(t, task, host.Processor.Task.ThreadPointer)
	return f
}

// offset is that of a member, by a path of names.
func offset(t testing.TB, s *btf.Struct, path string) int32 {
	t.Helper()
	name, rest, more := strings.Cut(path, ".")
	for _, m := range s.Members {
		if m.Name != name {
			continue
		}
		if more {
			return int32(m.Offset.Bytes()) + offset(t, btf.UnderlyingType(m.Type).(*btf.Struct), rest)
		}
		return int32(m.Offset.Bytes())
	}
	t.Fatalf("no %s in struct %s", name, s.Name)
	return 0
}

// loads reports whether this kernel takes the instructions.
func loads(insns ...asm.Instruction) bool {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Syscall, Flags: unix.BPF_F_SLEEPABLE, Instructions: insns, License: "GPL"})
	if err != nil {
		return false
	}
	p.Close()
	return true
}

// mapping makes an array of one value that is mapped here, too.
func mapping(t testing.TB, size int) (*ebpf.Map, []byte) {
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size), MaxEntries: 1, Flags: unix.BPF_F_MMAPABLE})
	must(t, err)
	pages := (size + irgen.PageSize - 1) &^ (irgen.PageSize - 1)
	mem, err := unix.Mmap(m.FD(), 0, pages, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	must(t, err)
	t.Cleanup(func() { unix.Munmap(mem); m.Close() })
	return m, mem[:size]
}

// userMemory maps the readable pages of irgen's memory.
func userMemory(t testing.TB) []byte {
	const size = irgen.PageCount * irgen.PageSize
	addr, _, errno := unix.Syscall6(unix.SYS_MMAP, irgen.DefaultBase, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uintptr(0), 0)
	if errno != 0 {
		t.Fatalf("mapping memory at %#x: %v", irgen.DefaultBase, errno)
	}
	mem := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), size)
	t.Cleanup(func() { unix.Syscall(unix.SYS_MUNMAP, addr, size, 0) })
	for page, ok := range irgen.Readable {
		if !ok {
			must(t, unix.Mprotect(mem[page*irgen.PageSize:(page+1)*irgen.PageSize], unix.PROT_NONE))
		}
	}
	return mem
}

// setMemory gives the memories the contents of s.
func (m *machine) setMemory(s *irgen.State) {
	for page, ok := range irgen.Readable {
		if ok {
			copy(m.user[page*irgen.PageSize:(page+1)*irgen.PageSize], s.Mem[page*irgen.PageSize:])
		}
	}
	copy(m.highMem, s.High[:])
}

// load loads instructions; a refusal ends the test with the verifier's log.
func (m *machine) load(insns asm.Instructions) *ebpf.Program {
	m.t.Helper()
	p, err := m.tryLoad(ebpf.Syscall, insns)
	if err != nil {
		m.t.Fatalf("%+v", err)
	}
	return p
}

func (m *machine) tryLoad(typ ebpf.ProgramType, insns asm.Instructions) (*ebpf.Program, error) {
	for k := range insns {
		name := insns[k].Reference()
		x := m.buffers
		if at := slices.IndexFunc(testTables(), func(t Table) bool { return t.Name == name }); at >= 0 {
			x = m.maps[at]
		} else if name == sharedName {
			x = m.tabled
		} else if m.others[name] != nil {
			x = m.others[name]
		} else if name != mapName {
			continue
		}
		if err := insns[k].AssociateMap(x); err != nil {
			return nil, err
		}
	}
	spec := &ebpf.ProgramSpec{Type: typ, Instructions: insns, License: "GPL"}
	if typ == ebpf.Syscall {
		spec.Flags = unix.BPF_F_SLEEPABLE
	}
	p, err := ebpf.NewProgramWithOptions(spec, ebpf.ProgramOptions{LogSizeStart: 1 << 20})
	var ve *ebpf.VerifierError
	if errors.As(err, &ve) {
		log := ve.Log
		if len(log) > 60 {
			log = log[len(log)-60:]
		}
		s := ""
		for _, line := range log {
			s += line + "\n"
		}
		return nil, fmt.Errorf("%w\n%s\n%s", err, s, Listing(insns))
	}
	return p, err
}

// run runs p with a context block and returns its value.
func (m *machine) run(p *ebpf.Program, ctx []byte) uint32 {
	m.t.Helper()
	v, err := p.Run(&ebpf.RunOptions{Context: ctx})
	must(m.t, err)
	return v
}

// addressOf gives the kernel's address of a map's value.
func (m *machine) addressOf(x *ebpf.Map) uint64 {
	p := m.load(asm.Instructions{
		asm.LoadMapValue(asm.R2, x.FD(), 0),
		asm.HostTo(asm.LE, asm.R2, asm.DWord),
		asm.StoreMem(asm.R1, 0, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	})
	defer p.Close()
	out := make([]byte, 8)
	_, err := p.Run(&ebpf.RunOptions{Context: make([]byte, 8), ContextOut: out})
	must(m.t, err)
	return binary.LittleEndian.Uint64(out)
}

// prober is a program written by hand that reads the byte at the address in its
// context: the value of the program is the byte, or 256 when it cannot be read.
func prober() asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R3, asm.R1, 0, asm.DWord),
		asm.Mov.Reg(asm.R1, asm.R10),
		asm.Add.Imm(asm.R1, -8),
		asm.Mov.Imm(asm.R2, 1),
		asm.JSLT.Imm(asm.R3, 0, "kernel"),
		asm.FnProbeReadUser.Call(),
		asm.Ja.Label("done"),
		asm.FnProbeReadKernel.Call().WithSymbol("kernel"),
		asm.JNE.Imm(asm.R0, 0, "fault").WithSymbol("done"),
		asm.LoadMem(asm.R0, asm.R10, -8, asm.Byte),
		asm.Return(),
		asm.Mov.Imm(asm.R0, 256).WithSymbol("fault"),
		asm.Return(),
	}
}

// outside is the memory that is not the test's own, as the prober sees it. (The
// test program itself lies there, and the kernel.)
type outside struct {
	m     *machine
	space Space
}

// Read implements eval.Memory.
func (o outside) Read(addr uint64, buf []byte) int {
	for n := range buf {
		if o.space == User && int64(addr)+int64(n) < 0 {
			return n
		}
		binary.LittleEndian.PutUint64(o.m.ctx[:], addr+uint64(n))
		v := o.m.run(o.m.probe, o.m.ctx[:8])
		if v > 255 {
			return n
		}
		buf[n] = byte(v)
	}
	return len(buf)
}

// readEnvironment finds the words of the environment in other ways than the
// programs do.
func (m *machine) readEnvironment() {
	uid, gid := uint64(os.Getuid()), uint64(os.Getgid())
	m.env[ir.EnvPidTgid] = uint64(os.Getpid())<<32 | uint64(unix.Gettid())
	m.env[ir.EnvUidGid] = gid<<32 | uid
	task := m.load(asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.FnGetCurrentTask.Call(),
		asm.StoreMem(asm.R6, 0, asm.R0, asm.DWord),
		asm.FnGetCurrentCgroupId.Call(),
		asm.StoreMem(asm.R6, 8, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	})
	defer task.Close()
	out := make([]byte, 16)
	_, err := task.Run(&ebpf.RunOptions{Context: make([]byte, 16), ContextOut: out})
	must(m.t, err)
	m.env[ir.EnvTask] = binary.LittleEndian.Uint64(out)
	m.env[ir.EnvCgroup] = binary.LittleEndian.Uint64(out[8:])
	comm, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/comm", unix.Gettid()))
	must(m.t, err)
	copy(m.comm[:ir.CommSize-1], comm[:len(comm)-1])
}
