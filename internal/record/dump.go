package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// A dump of the state is read from /proc and /sys on a goroutine of its own, so that the rings are read meanwhile. It has all processes
// and threads with names and parents, the CPUs, the lines of interrupts, and of the traced process also its mappings, with the build-ids of
// their files, and its open files. Each of these was so at one time during the dump, of which the trace has the begin and the end.
//
// The first dump begins when the places are armed. So where the trace has the life cycle of processes (jalon record --set life), each process
// is in the dump or in an event: one that has forked before the places were armed and lives is in /proc, any other has its fork recorded. Of
// the traced process the mappings and files are read before, since it may end soon.

// dump is what was read.
type dump struct {
	processes []ctf.StateProcess
	tasks     []ctf.Thread
	mappings  []ctf.Mapping
	files     []ctf.OpenFile
	cpus      []ctf.CPU
	irqs      []ctf.Interrupt
	span      ctf.Span
	unread    uint32 // things that could not be read, for other reasons than that their process has ended
}

// Limits of a dump.
const (
	maxTasks    = 1 << 17
	maxMappings = 1 << 16
	maxFiles    = 1 << 16
	maxCommand  = 4096
	// dumpEvery is the shortest time between two dumps that begin parts of a trace.
	dumpEvery = time.Second
	// dumpPatience is how long the end of a recording waits for a dump.
	dumpPatience = 5 * time.Second
)

// readTarget reads what a dump has of the traced process only; 0: there is none.
func readTarget(pid int) *dump {
	d := &dump{}
	if pid != 0 {
		d.memory(pid)
		d.opened(pid)
	}
	return d
}

// readAll reads the rest of the state; pid is the traced process.
func (d *dump) readAll(pid int) {
	d.span.Since = event.Monotonic()
	defer func() { d.span.Until = event.Monotonic() }()
	list, err := os.ReadDir("/proc")
	if err != nil {
		d.unread++
	}
	for _, e := range list {
		if n, err := strconv.Atoi(e.Name()); err == nil && len(d.tasks) < maxTasks {
			d.process(n, n == pid)
		}
	}
	d.topology()
	d.interrupts()
}

// missed notes that something could not be read, unless its process has ended.
func (d *dump) missed(err error) {
	if err != nil && !os.IsNotExist(err) && !strings.Contains(err.Error(), "no such process") {
		d.unread++
	}
}

func (d *dump) process(pid int, whole bool) {
	dir := fmt.Sprintf("/proc/%d", pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		d.missed(err)
		return
	}
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	rest := strings.Fields(string(stat[end+1:]))
	if open < 0 || end < open || len(rest) < 2 {
		d.unread++
		return
	}
	parent, _ := strconv.Atoi(rest[1])
	p := ctf.StateProcess{Pid: pid, Parent: parent, Name: string(stat[open+1 : end])}
	if uid, err := procdir.Status(pid, pid, "Uid"); err == nil {
		p.UID = uint32(uid)
	}
	p.Program, _ = os.Readlink(dir + "/exe") // not of other users' processes, and of none of the kernel's threads
	if whole {
		if b, err := os.ReadFile(dir + "/cmdline"); err == nil {
			p.Command = strings.ReplaceAll(strings.TrimRight(string(b[:min(len(b), maxCommand)]), "\x00"), "\x00", " ")
		}
	}
	d.processes = append(d.processes, p)
	tasks, err := os.ReadDir(dir + "/task")
	d.missed(err)
	for _, e := range tasks {
		tid, err := strconv.Atoi(e.Name())
		if err != nil || len(d.tasks) >= maxTasks {
			continue
		}
		name, err := os.ReadFile(dir + "/task/" + e.Name() + "/comm")
		if err != nil {
			d.missed(err)
			continue
		}
		d.tasks = append(d.tasks, ctf.Thread{Pid: pid, Tid: tid, Name: strings.TrimSuffix(string(name), "\n")})
	}
}

// memory reads the mappings of files, and the build-ids of these.
func (d *dump) memory(pid int) {
	maps, err := procdir.Maps(pid)
	d.missed(err)
	ids := map[string]string{}
	for i := range maps {
		m := &maps[i]
		if !strings.HasPrefix(m.Path, "/") || m.Inode == 0 || m.Path == "/memfd:jalon" { // jalon's own are not the program's
			continue
		}
		if len(d.mappings) == maxMappings {
			d.unread++
			return
		}
		id, known := ids[m.Path]
		if !known && !m.Deleted {
			if f, err := elf.Open(procdir.Link(pid, "root") + m.Path); err == nil {
				id = f.BuildID
				f.Close()
			}
		}
		ids[m.Path] = id
		d.mappings = append(d.mappings, ctf.Mapping{Pid: pid, Start: m.Start, End: m.End, Offset: m.Offset, Path: m.Path, BuildID: id})
	}
}

// opened reads where the descriptors of a process lead to.
func (d *dump) opened(pid int) {
	dir := procdir.Link(pid, "fd")
	list, err := os.ReadDir(dir)
	d.missed(err)
	for _, e := range list {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if len(d.files) == maxFiles {
			d.unread++
			return
		}
		if path, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			d.files = append(d.files, ctf.OpenFile{Pid: pid, FD: fd, Path: path})
		}
	}
}

func (d *dump) topology() {
	dirs, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*")
	for _, dir := range dirs {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "cpu"))
		if err != nil {
			continue
		}
		c := ctf.CPU{CPU: n, Package: number(dir + "/topology/physical_package_id"), Core: number(dir + "/topology/core_id"), Node: -1}
		if nodes, _ := filepath.Glob(dir + "/node[0-9]*"); len(nodes) == 1 {
			if c.Node, err = strconv.Atoi(strings.TrimPrefix(filepath.Base(nodes[0]), "node")); err != nil {
				c.Node = -1
			}
		}
		d.cpus = append(d.cpus, c)
	}
}

// interrupts reads the lines of interrupts and who handles them.
func (d *dump) interrupts() {
	dirs, _ := filepath.Glob("/sys/kernel/irq/[0-9]*")
	for _, dir := range dirs {
		n, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		d.irqs = append(d.irqs, ctf.Interrupt{IRQ: n, Name: line(dir + "/chip_name"), Action: line(dir + "/actions")})
	}
	slices.SortFunc(d.irqs, func(a, b ctf.Interrupt) int { return a.IRQ - b.IRQ })
}

// line reads a file with one line; "": there is none.
func line(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number reads a file with a number; -1: there is none.
func number(file string) int {
	b, err := os.ReadFile(file)
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return -1
	}
	return n
}

// beginDump begins to read the state, unless it is being read.
func (r *Recorder) beginDump() {
	if r.dumping != nil || r.target != nil {
		return
	}
	done, pid := make(chan *dump, 1), r.s.Pid
	go func() {
		d := readTarget(pid)
		d.readAll(pid)
		done <- d
	}()
	r.dumping, r.dumped = done, time.Now()
}

// Armed says that the places are armed: the state can be read. Any goroutine may call it.
func (r *Recorder) Armed() { r.armed.Store(true) }

// firstDump begins to read the state, as beginDump does, but has what was read of the program before its first hit: it may end soon.
func (r *Recorder) firstDump() {
	d, done, pid := r.target, make(chan *dump, 1), r.s.Pid
	r.target = nil
	go func() {
		d.readAll(pid)
		done <- d
	}()
	r.dumping, r.dumped = done, time.Now()
}

// takeDump writes the state if it has been read; wait is how long to wait for it.
func (r *Recorder) takeDump(wait time.Duration) {
	if r.target != nil && (r.armed.Load() || wait > 0) {
		r.firstDump()
	}
	if r.wanted.Load() && r.target == nil && r.dumping == nil && r.wanted.Swap(false) {
		r.beginDump()
	}
	if r.dumping == nil {
		return
	}
	if wait == 0 {
		select {
		case d := <-r.dumping:
			r.putDump(d)
		default:
		}
		return
	}
	select {
	case d := <-r.dumping:
		r.putDump(d)
	case <-time.After(wait):
	}
}

// putDump writes the state.
func (r *Recorder) putDump(d *dump) {
	r.dumping = nil
	r.opt.Redact.dump(d)
	now := event.Monotonic()
	r.state.Begin(now)
	full := func() {
		if r.state.Full() {
			r.out.packet(ctf.State.String(), r.state.Take(0, nil), 0)
		}
	}
	for i := range d.processes {
		r.state.Process(now, d.processes[i])
		full()
	}
	for _, t := range d.tasks {
		r.state.Task(now, t.Pid, t.Tid, t.Name)
		full()
	}
	for i := range d.mappings {
		r.state.Mapping(now, d.mappings[i])
		full()
	}
	for i := range d.files {
		r.state.File(now, d.files[i])
		full()
	}
	for i := range d.cpus {
		r.state.CPU(now, d.cpus[i])
	}
	for i := range d.irqs {
		r.state.Interrupt(now, d.irqs[i])
		full()
	}
	r.state.Span(now, d.span)
	r.state.End(now, d.unread)
}

// DumpState writes the present state to the trace. Any goroutine may call it.
func (r *Recorder) DumpState() { r.wanted.Store(true) }
