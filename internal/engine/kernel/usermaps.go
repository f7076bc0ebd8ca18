package kernel

import (
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// userSymbols names addresses of processes. What a process has mapped is looked at
// when it is named for the session, or when its first stack is read, and again for
// addresses that are not found. Of a process that is gone by then only the file of
// the site is known, from where its probe was hit.
type userSymbols struct {
	procs map[int]*mapped
}

// mapped is what a process had mapped as code.
type mapped struct {
	ranges []codeRange
	read   time.Time
	part   bool // only what a hit told of it
}

type codeRange struct {
	lo, hi, off uint64
	path        string // "": of no file
}

// maxProcs bounds how many processes are remembered.
const maxProcs = 1024

// reread is how often the mappings of a process are looked at again for addresses
// that are in none of them.
const reread = 20 * time.Millisecond

func (u *userSymbols) find(pid int, pc uint64) (codeRange, bool) {
	m := u.of(pid)
	if m == nil {
		return codeRange{}, false
	}
	if r, ok := m.find(pc); ok || time.Since(m.read) < reread {
		return r, ok
	}
	if m = u.look(pid); m == nil {
		return codeRange{}, false
	}
	return m.find(pc)
}

// of is what is known of a process, which is looked at the first time; nil: it is gone.
func (u *userSymbols) of(pid int) *mapped {
	if m := u.procs[pid]; m != nil {
		return m
	}
	return u.look(pid)
}

// look reads what a process has mapped now. When it is gone, what is known stays.
func (u *userSymbols) look(pid int) *mapped {
	fresh := readMaps(pid)
	if fresh == nil {
		if old := u.procs[pid]; old != nil {
			old.read = time.Now()
		}
		return u.procs[pid]
	}
	u.set(pid, fresh)
	return fresh
}

func (u *userSymbols) set(pid int, m *mapped) {
	if u.procs == nil || len(u.procs) > maxProcs {
		u.procs = map[int]*mapped{}
	}
	u.procs[pid] = m
}

func (m *mapped) find(pc uint64) (codeRange, bool) {
	for _, r := range m.ranges {
		if r.lo <= pc && pc < r.hi {
			return r, true
		}
	}
	return codeRange{}, false
}

// plausible cuts a stack of return addresses before the first that lies in no code of
// the process: the kernel follows frame pointers, and code without them leads it astray.
func (u *userSymbols) plausible(pid int, pcs []uint64) []uint64 {
	if m := u.of(pid); m == nil || m.part {
		return pcs
	}
	for i := 1; i < len(pcs); i++ {
		if _, ok := u.find(pid, pcs[i]-1); !ok {
			return pcs[:i]
		}
	}
	return pcs
}

// readMaps lists the mappings of a process that are executable. nil: the process is
// gone, or has no memory any more.
func readMaps(pid int) *mapped {
	list, err := procdir.Maps(pid)
	if err != nil {
		return nil
	}
	m := &mapped{read: time.Now()}
	for i := range list {
		x := &list[i]
		if x.Prot&unix.PROT_EXEC == 0 {
			continue
		}
		r := codeRange{lo: x.Start, hi: x.End, off: x.Offset}
		if x.Inode != 0 && !x.Deleted {
			r.path = seenFrom(pid, x.Path)
		}
		m.ranges = append(m.ranges, r)
	}
	return m
}

// seenFrom is the path by which jalon opens a file that a process has mapped: in
// another mount namespace its path may be that of another file here.
func seenFrom(pid int, path string) string {
	theirs := procdir.Link(pid, filepath.Join("root", path))
	if _, err := openfile.Stat(theirs); path == "" || err != nil || openfile.Same(path, theirs) {
		return path
	}
	return theirs
}

// learn takes from a hit of a uprobe where the site's file is mapped, when the process
// is gone and nothing else is known of it. pc is where it was hit.
func (e *Engine) learn(ev *event.Event, pc uint64) {
	if e.user.of(ev.Pid) != nil || int(ev.Schema.SiteID) >= len(e.programs) {
		return
	}
	t := &e.programs[ev.Schema.SiteID].at.v.target
	if t.Kind != bpf.Uprobe { // at a return pc is the caller's
		return
	}
	m, err := e.src.file(t.Path)
	if err != nil {
		return
	}
	vaddr, ok := vaddrOf(m, t.FileOffset)
	if !ok || (pc-vaddr)%4096 != 0 {
		return
	}
	known := &mapped{read: time.Now(), part: true}
	for _, seg := range m.Segments() {
		if seg.Exe {
			known.ranges = append(known.ranges, codeRange{pc - vaddr + seg.Vaddr, pc - vaddr + seg.Vaddr + seg.Filesz, seg.Offset, t.Path})
		}
	}
	e.user.set(ev.Pid, known)
}

// Module is the file that a process has mapped at an address, and how far from its
// own addresses; nil when it is not known.
func (e *Host) Module(ev *event.Event, addr uint64) (*dwarf.Module, uint64) {
	r, ok := e.user.find(ev.Pid, addr)
	if !ok {
		return nil, 0
	}
	m, vaddr := e.image(r, addr)
	if m == nil {
		return nil, 0
	}
	return m, addr - vaddr
}

// image is the file that code is mapped from, and the address in its image of one in
// the process; nil when there is none.
func (e *Host) image(r codeRange, addr uint64) (*dwarf.Module, uint64) {
	if r.path == "" {
		return nil, 0
	}
	m, err := e.src.file(r.path)
	if err != nil {
		return nil, 0
	}
	vaddr, ok := vaddrOf(m, addr-r.lo+r.off)
	if !ok {
		return nil, 0
	}
	return m, vaddr
}

// UserFrames names the return addresses of a process's stack, which were found by
// unwinding it.
func (e *Host) UserFrames(ev *event.Event, pcs []uint64) []format.Frame {
	var out []format.Frame
	for i, pc := range pcs {
		out = append(out, e.user.frames(e, ev.Pid, pc, i > 0)...)
	}
	return out
}

// Hit tells where a process was hit before its stack is unwound.
func (e *Engine) Hit(ev *event.Event, pc uint64) { e.learn(ev, pc) }

// vaddrOf is the address in a file's image of an offset in the file.
func vaddrOf(m *dwarf.Module, off uint64) (uint64, bool) {
	for _, seg := range m.Segments() {
		if seg.Exe && off >= seg.Offset && off-seg.Offset < seg.Filesz {
			return off - seg.Offset + seg.Vaddr, true
		}
	}
	return 0, false
}
