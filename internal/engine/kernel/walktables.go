package kernel

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// Programs follow the stacks of processes by tables in the shared area of package unwind. A process gets its tables when it is
// traced by its number, or when a copy of one of its stacks is read; until then its stacks are copied.
//
//  1. jalon makes the slot of the process: its number, no pages, not stale. Programs take no list of a slot without pages.
//  2. jalon reads how many pages of code the process has, its mappings, and the pages again. If the numbers differ, it leaves the
//     slot as it is.
//  3. jalon writes the tables that are not in the area yet, the list, and then the pages.
//
// From step 1 on, programs of the kernel (see watcher) make the slot stale when the process gets new memory at an address of its list,
// or anywhere while it has no pages; when it executes another program; and when a new process gets its number. A program that
// follows a stack takes the list only if the slot is not stale and the process has as many pages of code as the slot has, or one more, for
// the page that the kernel adds when a uprobe is hit. So code
// that was loaded or unloaded since is noticed before a stack is followed through it. Two cases are not noticed: a mapping at a fixed
// address over code that leaves the number of pages of code as it was; and a library that was unloaded while one of as many pages was
// loaded to another address. Of the latter there are no tables: the stack ends there, with this reason, and jalon reads the
// mappings again.
//
// An old list is used again when it has been replaced for ten seconds, which is longer than any program runs.

const (
	walkTablesName = bufferName + "_tables"
	// walkTablesSize bounds the memory of the tables: those of all libraries of a system's services are some 10 MiB.
	walkTablesSize = 32 << 20
	// listGrace is how long a replaced list stays.
	listGrace = 10 * time.Second
	// updates and mostUpdates are how long a process keeps its slot that is not known to have changed: longer each time that its
	// list is the same.
	mostUpdates = 2 * time.Second
	updates     = 50 * time.Millisecond
)

// walkTables has the tables.
type walkTables struct {
	*base
	facts *facts
	user  *image.Processes

	code    ebpf.Tables
	buffer  *bpf.Buffer
	mem     []byte
	next    uint64 // the first free byte
	tables  map[*unwind.Table]uint64
	slots   map[int]slotOwner // by number of the slot
	free    []freeList
	full    bool
	watched error // why the slots are not watched: then there are none
	watch   []watcher
	spaces  *userStacks // gives numbers to address spaces; nil: there are no stacks in keys
	// followed and copied are how many stacks were read, for the log.
	followed, copied uint64
}

// slotOwner is the process of a slot.
type slotOwner struct {
	pid    int
	list   uint64 // offset of its list; 0: none
	room   int    // modules
	size   int    // bytes of it
	space  uint32 // the number of what the list was made of; 0: it has none
	update time.Time
	wait   time.Duration // until the next update, unless the code is known to have changed
}

// freeList is room for a list, from some time on.
type freeList struct {
	at   uint64
	room int
	from time.Time
}

// followable reports whether stacks of processes can be followed by tables on this machine: the return address is on the stack, and
// the kernel reports how many pages of code a process has and where it gets new memory.
func (s *facts) followable() bool {
	return host.Processor.Link == arch.NoReg && s.offset("task_struct", "mm") >= 0 && s.offset("mm_struct", "exec_vm") >= 0 &&
		s.offset("vm_unmapped_area_info", "length") >= 0
}

// open makes the area and watches, once.
func (w *walkTables) open() (err error) {
	if w.buffer != nil {
		return nil
	}
	w.code = ebpf.Tables{Name: walkTablesName, MM: w.facts.offset("task_struct", "mm"), Pages: w.facts.offset("mm_struct", "exec_vm"),
		Uprobes: max(0, w.facts.offset("mm_struct", "uprobes_state"))} // whose first member it is
	for w.code.Size = walkTablesSize; ; w.code.Size /= 2 {
		if w.buffer, err = w.k.NewBuffer(walkTablesName, w.code.Size+ring.PageSize); err == nil {
			break
		}
		if w.code.Size <= 1<<20 {
			return err
		}
	}
	w.mem, w.next = w.buffer.Memory(), unwind.SharedLists
	w.tables, w.slots = map[*unwind.Table]uint64{}, map[int]slotOwner{}
	if w.watched = w.startWatching(); w.watched != nil {
		w.logf("stacks of programs are copied: %v", w.watched)
	}
	return nil
}

func (w *walkTables) close() error {
	var errs []error
	for i := range w.watch {
		errs = append(errs, w.watch[i].close())
	}
	if w.buffer != nil {
		w.logf("stacks of programs that were read: %d followed at the hit, %d copied", w.followed, w.copied)
		errs = append(errs, w.buffer.Close())
	}
	return errors.Join(errs...)
}

// update makes the tables of a process agree with its present code. If this cannot be, or the area is full, its stacks are copied.
func (w *walkTables) update(pid int) {
	if w.buffer == nil || w.watched != nil || pid <= 0 {
		return
	}
	n, now := pid%unwind.Processes, time.Now()
	own := w.slots[n]
	slot := w.mem[n*unwind.ProcessSize:]
	changed := own.list != 0 && load32(slot[unwind.ProcessStale:]) != 0
	if own.pid == pid && !changed && now.Sub(own.update) < own.wait || own.pid != pid && own.pid != 0 && alive(own.pid) {
		return
	}
	store32(slot[unwind.ProcessTgid:], 0)
	store64(slot[unwind.ProcessPages:], 0)
	store32(slot[unwind.ProcessStale:], 0)
	store32(slot[unwind.ProcessTgid:], uint32(pid))
	old := own
	own = slotOwner{pid: pid, update: now, wait: updates}
	if old.pid == pid {
		own.wait = min(2*old.wait, mostUpdates)
	}
	pages := codePages(pid)
	list := w.user.Code(pid)
	if len(list) > 0 && len(list) <= unwind.SharedModules && pages != 0 && codePages(pid) == pages {
		if b, ok := w.encode(list); ok && w.place(&own, &old, b, now) {
			store64(slot[unwind.ProcessList:], uint64(own.space)<<unwind.SpaceShift|own.list<<unwind.ListShift|uint64(len(list)))
			store64(slot[unwind.ProcessPages:], pages)
		}
	}
	if old.list != 0 && old.list != own.list {
		own.wait = updates
		w.free = append(w.free, freeList{old.list, old.room, now.Add(listGrace)})
	}
	w.slots[n] = own
}

// again updates the processes of which a stack has ended in code without tables.
func (w *walkTables) again() {
	for n, own := range w.slots {
		slot := w.mem[n*unwind.ProcessSize:]
		if load32(slot[unwind.ProcessAgain:]) != 0 {
			store32(slot[unwind.ProcessAgain:], 0)
			w.update(own.pid)
		}
	}
}

// early takes the code of a process before the first hit.
type early struct{ walks *walkTables }

// FollowsStacks reports whether programs follow stacks of processes by their call frame information.
func (e early) FollowsStacks() bool { return e.walks.buffer != nil }

// Mapped makes the tables of a process that has its libraries now.
func (e early) Mapped(pid int) { e.walks.renew(pid) }

// renew is update for a process that has other code now.
func (w *walkTables) renew(pid int) {
	if own, has := w.slots[pid%unwind.Processes]; has && own.pid == pid {
		own.wait = 0
		w.slots[pid%unwind.Processes] = own
	}
	w.update(pid)
}

// place gives a process a list: its old one, if that is the same.
func (w *walkTables) place(own, old *slotOwner, b []byte, now time.Time) (ok bool) {
	if old.size == len(b) && old.list != 0 && bytes.Equal(w.mem[old.list:old.list+uint64(len(b))], b) {
		own.list, own.room, own.size, own.space = old.list, old.room, old.size, old.space
		return w.number(own)
	}
	if own.list, own.room, ok = w.room(len(b)/unwind.ModuleSize, now); ok {
		own.size = copy(w.mem[own.list:], b)
		ok = w.number(own)
	}
	return ok
}

// number gives the address space of a list a number, if stacks in keys need one.
func (w *walkTables) number(own *slotOwner) (ok bool) {
	if w.spaces == nil || own.space != 0 {
		return true
	}
	own.space, ok = w.spaces.give(own.pid)
	return ok
}

// numbered makes all lists invalid, because they have no numbers yet.
func (w *walkTables) numbered(by *userStacks) {
	w.spaces = by
	for n, own := range w.slots {
		store64(w.mem[n*unwind.ProcessSize+unwind.ProcessPages:], 0)
		own.wait = 0
		w.slots[n] = own
	}
}

// encode makes a list, and writes the tables that it needs.
func (w *walkTables) encode(list []unwind.Module) (b []byte, ok bool) {
	slices.SortFunc(list, func(a, b unwind.Module) int { return cmp.Compare(a.Lo, b.Lo) })
	for i := range list {
		t := list[i].Table
		off, has := w.tables[t]
		if !has {
			if off, has = w.alloc(uint64(t.Size())); !has {
				return nil, false
			}
			copy(w.mem[off:], t.Bytes())
			w.tables[t] = off
		}
		b = append(b, list[i].Encode(off)...)
	}
	return b, true
}

// room finds room for a list.
func (w *walkTables) room(modules int, now time.Time) (at uint64, room int, ok bool) {
	for i, f := range w.free {
		if f.room >= modules && now.After(f.from) {
			w.free = append(w.free[:i], w.free[i+1:]...)
			return f.at, f.room, true
		}
	}
	room = (modules + 15) &^ 15
	at, ok = w.alloc(uint64(room) * unwind.ModuleSize)
	return at, room, ok
}

func (w *walkTables) alloc(size uint64) (at uint64, ok bool) {
	size = (size + 63) &^ 63
	if size > w.code.Size-w.next {
		if !w.full {
			w.full = true
			w.logf("the tables for following stacks fill %d MiB: stacks of further programs are copied", w.code.Size>>20)
		}
		return 0, false
	}
	at = w.next
	w.next += size
	return at, true
}

func alive(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil
}

// codePages is how many pages of code a process has, without the kernel's page for uprobes; 0: it is not known.
func codePages(pid int) (pages uint64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for _, name := range []string{"\nVmExe:", "\nVmLib:"} {
		_, after, found := strings.Cut(string(b), name)
		line, _, _ := strings.Cut(after, "\n")
		kb, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(line, "kB")), 10, 64)
		if !found || err != nil {
			return 0
		}
		pages += kb / (ring.PageSize >> 10)
	}
	maps, err := procdir.Maps(pid)
	if err != nil {
		return 0
	}
	if slices.ContainsFunc(maps, func(x procdir.Mapping) bool { return x.Path == "[uprobes]" }) {
		pages--
	}
	return pages
}

// Programs read and write the words of slots.
func load32(b []byte) uint32 {
	_ = binary.LittleEndian.Uint32(b)
	return atomic.LoadUint32((*uint32)(unsafe.Pointer(&b[0])))
}

func store32(b []byte, v uint32) {
	_ = binary.LittleEndian.Uint32(b)
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&b[0])), v)
}

func store64(b []byte, v uint64) {
	_ = binary.LittleEndian.Uint64(b)
	atomic.StoreUint64((*uint64)(unsafe.Pointer(&b[0])), v)
}
