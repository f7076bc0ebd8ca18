package inproc

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/sema"
)

// Common is a table that programs of the kernel use too: the memory of a map of the kernel's, which the process maps.
type Common struct {
	maps.Shape
	Name   string
	FD     int    // of the memory, in jalon
	Size   uint64 // in whole pages
	Memory []byte // jalon's mapping, valid until Disown
}

// commonTable is a Common that is in the process.
type commonTable struct {
	Common
	addr uint64
}

// checkAt is a word of a table's header that nothing else uses.
const checkAt = maps.HeaderSize - 8

// Adopt maps tables into the process: programs that are loaded later use them for the maps of these names. Either all are mapped, or none.
func (e *Engine) Adopt(list []Common) error {
	if err := e.Refresh(); err != nil {
		return err
	}
	var mapped []*commonTable
	err := e.target.stopped(func(st *process.Stopped) error {
		for _, c := range list {
			addr, err := st.MapFile(c.FD, c.Size)
			if err == nil {
				mapped = append(mapped, &commonTable{Common: c, addr: addr})
				err = sameMemory(st, addr, c.Memory)
			}
			if err != nil {
				for _, t := range mapped {
					err = errors.Join(err, st.Free(t.addr, t.Size))
				}
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b := e.buffers
	b.tablesLock.Lock()
	defer b.tablesLock.Unlock()
	b.common = map[string]*commonTable{}
	for _, t := range mapped {
		b.common[t.Name] = t
		e.logf("the map %s: the process has the kernel's memory of it at %#x", t.Name, t.addr)
	}
	return nil
}

// sameMemory checks that the process has mapped this memory, and no other file that it has put over the descriptor.
func sameMemory(st *process.Stopped, addr uint64, mem []byte) error {
	var random, there [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	copy(mem[checkAt:], random[:])
	defer clear(mem[checkAt : checkAt+8])
	if err := st.ReadMem(addr+checkAt, there[:]); err != nil {
		return err
	}
	if there != random {
		return fmt.Errorf("the process has another file mapped at %#x", addr)
	}
	return nil
}

// Disown ends the use of Common.Memory.
func (e *Engine) Disown() {
	b := e.buffers
	b.tablesLock.Lock()
	defer b.tablesLock.Unlock()
	for _, t := range b.common {
		t.Memory = nil
	}
}

// numbers lists the numbers of threads under their thread pointers, for keys of common tables. A thread is listed when it is born, or when a hit
// program has looked for it in vain: then a load that faults brings it to the tracer. A thread pointer that several threads have is not listed. The methods
// are called on the tracer's goroutine.
type numbers struct {
	buffers *buffers
	of      map[int]uint64 // thread pointers, by thread
	have    map[uint64]int // how many threads have a thread pointer
}

// Thread is the process's callback OnThread.
func (c *Callbacks) Thread(ev process.ThreadEvent) {
	n := c.numbers
	if n.of == nil {
		n.of, n.have = map[int]uint64{}, map[uint64]int{}
	}
	if old := n.of[ev.TID]; old != 0 && (old != ev.FSBase || ev.Kind == process.ThreadDied) {
		if n.have[old]--; n.have[old] == 0 {
			delete(n.have, old)
		}
		delete(n.of, ev.TID)
		n.unlist(old) // another one that has it is listed when it is missed
	}
	if ev.Kind != process.ThreadDied && ev.FSBase != 0 && n.of[ev.TID] == 0 {
		n.of[ev.TID] = ev.FSBase
		if n.have[ev.FSBase]++; n.have[ev.FSBase] > 1 {
			n.unlist(ev.FSBase)
		}
		n.missed(ev.TID)
	}
}

// missed: a hit program of the thread has made a load that cannot be made, perhaps since it did not find its number.
func (n *numbers) missed(tid int) {
	if pointer := n.of[tid]; pointer != 0 && n.have[pointer] == 1 {
		n.buffers.threadTable(func(r *maps.Reader) { r.List(threadKey(pointer), uint64(tid)) })
	}
}

func (n *numbers) unlist(pointer uint64) {
	n.buffers.threadTable(func(r *maps.Reader) { r.Unlist(threadKey(pointer)) })
}

func threadKey(pointer uint64) []uint64 { return []uint64{pointer, 0} }

// threadTable calls f with the table of the threads' numbers, if programs use one.
func (b *buffers) threadTable(f func(r *maps.Reader)) {
	b.tablesLock.Lock()
	defer b.tablesLock.Unlock()
	t, has := b.tables.of[tableName{shared: sema.ThreadNumbers().Name}]
	if !has || b.mem == nil {
		return
	}
	var err error
	defer b.mem.Guard(&err)()
	f(b.reader(t))
}

// commonRanges lists the memory of common tables in the process.
func (b *buffers) commonRanges() (list []process.Range) {
	b.tablesLock.Lock()
	defer b.tablesLock.Unlock()
	for _, t := range b.common {
		list = append(list, process.Range{Addr: t.addr, Size: t.Size})
	}
	return list
}
