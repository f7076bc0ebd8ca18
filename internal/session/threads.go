package session

import (
	"encoding/binary"
	"errors"
	"sort"
	"time"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// stackSearched bounds, per thread, how much of the stack is searched for saved
// pcs (the frames of signal handlers).
const stackSearched = 256 << 10

// moves is what arming does to threads that stand between the instructions that
// a jump is about to replace.
type moves struct {
	blocked map[*placed]bool // some thread would come back into the middle
}

// threadMoves moves such threads to the copies of their instructions. A pc that a
// signal handler will return to cannot be moved: such a patch is left out.
//
// Why the intermediate states are safe: nothing is written yet; a moved thread
// executes the copy of the instruction it stood before and jumps back behind the
// displaced ones, whose bytes do not change.
func threadMoves(st *process.Stopped, plans []*placed) (*moves, error) {
	mv := &moves{blocked: map[*placed]bool{}}
	inner := map[uint64]*placed{}
	copies := map[uint64]uint64{}
	var addrs []uint64
	for _, p := range plans {
		for i, pair := range p.pcs {
			if i > 0 {
				inner[pair.Orig], copies[pair.Orig] = p, pair.Copy
				addrs = append(addrs, pair.Orig)
			}
		}
	}
	if len(addrs) == 0 {
		return mv, nil
	}
	threads, err := st.Threads()
	if err != nil {
		return nil, err
	}
	find := wordFinder(addrs)
	for _, t := range threads {
		for _, w := range find(stackOf(st, t.Regs.Rsp)) {
			mv.blocked[inner[w]] = true
		}
	}
	for _, t := range threads {
		p := inner[t.Regs.Rip]
		if p == nil || mv.blocked[p] {
			continue
		}
		if err := st.SetPC(t.TID, copies[t.Regs.Rip]); errors.Is(err, process.ErrRestart) {
			mv.blocked[p] = true
		} else if err != nil && !errors.Is(err, process.ErrGone) {
			return nil, err
		}
	}
	return mv, nil
}

// wordFinder returns a function that lists which of addrs occur as aligned words.
func wordFinder(addrs []uint64) func([]byte) []uint64 {
	sort.Slice(addrs, func(i, j int) bool { return addrs[i] < addrs[j] })
	lo, hi := addrs[0], addrs[len(addrs)-1]
	return func(mem []byte) (found []uint64) {
		for ; len(mem) >= 8; mem = mem[8:] {
			w := binary.LittleEndian.Uint64(mem)
			if w < lo || w > hi {
				continue
			}
			i := sort.Search(len(addrs), func(i int) bool { return addrs[i] >= w })
			if i < len(addrs) && addrs[i] == w {
				found = append(found, w)
			}
		}
		return found
	}
}

// stackOf reads the stack from the red zone up, as far as it goes.
func stackOf(st *process.Stopped, sp uint64) []byte {
	lo := (sp - 128) &^ 7
	for n := uint64(stackSearched); n >= 4096; n /= 2 {
		b := make([]byte, n)
		if st.ReadMem(lo, b) == nil {
			return b
		}
	}
	b := make([]byte, 4096-lo%4096)
	if st.ReadMem(lo, b) != nil {
		return nil
	}
	return b
}

// detach takes everything back and lets the process go:
//
//  1. stop; restore the bytes: nobody enters a trampoline any more. Threads that
//     stand before a displaced copy go back to the original instruction. Go on.
//  2. until no thread is in our code or will come back to it (a few tries, the
//     process runs meanwhile): they leave by themselves within microseconds,
//     unless a displaced system call sleeps there.
//  3. the dead man's switch falls; stop; unmap code and buffers if nobody is
//     there, else leave them mapped: they are inert.
//  4. let the process go.
func (s *Session) detach() error {
	if !s.state.replaced && (len(s.placed) > 0 || s.shared != nil) {
		if err := s.takeBack(); err != nil {
			return err
		}
	}
	s.tables.clear()
	return s.p.Detach()
}

func (s *Session) takeBack() error {
	pause, err := s.p.Stopped(s.restore)
	s.notePause(pause)
	if err != nil {
		return err
	}
	empty := false
	for try := 0; try < 5 && !empty; try++ {
		if try > 0 {
			time.Sleep(time.Millisecond << try) // gives the threads inside time to leave; nothing depends on its length
		}
		pause, err = s.p.Stopped(func(st *process.Stopped) error {
			empty, err = s.leave(st)
			if err == nil && try == 0 {
				err = s.removeTraps(st)
			}
			if err == nil && empty {
				err = s.unmap(st)
			}
			return err
		})
		s.notePause(pause)
		if err != nil {
			return err
		}
	}
	if !empty {
		s.logf("a thread sleeps in displaced code: the trampolines stay mapped in the process")
	}
	return s.p.DisarmDeadman()
}

func (s *Session) restore(st *process.Stopped) error {
	for _, p := range s.placed {
		for _, e := range p.edits {
			if !ours(st, e.Addr, e.New) {
				continue
			}
			if err := st.WriteMem(e.Addr, e.Old); err != nil {
				return err
			}
		}
	}
	return nil
}

// leave sends threads that stand at an instruction boundary in a trampoline back
// to the program, and reports whether nobody is left in our code.
func (s *Session) leave(st *process.Stopped) (bool, error) {
	threads, err := st.Threads()
	if err != nil {
		return false, err
	}
	back := s.wayBack()
	tab := s.tables.get()
	empty := true
	for _, t := range threads {
		if !tab.inCode(t.Regs.Rip) {
			if s.returnsToCode(stackOf(st, t.Regs.Rsp), tab) {
				empty = false
			}
			continue
		}
		to, ok := back[t.Regs.Rip]
		if !ok || st.SetPC(t.TID, to) != nil {
			empty = false
		}
	}
	return empty, nil
}

// wayBack maps the boundaries of displaced copies to the program's own code.
func (s *Session) wayBack() map[uint64]uint64 {
	back := map[uint64]uint64{}
	for _, p := range s.placed {
		if p.stub != 0 {
			back[p.stub] = p.plan.Addr
		}
		for i, pair := range p.pcs {
			back[pair.Copy] = pair.Orig
			if in := &p.plan.Insts[i]; in.Class == patch.Syscall {
				back[pair.End] = in.Next()
			}
		}
	}
	return back
}

func (s *Session) returnsToCode(stack []byte, tab *tables) bool {
	for ; len(stack) >= 8; stack = stack[8:] {
		if tab.inCode(binary.LittleEndian.Uint64(stack)) {
			return true
		}
	}
	return false
}

func (s *Session) unmap(st *process.Stopped) error {
	for _, r := range s.code {
		if err := st.Free(r.base, r.size); err != nil {
			return err
		}
	}
	for _, g := range s.stubs {
		if err := st.Free(g.base, pageSize); err != nil {
			return err
		}
	}
	s.code, s.stubs = nil, nil
	if s.shared != nil {
		return st.Free(s.shared.base, s.shared.g.MemSize())
	}
	return nil
}
