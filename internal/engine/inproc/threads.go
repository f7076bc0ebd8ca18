package inproc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

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
			if i > 0 && p.plan.Tactic != patch.Trapping {
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
	find, stacks := wordFinder(addrs), st.Stacks()
	for _, t := range threads {
		for _, w := range find(stacks.WithRedZone(t.Regs.SP())) {
			mv.blocked[inner[w]] = true
		}
	}
	for _, t := range threads {
		p := inner[t.Regs.PC()]
		if p == nil || mv.blocked[p] {
			continue
		}
		if err := st.SetPC(t.TID, copies[t.Regs.PC()]); errors.Is(err, process.ErrRestart) {
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

// takeBack takes everything out of the process:
//
//  1. stop; restore the bytes, then the protection of their pages: no thread enters a
//     trampoline any more. Threads that are stopped before a displaced copy go back to
//     the original instruction. Go on.
//  2. until no thread is in our code or will come back to it (a few tries, the
//     process runs meanwhile): they leave by themselves within microseconds,
//     unless a displaced system call sleeps there.
//  3. the dead man's switch falls; stop; unmap code and buffers if no thread is
//     there, else leave them mapped: they are inert.
//
// The caller may let the process go then.
func (e *Engine) takeBack() error {
	err := e.stopped(func(st *process.Stopped) error {
		if err := putBack(st, e.placed); err != nil {
			return err
		}
		e.trouble("giving pages of code their protection back", e.unguard(st))
		return nil
	})
	if err != nil {
		return err
	}
	var state emptiness
	start := time.Now()
	for try := 0; ; try++ {
		err := e.stopped(func(st *process.Stopped) (err error) {
			if state, err = e.leave(st); err != nil {
				return err
			}
			if try == 0 {
				e.trouble("giving SIGTRAP its action back", e.removeTraps(st))
			}
			if state == nobody {
				e.trouble("giving SIGSEGV its action back", e.removeFaults(st))
				err := e.unmap(st)
				e.trouble("freeing the memory of the trampolines", err)
				if err == nil {
					e.tables.clear() // an int3 at a site is the program's own from here on
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if state == nobody || state == sleeping && try >= 4 || time.Since(start) > leaveLimit {
			break
		}
		time.Sleep(min(2*time.Millisecond<<try, 50*time.Millisecond)) // for the threads inside; nothing depends on its length
	}
	if state != nobody {
		e.logf("a thread sleeps in displaced code: the trampolines stay mapped in the process")
	}
	return e.p.DisarmDeadman()
}

// leaveLimit is how long a thread within a hit program is waited for: it needs
// microseconds, but on a busy machine also its turn.
const leaveLimit = 2 * time.Second

// trouble tells of what went wrong when the program's own code is back already:
// what is left in it does no harm.
func (e *Engine) trouble(what string, err error) {
	if err != nil && !errors.Is(err, process.ErrGone) {
		e.warn(fmt.Sprintf("%s: %v", what, err))
	}
}

// emptiness says who is in our code.
type emptiness uint8

const (
	nobody   emptiness = iota
	sleeping           // threads in a displaced system call, or that return from signal handlers
	busy               // a thread within a hit program
)

// leave sends threads that stand at an instruction boundary in a trampoline back
// to the program, and reports who is left in our code.
func (e *Engine) leave(st *process.Stopped) (emptiness, error) {
	threads, err := st.Threads()
	if err != nil {
		return busy, err
	}
	back := e.wayBack()
	tab := e.tables.get()
	state, stacks := nobody, st.Stacks()
	for _, t := range threads {
		// The frame of a signal handler that runs, or of one it interrupted, may
		// lead back into our code, wherever the thread itself is.
		if tab.returnsToCode(stacks.WithRedZone(t.Regs.SP())) {
			state = max(state, sleeping)
		}
		if !tab.inCode(t.Regs.PC()) {
			continue
		}
		if to, ok := back[t.Regs.PC()]; !ok {
			state = busy
		} else if st.SetPC(t.TID, to) != nil {
			state = max(state, sleeping)
		}
	}
	return state, nil
}

// wayBack maps the boundaries of displaced copies to the program's own code.
func (e *Engine) wayBack() map[uint64]uint64 {
	back := map[uint64]uint64{}
	for _, list := range [][]*placed{e.placed, e.old} {
		for _, p := range list {
			p.wayBack(back)
		}
	}
	return back
}

func (p *placed) wayBack(back map[uint64]uint64) {
	if p.stub != 0 {
		back[p.stub] = p.plan.Addr
	}
	for i, pair := range p.pcs {
		back[pair.Entry], back[pair.Copy] = pair.Orig, pair.Orig
		if in := &p.plan.Insts[i]; in.Class == patch.Syscall {
			back[pair.End] = in.Next()
		}
	}
	if p.returns() {
		back[p.pcs[len(p.pcs)-1].End] = p.end()
	}
}

// returnsToCode reports whether a stack holds an address in generated code.
func (t *tables) returnsToCode(stack []byte) bool {
	if len(t.code) == 0 {
		return false
	}
	lo, hi := t.code[0].lo, t.code[len(t.code)-1].hi
	for ; len(stack) >= 8; stack = stack[8:] {
		if w := binary.LittleEndian.Uint64(stack); w-lo < hi-lo && t.inCode(w) {
			return true
		}
	}
	return false
}

func (e *Engine) unmap(st *process.Stopped) error {
	for _, r := range e.code {
		if err := st.Free(r.base, r.size); err != nil {
			return err
		}
	}
	for _, g := range e.stubs {
		if err := st.Free(g.base, pageSize); err != nil {
			return err
		}
	}
	e.code, e.stubs = nil, nil
	if e.shared != nil {
		return st.Free(e.shared.base, e.shared.g.MemSize())
	}
	return nil
}
