package inproc

import (
	"fmt"
	"os"
	"sync/atomic"
)

// altered looks for patches whose bytes the program itself has changed since they were written (static keys, hooks, a file
// mapped over its code): they have had no hits since. No event shows such a change, so it is seen at the end, when
// the bytes are restored or the process exits.
type altered struct {
	*target
	patches *patches
	text    atomic.Pointer[string] // the tracer's goroutine finds it, the caller's reports it
}

// look compares the memory with what was written. A patch may have jalon's own breakpoint over its first byte, at own;
// 0: there is none.
func (a *altered) look(mem readable, own uint64) {
	code := codePages{st: mem}
	all, changed, first := 0, 0, uint64(0)
	for _, p := range a.patches.list() {
		if !p.active {
			continue
		}
		all++
		for _, d := range p.edits {
			addr, want := d.Addr, d.New
			if addr == own {
				addr, want = addr+1, want[1:]
			}
			if !code.has(addr, want) && code.readable(addr) {
				if changed++; changed == 1 {
					first = p.plan.Addr
				}
				break
			}
		}
	}
	if changed > 0 {
		text := fmt.Sprintf("the program itself has changed the code at %d of %d traced addresses (%#x): hits since then are missing", changed, all, first)
		a.text.Store(&text)
	}
}

// report warns of what was found.
func (a *altered) report() {
	if text := a.text.Swap(nil); text != nil {
		a.warn(*text)
	}
}

// Exits is called when the process is about to exit and its memory is still there.
func (c *Callbacks) Exits() {
	if c.replaced() || len(c.patches.list()) == 0 {
		return
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", c.p.Pid()))
	if err != nil {
		return // it has gone
	}
	defer func() { _ = f.Close() }()
	c.altered.look(memoryFile{f}, c.p.LinkerBreak())
}

// memoryFile is the memory of a process whose threads may run.
type memoryFile struct{ *os.File }

// ReadMem implements readable.
func (f memoryFile) ReadMem(addr uint64, b []byte) error {
	_, err := f.ReadAt(b, int64(addr))
	return err
}
