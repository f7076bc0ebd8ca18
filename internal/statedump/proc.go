package statedump

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// processes reads processes and threads from /proc.
func (d *Dump) processes(pid int, others bool) {
	list, err := os.ReadDir("/proc")
	if err != nil {
		d.Unread++
	}
	b := newBuilds()
	for _, e := range list {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if len(d.Tasks) >= maxTasks {
			d.Unread++
			return
		}
		if d.process(n, n == pid); others {
			d.code(n, b)
			d.opened(n)
		}
	}
}

// missed notes that something could not be read, unless its process has ended.
func (d *Dump) missed(err error) {
	if err != nil && !os.IsNotExist(err) && !strings.Contains(err.Error(), "no such process") {
		d.Unread++
	}
}

func (d *Dump) process(pid int, whole bool) {
	dir := fmt.Sprintf("/proc/%d", pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		d.missed(err)
		return
	}
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	rest := strings.Fields(string(stat[end+1:]))
	if open < 0 || end < open || len(rest) < 2 {
		d.Unread++
		return
	}
	parent, _ := strconv.Atoi(rest[1])
	p := ctf.StateProcess{Pid: pid, Parent: parent, Name: string(stat[open+1 : end])}
	if uid, err := procdir.Status(pid, pid, "Uid"); err == nil {
		p.UID = uint32(uid)
	}
	p.Program, _ = os.Readlink(dir + "/exe") // not of other users' processes, and of none of the kernel's threads
	if whole {
		p.Command = command(pid)
	}
	d.Processes = append(d.Processes, p)
	tasks, err := os.ReadDir(dir + "/task")
	d.missed(err)
	for _, e := range tasks {
		tid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if len(d.Tasks) == maxTasks {
			d.Unread++
			return
		}
		name, err := os.ReadFile(dir + "/task/" + e.Name() + "/comm")
		if err != nil {
			d.missed(err)
			continue
		}
		d.Tasks = append(d.Tasks, ctf.Thread{Pid: pid, Tid: tid, Name: strings.TrimSuffix(string(name), "\n")})
	}
}

// command is the command line of a process, up to maxCommand bytes.
func command(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(strings.TrimRight(string(b[:min(len(b), maxCommand)]), "\x00"), "\x00", " ")
}

// memory reads the mappings of files of the traced process, and the build-ids of these.
func (d *Dump) memory(pid int, b *builds) {
	maps, err := procdir.Maps(pid)
	d.missed(err)
	d.mapped(pid, maps, b)
}

// code reads the mappings of code of any process.
func (d *Dump) code(pid int, b *builds) {
	maps, err := procdir.Maps(pid)
	if !errors.Is(err, procdir.ErrNoMemory) { // one of the kernel's threads, or one that has ended
		d.missed(err)
	}
	d.mapped(pid, slices.DeleteFunc(maps, func(m procdir.Mapping) bool { return m.Prot&unix.PROT_EXEC == 0 }), b)
}

func (d *Dump) mapped(pid int, maps []procdir.Mapping, b *builds) {
	for i := range maps {
		m := &maps[i]
		if !ofFile(m.Path, m.Inode) {
			continue
		}
		if len(d.Mappings) == maxMappings {
			d.Unread++
			return
		}
		id := b.of(pid, buildKey{m.Path, m.Dev, m.Inode, m.Deleted})
		d.Mappings = append(d.Mappings, ctf.Mapping{Pid: pid, Start: m.Start, End: m.End, Offset: m.Offset, Path: m.Path, BuildID: id})
	}
}

// deletedSuffix is what the kernel appends to the path of a file that has none any more.
const deletedSuffix = " (deleted)"

// ofFile reports whether a mapping is of a file that a state has. jalon's own are not the program's.
func ofFile(path string, inode uint64) bool {
	return strings.HasPrefix(path, "/") && inode != 0 && path != "/memfd:jalon"
}

// builds are the build-ids of the files of a dump, each read once.
type builds struct{ known map[buildKey]string }

type buildKey struct {
	path, dev string
	inode     uint64
	deleted   bool
}

func newBuilds() *builds { return &builds{map[buildKey]string{}} }

// of returns the build-id of a file that a process has mapped; "" if it has none, or cannot be read any more.
func (b *builds) of(pid int, k buildKey) string {
	id, known := b.known[k]
	if !known && !k.deleted {
		if f, err := elf.Open(procdir.Link(pid, "root") + k.path); err == nil {
			id = f.BuildID
			f.Close()
		}
	}
	b.known[k] = id
	return id
}

// opened reads where the descriptors of a process lead to.
func (d *Dump) opened(pid int) {
	dir := procdir.Link(pid, "fd")
	list, err := os.ReadDir(dir)
	d.missed(err)
	for _, e := range list {
		fd, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if len(d.Files) == maxFiles {
			d.Unread++
			return
		}
		if path, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			d.Files = append(d.Files, ctf.OpenFile{Pid: pid, FD: fd, Path: path})
		}
	}
}

func (d *Dump) topology() {
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
		d.CPUs = append(d.CPUs, c)
	}
}

// interrupts reads the lines of interrupts and who handles them.
func (d *Dump) interrupts() {
	dirs, _ := filepath.Glob("/sys/kernel/irq/[0-9]*")
	for _, dir := range dirs {
		n, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		d.Interrupts = append(d.Interrupts, ctf.Interrupt{IRQ: n, Name: line(dir + "/chip_name"), Action: line(dir + "/actions")})
	}
	slices.SortFunc(d.Interrupts, func(a, b ctf.Interrupt) int { return a.IRQ - b.IRQ })
}

// line reads a file with one line; "" if it cannot be read.
func line(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number reads a file with a number; -1 if it cannot be read, or has none.
func number(file string) int {
	n, err := strconv.Atoi(line(file))
	if err != nil {
		return -1
	}
	return n
}

// Boot is the kernel's id of the time since the machine was started.
func Boot() string { return line("/proc/sys/kernel/random/boot_id") }
