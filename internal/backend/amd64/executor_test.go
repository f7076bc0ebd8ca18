package amd64

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch"
	x86 "github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/ring"
)

// The protocol with testdata/executor.c; keep in step with it.
const (
	maxCases    = 512
	maxRec      = 10240
	execRings   = 4
	ringSize    = 16384
	subSize     = 512
	ringStride  = 65536
	counterStep = 4096
	siteOff     = 96

	offMem    = 0x1000
	offMaps   = 0x1f0000 // the tables before each case
	mapsSize  = 18944
	mapsAt    = 0xe0000 // of the shared memory
	offIn     = 0x10000
	offOut    = 0x200000
	offFaults = 0x1200000
	offCode   = 0x1500000
	codeSize  = 0x800000
	offShared = 0x1D00000
	shmSize   = 0x2602000

	coldPart      = 0x500000 // of the code's memory: for cold sections
	constantsRoom = 64       // the end of it: Config.Constants

	codeAddr = 0x5a3c17650000
	nearAddr = 0x5a3c27650000
	farAddr  = 0x3b917c240000
	lowAddr  = 0x71230000

	registeredOff = 0x8000 // of the shared memory: the table of thread pointers
	tcbAddr       = 0x5a3c37650000
	tcbRseq       = 64

	coarseTime = 0x123456789abc
)

type caseIn struct {
	Code, NFault, Faults, Base  uint64
	Regs                        [16]uint64 // by hardware number
	Flags, FS, GS, MXCSR        uint64
	RingPos, Consumed, Control_ uint64
	Selectors                   [4]uint16 // ds es fs gs
	YMM                         [16][32]byte
	Vars                        [irgen.Vars]uint64
	X87                         [x86.X87Bytes]byte
	Initial                     uint64 // bits of x86.InUse
	NEdge                       uint64
	Race                        uint64 // the instruction behind which other writers and the reader move the rings on; 0: none
	Listed                      uint64 // the thread pointer tcbAddr is registered
	Abort                       uint64 // the instruction of a restartable sequence where the thread gets a signal; 0: none
	Ready                       uint64 // the rings have a context of this thread: 1 of this time, else of this epoch
	Dies                        uint64 // the thread does nothing any more from the instruction at Abort on
	Gone                        uint64 // gone, cpuID; 0: the struct rseq is registered and the kernel's only
	CPU                         uint64 // what the program has written, with cpuID
	Overwrite                   uint64 // the rings are overwritten
	Busy                        uint64 // sub-buffers that are not complete, as bits
	// Near is how many units the newest context of the rings from NearFrom on is back, 0: it may not be used. NearTime 0 is now, 1 not stored yet.
	Near, NearFrom, NearThread, NearTime uint64

	Claim uint64 // where a sequence that was aborted has claimed a sub-buffer, or 0
}

// What a thread has done to its struct rseq since it was listed.
const (
	gone  = 1 // given it back to the kernel
	cpuID = 2 // written to cpu_id
)

type caseOut struct {
	Regs                                         [16]uint64
	Flags, FS, GS, MXCSR                         uint64
	Sig, PC, Addr, Ring, RecLen, BadMem, NFaults uint64
	Selectors                                    [4]uint16
	Counters                                     [4]uint64
	YMM                                          [16][32]byte
	Vars                                         [irgen.Vars]uint64
	Before, After                                [x86.X87Bytes]byte // the x87 state
	InUse, NEdges, Raced, Aborted, Died          uint64
	Pos, Dropped, Distance                       uint64 // where the rings' free room begins; what they had no room for
	Maps                                         [mapsSize]byte
	Subs                                         [ringSize / subSize]uint64 // complete units
	Rec                                          [maxRec]byte
}

// executor is a child process that runs generated code.
type executor struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *os.File
	shm  []byte
	leav uint64 // where code goes when it is done
	edge bool   // the stack ends close below rsp

	n, code, cold, faults int // fill of the current batch
}

// buildExecutor compiles the child with the C compiler of the machine.
func buildExecutor(t testing.TB) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "executor")
	cmd := exec.Command("gcc", "-O1", "-fPIE", "-pie", "-fno-stack-protector", "-o", bin, "testdata/executor.c")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the executor: %v\n%s", err, out)
	}
	return bin
}

func startExecutor(t testing.TB, base uint64, mem []byte, args ...string) *executor {
	t.Helper()
	fewAccidents(t)
	fd, err := unix.MemfdCreate("executor", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "executor")
	defer f.Close()
	if err := f.Truncate(shmSize); err != nil {
		t.Fatal(err)
	}
	e := &executor{}
	if e.shm, err = unix.Mmap(fd, 0, shmSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	e.cmd = exec.Command(buildExecutor(t), args...)
	e.cmd.ExtraFiles = []*os.File{f}
	e.cmd.Env = append(os.Environ(), "GLIBC_TUNABLES=glibc.pthread.rseq=0") // it registers a struct rseq of its own
	e.cmd.Stderr = os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	e.out, e.cmd.Stdout = r, w
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		e.in.Close()
		e.cmd.Process.Kill()
		e.cmd.Wait()
		e.out.Close()
		unix.Munmap(e.shm)
	})
	if err := e.wait(); err != nil {
		t.Fatalf("starting the executor: %v", err)
	}
	e.leav = e.word(16)
	e.setWord(24, base)
	for _, c := range execConstants() {
		e.setWord(offCode+int(c.At-codeAddr), c.Value)
	}
	copy(e.shm[offMem:], mem)
	return e
}

func (e *executor) word(off int) uint64       { return binary.LittleEndian.Uint64(e.shm[off:]) }
func (e *executor) setWord(off int, v uint64) { binary.LittleEndian.PutUint64(e.shm[off:], v) }

func (e *executor) wait() error {
	var b [1]byte
	e.out.SetReadDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.ReadFull(e.out, b[:]); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("case %d does not end", e.word(8))
		}
		return fmt.Errorf("executor died in case %d: %v", e.word(8), err)
	}
	return nil
}

func (e *executor) setMemory(mem []byte) { copy(e.shm[offMem:], mem) }

// setMaps makes the tables with which the cases begin. full: they have no room for other keys.
func (e *executor) setMaps(m eval.Maps, full bool) {
	image := e.shm[offMaps : offMaps+mapsSize]
	clear(image)
	for n, tab := range execMaps(0) {
		tab.Fill(image[tab.Addr:], full, func(add func(key []uint64, shown bool, value []uint64)) {
			for k, s := range m[n] {
				add(k[:tab.KeyWords()], s.Shown, s.Words)
			}
		})
	}
}

// execMaps are the tables of irgen's maps, if the shared memory's part for them is at base.
func execMaps(base uint64) (list []maps.Table) {
	for _, m := range irgen.MapsOf {
		t := maps.Table{Shape: maps.Shape{Slots: m.Slots, Limit: m.Limit, Words: m.Words, More: m.More, Single: m.Single, Reuse: m.Deletes}, Addr: base}
		if m.Cells {
			t.Sets = 2 * execRings
		}
		list = append(list, t)
		base += t.Bytes()
	}
	if base-list[0].Addr != mapsSize {
		panic(base - list[0].Addr)
	}
	return list
}

// tables reads what a case has left.
func (o *caseOut) tables() (m eval.Maps, noRoom uint64) {
	m = eval.Maps{}.Clone(len(irgen.MapsOf))
	for n, tab := range execMaps(0) {
		r := maps.NewReader(tab.Shape, o.Maps[tab.Addr:])
		noRoom += r.NoRoom()
		for e := range r.Entries() {
			if tab.Sets > 0 {
				e.Value = r.Sum(&e, irgen.MapSums)
			}
			k := eval.Key{}
			copy(k[:], e.Key)
			m[n][k] = &eval.Slot{Shown: e.Shown, Words: e.Value}
		}
	}
	return m, noRoom
}

// codeAddr is where the next code goes.
func (e *executor) nextAddr() uint64 { return codeAddr + uint64(e.code) }

func (e *executor) coldAddr() uint64 { return codeAddr + uint64(e.cold) }

// addCode places code and the jump behind it; false: the batch is full.
func (e *executor) addCode(c *Code) (first int, ok bool) {
	if e.code+len(c.Bytes)+64 > coldPart || e.cold+len(c.Cold) > codeSize-constantsRoom || offFaults+16*(e.faults+len(c.Faults)+len(c.Edges)) > offCode {
		return 0, false
	}
	at := offCode + e.code
	copy(e.shm[at:], c.Bytes)
	at += len(c.Bytes)
	copy(e.shm[at:], []byte{0xff, 0x25, 0, 0, 0, 0})
	e.setWord(at+6, e.leav)
	first = e.faults
	for _, f := range slices.Concat(c.Faults, c.Edges) {
		e.setWord(offFaults+16*e.faults, f.PC)
		e.setWord(offFaults+16*e.faults+8, f.Fixup)
		e.faults++
	}
	e.code += (len(c.Bytes) + 64) &^ 15
	copy(e.shm[offCode+e.cold:], c.Cold)
	e.cold += len(c.Cold)
	return first, true
}

func (e *executor) input(i int) *caseIn {
	return (*caseIn)(unsafe.Pointer(&e.shm[offIn+i*int(unsafe.Sizeof(caseIn{}))]))
}

func (e *executor) output(i int) *caseOut {
	return (*caseOut)(unsafe.Pointer(&e.shm[offOut+i*int(unsafe.Sizeof(caseOut{}))]))
}

func (e *executor) reset() { e.n, e.code, e.cold, e.faults = 0, 0, coldPart, 0 }

// run executes the batch.
func (e *executor) run() error {
	e.setWord(0, uint64(e.n))
	if _, err := e.in.Write([]byte{'g'}); err != nil {
		return err
	}
	return e.wait()
}

// hasXGETBV1 reports whether the processor reports which parts of its state are in use.
func hasXGETBV1() bool { return host.X86().XGETBV1 }

// selectorNumbers has the selectors in the executor's order.
var selectorNumbers = [4]arch.Reg{x86.DwarfDS, x86.DwarfES, x86.DwarfFS, x86.DwarfGS}

// fill sets the registers of case i from a state, in which it changes what the kernel cannot keep.
func (in *caseIn) fill(s *irgen.State) {
	for n, hw := range dwarfGPR {
		in.Regs[hw] = s.Regs[n]
	}
	if !host.X86().FSGSBASE { // see has_fsgsbase in executor.c
		s.Regs[x86.DwarfFS], s.Regs[x86.DwarfGS] = 0, 0
	}
	in.Flags, in.FS, in.GS = s.Regs[49], s.Regs[58], s.Regs[59]
	in.Base, in.Vars, in.X87 = s.Base, s.Vars, s.X87
	if hasXGETBV1() {
		in.Initial = (x86.InUseX87 | x86.InUseAVX) &^ s.Regs[x86.InUse]
	}
	for k, n := range selectorNumbers {
		in.Selectors[k] = uint16(s.Regs[n])
	}
	for n := range s.XMM {
		copy(in.YMM[n][:16], s.XMM[n][:])
		copy(in.YMM[n][16:], s.YMMH[n][:])
	}
}

// switchOff is where the switch of the site is.
const switchOff = 4

func execLayout(base uint64) ring.Layout {
	return ring.Layout{
		Control: base, Counters: base + 0x1000 + siteOff, CounterStride: counterStep, CounterStep: 8,
		Rings: base + 0x10000, RingStride: ringStride, RingSize: ringSize, CPUMask: execRings - 1,
		Variables: base + 64, VariableCount: irgen.Vars, Switch: base + switchOff,
	}
}

// execConstants are those that code may use: some at the start of the far memory, some that do not help.
func execConstants() (list []Constant) {
	for i, v := range []uint64{farAddr, farAddr + 0x10000, nearAddr, 0, 1 << 62} {
		list = append(list, Constant{v, codeAddr + codeSize - constantsRoom + uint64(8*i)})
	}
	return list
}

// restartableLayout makes the first half of the rings and counters those of restartable sequences.
func restartableLayout(l *ring.Layout) {
	const half = execRings / 2
	l.CPUMask, l.RseqCPU = half-1, tcbRseq
	l.Registered = l.Control + registeredOff
	l.LockedCounters, l.LockedRings = l.Counters+half*counterStep, l.Rings+half*ringStride
}
