package kernel

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// Stacks of programs in keys of maps have a number in a table of stacks, which programs fill as code in a process fills its own
// (ring/stacks.go), and that of an address space (unwind/spaces.go). A hit of a process without tables has a stack that the kernel has
// followed by frame pointers, which is marked; it notes the process, and jalon makes the tables.

const userStacksName = bufferName + "_users"

// mostKnown bounds the address spaces whose images are kept. Of others the names are those of the process at that time.
const mostKnown = 4096

type userStacks struct {
	*base
	facts *facts
	user  *image.Processes
	walks *walkTables

	code   ebpf.UserStacks
	buffer *bpf.Buffer
	mem    []byte
	table  *ring.Stacks
	known  map[uint32]*image.Image // by address space
	watch  []watcher
}

// open makes the table, once.
func (u *userStacks) open(walks *walkTables) (err error) {
	if u.buffer != nil {
		return nil
	}
	for nodes := uint32(ring.StackNodes); ; nodes /= 2 { // kernels before 6.10 accept less
		u.code = ebpf.UserStacks{Name: userStacksName, Nodes: nodes}
		if u.buffer, err = u.k.NewBuffer(userStacksName, u.code.Size()); err == nil {
			break
		}
		if !errors.Is(err, unix.E2BIG) || nodes == 1 {
			return err
		}
	}
	u.mem, u.known, u.walks = u.buffer.Memory(), map[uint32]*image.Image{}, walks
	u.table = ring.StacksOf(u.mem, u.code.Nodes)
	store64(u.mem[unwind.SpaceNext:], 1)
	if err := u.startWatching(); err != nil {
		return err
	}
	walks.numbered(u)
	return nil
}

// startWatching attaches programs that empty the entry of a process when it executes another program, and when a new process gets its
// number.
func (u *userStacks) startWatching() error {
	tgid, pid := u.facts.offset("task_struct", "tgid"), u.facts.offset("task_struct", "pid")
	empty := asm.Instructions{
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.And.Imm(asm.R2, unwind.Processes-1),
		asm.LSh.Imm(asm.R2, int32(bits.TrailingZeros(unwind.LateSize))),
		asm.LoadMapValue(asm.R7, 0, uint32(u.code.LateAt())).WithReference(userStacksName),
		asm.Add.Reg(asm.R7, asm.R2),
		asm.LoadMem(asm.R3, asm.R7, unwind.LateSpace, asm.DWord),
		asm.RSh.Imm(asm.R3, 32),
		asm.JNE.Reg(asm.R3, asm.R1, "out"),
		asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.R7, unwind.LateSpace, asm.R1, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return(),
	}
	for _, x := range []struct {
		name  string
		insns asm.Instructions
	}{
		{"sched_process_fork", append(childOf(tgid, pid), empty...)},
		{"sched_process_exec", append(current(), empty...)},
	} {
		on, err := watch(u.k, x.name, x.insns, u.buffer)
		u.watch = append(u.watch, on)
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *userStacks) close() error {
	var errs []error
	for i := range u.watch {
		errs = append(errs, u.watch[i].close())
	}
	if u.buffer != nil {
		errs = append(errs, u.buffer.Close())
	}
	return errors.Join(errs...)
}

func load64(b []byte) uint64 {
	_ = binary.LittleEndian.Uint64(b)
	return atomic.LoadUint64((*uint64)(unsafe.Pointer(&b[0])))
}

// give gives a number to what a process has mapped now; false: there are no more.
func (u *userStacks) give(pid int) (space uint32, ok bool) {
	if load64(u.mem[unwind.SpaceNext:]) >= unwind.Spaces {
		return 0, false
	}
	n := atomic.AddUint64((*uint64)(unsafe.Pointer(&u.mem[unwind.SpaceNext])), 1) - 1
	if n >= unwind.Spaces {
		return 0, false
	}
	at := u.space(uint32(n))
	store64(at[unwind.SpaceTime:], uint64(event.Monotonic()))
	store64(at[unwind.SpaceTgid:], uint64(pid))
	if im := u.user.Snapshot(pid); im != nil && len(u.known) < mostKnown {
		u.known[uint32(n)] = im
	}
	return uint32(n), true
}

func (u *userStacks) space(n uint32) []byte {
	return u.mem[u.code.SpacesAt()+uint64(n)*unwind.SpaceSize:][:unwind.SpaceSize]
}

// of is the process of an address space, and the time from which it is known; 0: the present.
func (u *userStacks) of(space uint32) (pid int, from uint64) {
	switch {
	case space&unwind.SpaceProcess != 0:
		return int(space &^ unwind.SpaceProcess), 0
	case u.mem == nil || space >= unwind.Spaces:
		return 0, 0
	}
	at := u.space(space)
	return int(load64(at[unwind.SpaceTgid:])), load64(at[unwind.SpaceTime:])
}

// Tend makes the tables of processes that had none at hits.
func (e *Engine) Tend() {
	u := &e.loader.users
	if u.mem == nil {
		return
	}
	u.user.Changed()
	if load64(u.mem[unwind.SpaceWanted:]) == 0 {
		return
	}
	store64(u.mem[unwind.SpaceWanted:], 0)
	u.walks.again()
	for n := range uint64(unwind.Processes) {
		at := u.mem[u.code.LateAt()+n*unwind.LateSize:]
		if load64(at[unwind.LateWanted:]) == 0 {
			continue
		}
		store64(at[unwind.LateWanted:], 0)
		u.walks.update(int(load64(at[unwind.LateSpace:]) >> 32))
	}
}

// StackCounts is how many stacks in keys found no place, and at how many hits frame pointers were followed because there were no
// tables of the process.
func (e *Engine) StackCounts() (full, pointers uint64) {
	u := &e.loader.users
	if u.buffer == nil || u.buffer.Memory() == nil {
		return 0, 0
	}
	return u.table.Full(), load64(u.mem[unwind.SpaceLate:])
}

// StackProcess is the process of a stack that programs have given a number (ir.UserStack); 0: it is no stack of a process.
func (e *Engine) StackProcess(number uint64) int {
	pid, _ := e.loader.users.of(uint32(number >> 32))
	return pid
}

// userStack names the frames of a stack of a program.
func userStack(e *Engine, number uint64) ([]debuginfo.Frame, error) {
	u, space := &e.loader.users, uint32(number>>32)
	pid, from := u.of(space)
	e.user.At(from)
	if number&ring.StackKnown == 0 {
		pcs, err := e.loader.byNumber(number & 0xffffffff)
		frames := slices.Clone(e.user.Walked(pid, e.user.Plausible(pid, pcs), unwind.Whole))
		if n := len(frames); n > 0 {
			frames[n-1].Cut = debuginfo.ByPointers
		}
		return frames, err
	}
	if u.table == nil {
		return nil, nil
	}
	frames, end := u.table.Frames(uint32(number))
	pcs := make([]uint64, len(frames)/8)
	for i := range pcs {
		pcs[i] = binary.LittleEndian.Uint64(frames[8*i:])
	}
	if im := u.known[space]; im != nil {
		return im.Walked(pcs, unwind.End(end)), nil
	}
	return e.user.Walked(pid, pcs, unwind.End(end)), nil
}
