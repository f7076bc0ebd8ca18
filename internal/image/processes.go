package image

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// Processes are the images of the processes in a trace of the whole system. The mappings of a process are
// read on first use, and again for unknown addresses. Of a process that has ended by then, what it has mapped since its
// exec is known by a source of changes (see Follow); without one only the file of a site, from its hit: see Learn.
type Processes struct {
	files *Files
	known map[int]*observed
	changes
}

// observed is an image with the time at which the mappings were read.
type observed struct {
	*Image
	read time.Time
	part bool // only what a hit showed of it
	past bool // what it was at a time before: see then
	// stale: other code was mapped where it has some.
	stale bool
}

// maxProcesses bounds how many processes are remembered.
const maxProcesses = 1024

// reread is how often the mappings of a process are looked at again for addresses
// that are in none of them.
const reread = 20 * time.Millisecond

// NewProcesses returns an empty set.
func NewProcesses(files *Files) *Processes {
	return &Processes{files: files, known: map[int]*observed{}}
}

// Watch reads the mappings of a process while it exists. A program that starts has not loaded its libraries
// yet: its mappings are read again for the first unknown address.
func (p *Processes) Watch(pid int) {
	if o := p.look(pid); o != nil {
		o.read = time.Time{}
	}
}

// of returns the data about a process, whose mappings the first call reads; nil if it has ended.
func (p *Processes) of(pid int) *observed {
	if log, is := p.earlier(pid); is {
		return p.before(pid, log)
	}
	o := p.known[pid]
	if o == nil || o.stale {
		o = p.look(pid)
	}
	if then := p.then(pid, p.logs[pid]); then != nil {
		return then
	}
	return o
}

// before is the image of an earlier log; nil: there is none.
func (p *Processes) before(pid int, log *codeLog) *observed {
	if log == nil {
		return nil
	}
	if then := p.then(pid, log); then != nil {
		return then
	}
	return p.logged(pid, log)
}

// look reads the present mappings of a process. If it has ended, its data are kept.
func (p *Processes) look(pid int) *observed {
	maps, err := procdir.Maps(pid)
	p.Changed() // behind it: what was read may be that of another program
	if log, is := p.earlier(pid); is {
		return p.before(pid, log)
	}
	old := p.known[pid]
	if err != nil {
		if old = p.ended(pid); old != nil {
			old.read, old.stale = time.Now(), false
		}
		return old
	}
	if old == nil || old.part {
		old = p.set(pid, &observed{Image: New(pid, p.files)})
	}
	old.makes = slices.ContainsFunc(maps, func(x procdir.Mapping) bool { return isMade(&x) }) && !tracedHere(pid)
	old.Update(maps)
	old.read, old.stale = time.Now(), false
	return old
}

func (p *Processes) set(pid int, o *observed) *observed {
	if len(p.known) > maxProcesses {
		clear(p.known)
	}
	p.known[pid] = o
	return o
}

// at is the image of a process that has code at an address; nil: none is known.
func (p *Processes) at(pid int, pc uint64) *observed {
	o := p.of(pid)
	if o == nil || o.IsCode(pc) {
		return o
	}
	if _, is := p.earlier(pid); is || o.past {
		return nil
	}
	if time.Since(o.read) >= reread {
		o = p.look(pid)
	}
	if o == nil || !o.IsCode(pc) {
		return p.unloaded(pid, pc)
	}
	return o
}

// Plausible cuts a stack of return addresses before the first that lies in no code of
// the process: the kernel follows frame pointers, and code without them leads it astray.
func (p *Processes) Plausible(pid int, pcs []uint64) []uint64 {
	if o := p.of(pid); o == nil || o.part {
		return pcs
	}
	for i := 1; i < len(pcs); i++ {
		if p.at(pid, pcs[i]-1) == nil {
			return pcs[:i]
		}
	}
	return pcs
}

// Learn takes from a hit at pc, the address of the byte at an offset of a file, where the
// file's code is mapped, when the process is gone and nothing else is known of it.
func (p *Processes) Learn(pid int, path string, offset, pc uint64) {
	if p.of(pid) != nil {
		return
	}
	info, err := p.files.Open(path)
	if err != nil {
		return
	}
	vaddr, ok := offsetVaddr(info, offset)
	if !ok || (pc-vaddr)&pageMask != 0 {
		return
	}
	im := New(0, p.files)
	m := &Module{Path: path, Exe: true, image: im, file: path, found: true, proven: true, tried: true, info: info, bias: pc - vaddr}
	for _, seg := range info.Segments() {
		if seg.Exe {
			start := m.bias + seg.Vaddr
			m.Maps = append(m.Maps, procdir.Mapping{Start: start, End: start + seg.Filesz, Offset: seg.Offset, Prot: unix.PROT_READ | unix.PROT_EXEC, Path: path})
		}
	}
	im.mods = []*Module{m}
	im.index(m.Maps)
	p.set(pid, &observed{Image: im, read: time.Now(), part: true})
}

// Known reports whether something is known of a process.
func (p *Processes) Known(pid int) bool { return p.of(pid) != nil }

// Frames is Image.Frames for a process.
func (p *Processes) Frames(pid int, pc uint64, caller bool) []debuginfo.Frame {
	at := pc
	if caller {
		at--
	}
	o := p.at(pid, at)
	if o == nil {
		return []debuginfo.Frame{{PC: pc}}
	}
	return o.Frames(pc, caller)
}

// File is Image.File for code of a process.
func (p *Processes) File(pid int, addr uint64) (*dwarf.Module, uint64) {
	o := p.at(pid, addr)
	if o == nil {
		return nil, 0
	}
	return o.File(addr)
}

// Unwind is Image.Unwind for a process.
func (p *Processes) Unwind(pid int, regs, stack []byte) []debuginfo.Frame {
	in := inProcess{p, pid}
	pcs, end := in.walks().follow(regs, stack, lookup{in.rule, in.file})
	return in.walks().named(pcs, end, in)
}

// Walked is Image.Walked for a process.
func (p *Processes) Walked(pid int, pcs []uint64, end unwind.End) []debuginfo.Frame {
	in := inProcess{p, pid}
	if n := len(pcs); n > 1 && end == unwind.Unknown && p.at(pid, pcs[n-1]-1) == nil {
		if o := p.of(pid); o != nil && !o.part {
			pcs, end = pcs[:n-1], unwind.Damaged // the word is not a return address
		}
	}
	return in.walks().named(pcs, end, in)
}

// Code is the code that a process has now, as far as there are tables of it.
func (p *Processes) Code(pid int) (list []unwind.Module) {
	defer func(now uint64) { p.now = now }(p.now)
	p.now = 0
	o := p.look(pid)
	if o == nil || o.part {
		return nil
	}
	o.read = time.Time{} // as Watch does
	for _, m := range o.mods {
		if m.Open() != nil {
			continue
		}
		for i := range m.Maps {
			x := &m.Maps[i]
			if !m.MapsCode(x) {
				continue
			}
			if table := m.info.UnwindTable(); table != nil {
				list = append(list, unwind.Module{Lo: x.Start, Hi: x.End, Bias: m.bias, Table: table})
			}
		}
	}
	return append(list, o.madeModules(unwind.SharedModules-len(list))...)
}

// Snapshot is the image that a process has now, for later; nil: nothing is known of it.
func (p *Processes) Snapshot(pid int) *Image {
	o := p.known[pid]
	if o == nil || o.part {
		return nil
	}
	return &Image{pid: o.pid, files: o.files, root: o.root, mods: o.mods, parts: o.parts, code: o.code, makes: o.makes}
}

// inProcess looks up addresses of a process.
type inProcess struct {
	*Processes
	pid int
}

// walks caches data for a process's stacks. Lookups may have found meanwhile that its files have changed.
func (in inProcess) walks() *walks {
	if o := in.of(in.pid); o != nil {
		return &o.walks
	}
	return &walks{}
}

func (in inProcess) file(addr uint64) (*dwarf.Module, uint64) { return in.File(in.pid, addr) }

func (in inProcess) Frames(pc uint64, caller bool) []debuginfo.Frame {
	return in.Processes.Frames(in.pid, pc, caller)
}

func (in inProcess) made(addr uint64) bool {
	o := in.at(in.pid, addr)
	return o != nil && o.made(addr)
}

func (in inProcess) IsCode(addr uint64) bool { return in.at(in.pid, addr) != nil }

func (in inProcess) rule(addr uint64) unwind.Rule {
	if o := in.at(in.pid, addr); o != nil {
		return o.rule(addr)
	}
	return unwind.Rule(unwind.None)
}
