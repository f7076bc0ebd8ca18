package process

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/gdb/stub"
	"github.com/jalon-trace/jalon/internal/process"
)

// breakpoint is an int3 of ours: GDB's breakpoint, or a tracepoint that the tracer
// itself collects (slow.go), or both.
type breakpoint struct {
	byUser     bool
	conditions []*agentexpr.Expr
	commands   []*agentexpr.Expr
	slow       []*slowSite
}

// breakTable is read on the tracer's goroutine.
type breakTable struct {
	mu     sync.Mutex
	byAddr map[uint64]*breakpoint
	// passed has the threads that were reported as stopped at an address where the tracer
	// has collected already: they go on without collecting again.
	passed map[int]uint64
}

func (b *breakTable) user(addr uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := b.byAddr[addr]
	return x != nil && x.byUser
}

// within reports whether there is an int3 in [lo, hi).
func (b *breakTable) within(lo, hi uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for addr := range b.byAddr {
		if addr >= lo && addr < hi {
			return true
		}
	}
	return false
}

// copyFrom takes over GDB's breakpoints of a parent.
func (b *breakTable) copyFrom(parent *breakTable) {
	parent.mu.Lock()
	defer parent.mu.Unlock()
	for addr, x := range parent.byAddr {
		if x.byUser {
			b.byAddr[addr] = &breakpoint{byUser: true, conditions: x.conditions, commands: x.commands}
		}
	}
}

func (b *breakTable) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.byAddr)
	clear(b.passed)
}

// setBreak changes or creates the entry of an address. An entry without users is removed. The entry is
// created before its bytes are freed: a patch at these bytes is planned again, and plans avoid the addresses
// in the table.
func (pr *proc) setBreak(addr uint64, change func(*breakpoint)) error {
	b := &pr.breaks
	b.mu.Lock()
	x := b.byAddr[addr]
	fresh := x == nil
	if fresh {
		x = &breakpoint{}
		b.byAddr[addr] = x
	}
	change(x)
	over := !x.byUser && len(x.slow) == 0
	if over {
		delete(b.byAddr, addr)
	}
	b.mu.Unlock()
	switch {
	case over && fresh:
		return nil
	case over:
		return ended(pr.p.RemoveBreak(addr))
	}
	var err error
	if fresh {
		err = pr.taken(addr)
	}
	if err == nil {
		err = pr.uncover(addr)
	}
	if err == nil {
		err = pr.p.InsertBreak(addr) // again, too: it sees to it that the int3 is there still
	}
	if err != nil && fresh {
		b.mu.Lock()
		delete(b.byAddr, addr)
		b.mu.Unlock()
	}
	return err
}

// ended takes the end of a process for success: there is nothing left to undo.
func ended(err error) error {
	if errors.Is(err, process.ErrGone) {
		return nil
	}
	return err
}

// Insert implements stub.Target.
func (t *Target) Insert(pid int, b stub.Breakpoint) error {
	pr, err := t.find(pid)
	if err == nil && b.Type != rsp.BreakSoftware {
		err = pr.watches.insert(pr.p, b)
	} else if err == nil {
		err = pr.setBreak(b.Addr, func(x *breakpoint) {
			x.byUser, x.conditions, x.commands = true, b.Conditions, b.Commands
		})
	}
	if err != nil && t.ended(pid) {
		return nil // it is reported as soon as GDB resumes the thread
	}
	return err
}

// Remove implements stub.Target.
func (t *Target) Remove(pid int, typ rsp.BreakpointType, addr uint64, kind int) error {
	pr, err := t.find(pid)
	if err == nil && typ != rsp.BreakSoftware {
		err = pr.watches.remove(pr.p, typ, addr, kind)
	} else if err == nil {
		err = pr.setBreak(addr, func(x *breakpoint) { x.byUser, x.conditions, x.commands = false, nil, nil })
	}
	if err != nil && t.ended(pid) {
		return nil
	}
	return err
}

// onBreak is the tracer's OnBreak: what collects here collects, and GDB's
// conditions are looked at.
func (pr *proc) onBreak(tid int, addr uint64) process.BreakVerdict {
	pr.breaks.mu.Lock()
	x := pr.breaks.byAddr[addr]
	var copied breakpoint
	if x != nil {
		copied = *x
	}
	was, passed := pr.breaks.passed[tid]
	delete(pr.breaks.passed, tid)
	pr.breaks.mu.Unlock()
	if x == nil {
		return process.BreakGo // it was removed meanwhile
	}
	verdict := process.BreakGo
	if !passed || was != addr {
		if pr.collectAll(tid, copied.slow) {
			verdict = process.BreakStep
		}
	}
	if copied.byUser && (!passed || was != addr) && pr.stops(tid, &copied) {
		pr.collectHere(tid, addr)
		pr.breaks.mu.Lock()
		if len(copied.slow) > 0 {
			if pr.breaks.passed == nil {
				pr.breaks.passed = map[int]uint64{}
			}
			pr.breaks.passed[tid] = addr
		}
		pr.breaks.mu.Unlock()
		return process.BreakStop
	}
	if verdict == process.BreakGo && copied.byUser && len(copied.slow) == 0 && pr.permanent(addr) {
		return process.BreakPast
	}
	return verdict
}

// permanent reports whether the program has its own int3 below a breakpoint. A condition
// there means for GDB's users that the int3 is skipped if the condition is false.
func (pr *proc) permanent(addr uint64) bool {
	var b [1]byte
	n, _ := pr.read(addr, b[:]) // what cannot be read is none
	return n == 1 && b[0] == int3
}

// taken is an error where another tracer's breakpoint is, a uprobe of the kernel's:
// the kernel takes its hits, and none would come to GDB.
func (pr *proc) taken(addr uint64) error {
	if !pr.permanent(addr) {
		return nil
	}
	mapped, err := process.Maps(pr.p.Pid())
	if err != nil {
		return ended(err)
	}
	for _, m := range mapped {
		if addr < m.Start || addr >= m.End || m.Inode == 0 {
			continue
		}
		f, err := os.Open(fmt.Sprintf("/proc/%d/root%s", pr.p.Pid(), m.Path))
		if err != nil {
			return nil // it cannot be distinguished from an int3 of the program
		}
		defer f.Close()
		var b [1]byte
		var st unix.Stat_t
		if unix.Fstat(int(f.Fd()), &st) != nil || st.Ino != m.Inode {
			return nil // nor here: the file was replaced
		}
		if _, err := f.ReadAt(b[:], int64(addr-m.Start+m.Offset)); err == nil && b[0] != int3 {
			return fmt.Errorf("another tracer's breakpoint (a uprobe of perf or bpftrace) is at %#x, and its hits would not come to GDB: end the other tracer", addr)
		}
	}
	return nil
}

const int3 = 0xcc

// stops evaluates the conditions of GDB's breakpoint, and does its commands.
func (pr *proc) stops(tid int, x *breakpoint) bool {
	hit := len(x.conditions) == 0
	var m *machine
	if !hit || len(x.commands) > 0 {
		m = pr.machine(tid)
	}
	for _, c := range x.conditions {
		res := c.Run(&m.Machine)
		v, ok := res.Top()
		if res.Fail != nil || !ok || v != 0 {
			hit = true
			break
		}
	}
	if !hit || len(x.commands) == 0 {
		return hit
	}
	for _, c := range x.commands {
		res := c.Run(&m.Machine)
		for i := range res.Blocks {
			if p := res.Blocks[i].Printed; p != nil {
				pr.t.print(p.String())
			}
		}
	}
	return false
}

func (t *Target) print(text string) {
	if t.opt.Output != nil {
		t.opt.Output(text)
	}
}

// debugRegisters is how many data breakpoints the processor has.
const debugRegisters = 4

// watchTable says what the debug registers are used for.
type watchTable struct {
	mu    sync.Mutex
	slots [debugRegisters]watch
}

type watch struct {
	used bool
	typ  rsp.BreakpointType
	addr uint64 // GDB's
	kind int
}

func (w *watchTable) kind(slot int) rsp.BreakpointType {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slot < 0 || slot >= debugRegisters {
		return rsp.WatchpointWrite
	}
	return w.slots[slot].typ
}

func (w *watchTable) copyFrom(parent *watchTable) {
	parent.mu.Lock()
	defer parent.mu.Unlock()
	w.slots = parent.slots
}

var watchKinds = map[rsp.BreakpointType]process.WatchKind{
	rsp.BreakHardware: process.WatchExec, rsp.WatchpointWrite: process.WatchWrite,
	// The processor cannot watch for reads alone.
	rsp.WatchpointRead: process.WatchAccess, rsp.WatchpointAccess: process.WatchAccess,
}

// insert puts a data breakpoint into as many debug registers as its bytes need:
// each covers 1, 2, 4 or 8 bytes at a multiple of its size.
func (w *watchTable) insert(p *process.Process, b stub.Breakpoint) error {
	if b.Type == rsp.WatchpointRead {
		return stub.ErrUnsupported // GDB then uses an access watchpoint and compares
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.slots {
		if s.used && s.typ == b.Type && s.addr == b.Addr && s.kind == b.Kind {
			return nil
		}
	}
	parts := aligned(b.Addr, b.Kind)
	if b.Type == rsp.BreakHardware {
		parts = []part{{b.Addr, 1}}
	}
	var free []int
	for i, s := range w.slots {
		if !s.used {
			free = append(free, i)
		}
	}
	if len(parts) > len(free) {
		return fmt.Errorf("a watchpoint of %d bytes at %#x needs %d debug registers; %d of %d are free", b.Kind, b.Addr, len(parts), len(free), debugRegisters)
	}
	for i, x := range parts {
		if err := p.SetWatch(free[i], watchKinds[b.Type], x.addr, x.size); err != nil {
			for _, j := range free[:i] {
				_ = p.ClearWatch(j) // the first error is reported
				w.slots[j] = watch{}
			}
			return err
		}
		w.slots[free[i]] = watch{true, b.Type, b.Addr, b.Kind}
	}
	return nil
}

func (w *watchTable) remove(p *process.Process, typ rsp.BreakpointType, addr uint64, kind int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, s := range w.slots {
		if s.used && s.typ == typ && s.addr == addr && s.kind == kind {
			w.slots[i] = watch{}
			if err := ended(p.ClearWatch(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// part is what one debug register covers.
type part struct {
	addr uint64
	size int
}

// aligned cuts a stretch of memory into parts that debug registers can cover.
func aligned(addr uint64, n int) []part {
	var out []part
	for n > 0 && len(out) <= debugRegisters {
		size := 8
		for size > n || addr%uint64(size) != 0 {
			size /= 2
		}
		out = append(out, part{addr, size})
		addr, n = addr+uint64(size), n-size
	}
	return out
}

var _ experiment.Engine = (*engine)(nil)

// clear forgets all: the program is another one.
func (w *watchTable) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slots = [debugRegisters]watch{}
}
