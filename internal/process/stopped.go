package process

import (
	"errors"
	"fmt"
	"sort"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Stopped is a process whose threads are all stopped. It is valid only during the
// call that it was given to, and only on that goroutine.
type Stopped struct {
	p    *tracer
	sp   *inject.Workspace
	only *task // a forked child: it has one thread
	code bool  // memory was written: sites were installed
	// learned: the actions of signals need not be read for that. See Learn.
	learned bool
}

// Thread is a thread of a stopped process.
type Thread struct {
	TID  int
	Regs Regs
	// Parked: the thread sleeps uninterruptibly in the kernel. Of Regs only the pc and
	// the stack pointer are known; it stops before it executes anything.
	Parked bool
	// Foreign: the thread belongs to a child that shares the memory until its exec.
	Foreign bool
}

// Pid is the process; in OnFork the child.
func (s *Stopped) Pid() int {
	if s.only != nil {
		return s.only.TGID
	}
	return s.p.pid
}

// Threads lists all threads that can run code in the memory, by thread id.
func (s *Stopped) Threads() ([]Thread, error) {
	if err := s.p.injector.End(); err != nil {
		return nil, s.wrap("read registers", err)
	}
	var out []Thread
	for _, t := range s.tasks() {
		th := Thread{TID: t.TID, Foreign: !s.p.threads.Member(t) && s.only == nil}
		s.woken(t)
		switch t.State {
		case threads.Stopped:
			if err := sys.GetRegs(t.TID, &th.Regs); sys.Gone(err) {
				continue
			} else if err != nil {
				return nil, s.wrap("read registers", err)
			}
			s.p.driver.noteFSIn(t, &th.Regs)
		case threads.Parked:
			pc, sp, ok := sys.BlockedAt(t.TID)
			if !ok {
				return nil, s.wrap("find the pc of a sleeping thread", errors.New("/proc does not show it"))
			}
			th.Parked = true
			if th.Regs.SetPC(pc); t.newPC != 0 { // moved: it has that pc when it wakes up
				th.Regs.SetPC(t.newPC)
			}
			th.Regs.SetSP(sp)
		default:
			continue // exiting
		}
		out = append(out, th)
	}
	return out, nil
}

// woken takes the stop of a parked thread that does not sleep any more: it is on its
// way there, and /proc shows no pc of what runs.
func (s *Stopped) woken(t *task) {
	for start := time.Now(); t.State == threads.Parked && time.Since(start) < freezeLimit; {
		if _, _, ok := sys.BlockedAt(t.TID); ok {
			return
		}
		s.p.waits.sleep(nap)
		s.p.waits.pump()
		if !s.p.threads.Has(t) {
			t.State = threads.Exiting
		}
	}
}

func (s *Stopped) tasks() []*task {
	if s.only != nil {
		return []*task{s.only}
	}
	var list []*task
	for _, t := range s.p.threads.All() {
		if !t.Copy {
			list = append(list, t)
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].TID < list[j].TID })
	return list
}

// ErrRestart is SetPC's refusal.
var ErrRestart = errors.New("the thread is in a system call that the kernel restarts two bytes before its pc")

// SetPC moves a thread. When the kernel is to restart the system call that the
// thread sleeps in, it subtracts two from the pc: the new pc must have a syscall
// instruction before it as the old one had, else ErrRestart.
func (s *Stopped) SetPC(tid int, pc uint64) error {
	if err := s.p.injector.End(); err != nil {
		return s.wrap("move a thread", err)
	}
	t := s.task(tid)
	if t == nil {
		return ErrGone
	}
	if t.State == threads.Parked {
		if err := s.checkRestart(pc); err != nil {
			return err
		}
		t.newPC = pc
		return nil
	}
	var regs Regs
	if err := sys.GetRegs(tid, &regs); err != nil {
		return s.wrap("move a thread", err)
	}
	if sys.Restarts(&regs) {
		if err := s.checkRestart(pc); err != nil {
			return err
		}
	}
	regs.SetPC(pc)
	return s.wrap("move a thread", sys.SetRegs(tid, &regs))
}

// task is the one of tasks with a number; nil: there is none.
func (s *Stopped) task(tid int) *task {
	if s.only != nil {
		if s.only.TID == tid {
			return s.only
		}
		return nil
	}
	if t := s.p.threads.Get(tid); t != nil && !t.Copy {
		return t
	}
	return nil
}

func (s *Stopped) checkRestart(pc uint64) error {
	var b [2]byte
	if err := s.sp.Read(pc-2, b[:]); err != nil || b != [2]byte{0x0f, 0x05} {
		return ErrRestart
	}
	return nil
}

// ReadMem fills b from addr, or fails as a whole.
func (s *Stopped) ReadMem(addr uint64, b []byte) error { return s.sp.Read(addr, b) }

// WriteMem stores b at addr, into code too.
func (s *Stopped) WriteMem(addr uint64, b []byte) error {
	s.code = true
	return s.RestoreMem(addr, b)
}

// RestoreMem is WriteMem of bytes that are the program's own.
func (s *Stopped) RestoreMem(addr uint64, b []byte) error {
	if memory.InTwoPages(addr, len(b)) && !s.parked() && s.sp.WriteWhole(addr, b) {
		return nil
	}
	return s.sp.Write(addr, b)
}

// parked reports whether a thread sleeps uninterruptibly instead of being stopped: it may be in exec.
func (s *Stopped) parked() bool {
	for _, t := range s.p.threads.All() {
		if t.State == threads.Parked || t.State == threads.Exiting {
			return true
		}
	}
	return false
}

// Maps lists the memory of the process.
func (s *Stopped) Maps() ([]Mapping, error) {
	maps, err := memory.ReadMaps(s.sp.Pid)
	return maps, s.wrap("read the memory map", err)
}

// MapsWithHeap lists the memory of the process, with an empty heap if it has none yet: there it will grow.
func (s *Stopped) MapsWithHeap() ([]Mapping, error) {
	maps, err := s.Maps()
	if err != nil {
		return nil, err
	}
	return memory.WithHeap(maps, memory.HeapStart(s.sp.Pid)), nil
}

// Syscall runs a system call in the process, in the thread that it disturbs
// least. Errors of the call are unix.Errno. It must not be one that creates or
// ends threads, or sleeps.
func (s *Stopped) Syscall(nr uint64, args ...uint64) (uint64, error) {
	results, err := s.Syscalls([]Call{SystemCall(nr, args...)})
	if err != nil {
		return 0, err
	}
	return results[0].Value, results[0].Err
}

// Call is a system call for Syscalls, and CallResult what it has returned.
type (
	Call       = inject.Call
	CallResult = inject.Result
)

// SystemCall is a call for Syscalls.
func SystemCall(nr uint64, args ...uint64) (c Call) {
	c.Nr = nr
	copy(c.Args[:], args)
	return c
}

// Syscalls runs system calls as Syscall does, one after the other, whether they succeed or not: see
// inject.Injector.RunList. If err is nil there is a result for each.
func (s *Stopped) Syscalls(calls []Call) (results []CallResult, err error) {
	if len(calls) == 0 {
		return nil, nil
	}
	t, err := s.p.injector.Pick(s.sp, s.only)
	if err != nil {
		return nil, s.wrap("run a system call", err)
	}
	if s.only != nil { // a child: no page is allocated for the list
		results, err = s.p.injector.RunEach(t, s.sp, calls)
	} else {
		results, err = s.p.injector.RunList(t, s.sp, calls)
	}
	if sys.Gone(err) {
		return nil, ErrGone
	}
	return results, err
}

// AllocNear maps size bytes (rounded up to pages), readable and executable, so
// that every byte is within reach of a 32-bit branch from addr and back. Write to
// them with WriteMem.
func (s *Stopped) AllocNear(addr, size uint64) (uint64, error) {
	op := fmt.Sprintf("allocate %d bytes near %#x", size, addr)
	size = (size + memory.PageSize - 1) &^ (memory.PageSize - 1)
	maps, err := s.MapsWithHeap()
	if err != nil {
		return 0, err
	}
	var full error // of a call that found no memory
	for i, at := range memory.NearGaps(maps, addr, size) {
		got, err := s.Syscall(unix.SYS_MMAP, at, size, unix.PROT_READ|unix.PROT_EXEC,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED_NOREPLACE, ^uint64(0), 0)
		if err == nil && got == at {
			return at, nil
		}
		if err == nil { // a kernel that does not know the flag took it as a hint
			_ = s.Free(got, size)
			continue
		}
		// A gap that the map does not show as taken: below vm.mmap_min_addr, or a
		// stack's guard. Anything else will not be better elsewhere.
		if !(errors.Is(err, unix.EEXIST) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOMEM)) || i > 64 {
			return 0, s.wrap(op, err)
		}
		if errors.Is(err, unix.ENOMEM) {
			full = err
		}
	}
	if full != nil {
		return 0, s.wrap(op, inject.WithLimits(full))
	}
	return 0, &fail.Error{Op: op, Err: errors.New("no room within 2 GiB")}
}

// Place returns where to map memory that may be anywhere, as a hint for the kernel: see memory.Space.Place.
func (s *Stopped) Place(size uint64) uint64 { return s.sp.Place(size) }

// Range is memory of AllocNear or MapShared.
type Range struct{ Addr, Size uint64 }

// Free unmaps memory of AllocNear or MapShared. No thread may be in it.
func (s *Stopped) Free(addr, size uint64) error { return s.FreeAll([]Range{{addr, size}}) }

// FreeAll is Free for several.
func (s *Stopped) FreeAll(list []Range) error {
	var calls []Call
	for _, r := range list {
		calls = append(calls, SystemCall(unix.SYS_MUNMAP, r.Addr, (r.Size+memory.PageSize-1)&^(memory.PageSize-1)))
	}
	results, err := s.Syscalls(calls)
	for i, r := range list {
		if err == nil {
			err = results[i].Err
		}
		if err != nil {
			return s.wrap(fmt.Sprintf("free %d bytes at %#x", r.Size, r.Addr), err)
		}
	}
	return nil
}

// wrap names what was attempted; the process's end is ErrGone whatever was.
func (s *Stopped) wrap(op string, err error) error {
	var e *fail.Error
	switch {
	case err == nil:
		return nil
	case sys.Gone(err), errors.Is(err, ErrGone):
		return ErrGone
	case errors.As(err, &e):
		return err
	}
	return &fail.Error{Op: fmt.Sprintf("%s (process %d)", op, s.Pid()), Err: err}
}
