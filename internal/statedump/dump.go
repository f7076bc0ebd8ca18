// Package statedump reads the state of the system for recordings: processes and threads with names and parents, mappings with build-ids, open
// files, CPUs, lines of interrupts. Each of these was so at one time during the dump, of which it has the begin and the end.
//
// Threads, and the mappings and files of all processes, come from the kernel's iterators where this process may use them: a thread's record is
// of one moment, and a thousand of them take a millisecond. Otherwise, and for one process, /proc is read. The rows are the same.
//
// Import rule: statedump imports bpf, ctf, debuginfo/elf, event and procdir only.
package statedump

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// Dump is what was read.
type Dump struct {
	Processes  []ctf.StateProcess
	Tasks      []ctf.Thread
	Mappings   []ctf.Mapping
	Files      []ctf.OpenFile
	CPUs       []ctf.CPU
	Interrupts []ctf.Interrupt
	Span       ctf.Span
	Unread     uint32 // things that could not be read, for other reasons than that their process has ended
}

// Limits of a dump.
const (
	maxTasks    = 1 << 17
	maxMappings = 1 << 16
	maxFiles    = 1 << 16
	maxCommand  = 4096
)

// Reader reads dumps, one at a time. The zero value is ready.
type Reader struct {
	// Proc reads all from /proc.
	Proc bool

	tried   bool
	kernel  *bpf.Kernel
	objects *bpf.Objects // nil: /proc is read
}

// Close frees what the kernel has for the reader.
func (r *Reader) Close() {
	if r.objects != nil {
		_ = r.objects.Close() // they are of this process, and end with it at the latest
	}
	if r.kernel != nil {
		_ = r.kernel.Close()
	}
	*r = Reader{Proc: r.Proc}
}

// Target reads what a dump has of one process only; pid 0 gives an empty dump.
func (r *Reader) Target(pid int) *Dump {
	d := &Dump{}
	if pid != 0 {
		b := newBuilds()
		d.memory(pid, b)
		d.opened(pid)
	}
	return d
}

// All reads the rest of the state. pid is the process that Target has read. others: the mappings of code and the files of all processes too.
func (r *Reader) All(d *Dump, pid int, others bool) {
	d.Span.Since = event.Monotonic()
	defer func() { d.Span.Until = event.Monotonic() }()
	before := *d
	if o := r.iterators(); o == nil || d.iterate(o, pid, others) != nil {
		*d = before
		d.processes(pid, others)
	}
	d.topology()
	d.interrupts()
}

// firstNamespace is the inode of the machine's first PID namespace (PROC_PID_INIT_INO), whose numbers the iterators give.
const firstNamespace = 0xEFFFFFFC

// iterators are the kernel's; nil: they cannot be used.
func (r *Reader) iterators() *bpf.Objects {
	if r.Proc || r.tried {
		return r.objects
	}
	r.tried = true
	var st syscall.Stat_t
	if err := syscall.Stat("/proc/self/ns/pid", &st); err != nil || st.Ino != firstNamespace || procdir.Own() != nil {
		return nil
	}
	k, err := bpf.Open()
	if err != nil {
		return nil
	}
	if r.kernel = k; k.Features().Load.OK {
		if r.objects, err = k.Objects(); err != nil {
			r.objects = nil
		}
	}
	return r.objects
}

// iterate reads by the iterators.
func (d *Dump) iterate(o *bpf.Objects, pid int, others bool) error {
	err := o.Tasks(func(t *bpf.Task) bool {
		if len(d.Tasks) == maxTasks {
			d.Unread++
			return false
		}
		if t.Tid == t.Pid {
			p := ctf.StateProcess{Pid: t.Pid, Parent: t.Parent, UID: t.UID, Name: t.Name}
			if !t.Kernel {
				p.Program, _ = os.Readlink(fmt.Sprintf("/proc/%d/exe", t.Pid))
			}
			if t.Pid == pid {
				p.Command = command(pid)
			}
			d.Processes = append(d.Processes, p)
		}
		d.Tasks = append(d.Tasks, ctf.Thread{Pid: t.Pid, Tid: t.Tid, Name: t.Name})
		return true
	})
	if err != nil || !others {
		return err
	}
	if err := d.iterateMappings(o); err != nil {
		return err
	}
	return o.Opened(func(f *bpf.OpenFile) bool {
		if len(d.Files) == maxFiles {
			d.Unread++
			return false
		}
		if f.Path == "" {
			d.Unread++
			return true
		}
		d.Files = append(d.Files, ctf.OpenFile{Pid: f.Pid, FD: f.FD, Path: f.Path})
		return true
	})
}

// iterateMappings reads the mappings of code of all processes. Their files are opened afterwards, so that no process waits meanwhile.
func (d *Dump) iterateMappings(o *bpf.Objects) error {
	from := len(d.Mappings)
	var keys []buildKey
	err := o.Mapped(func(m *bpf.MappedFile) bool {
		path, deleted := strings.CutSuffix(m.Path, deletedSuffix)
		switch {
		case m.Path == "":
			d.Unread++
		case !m.Code || !ofFile(path, m.Inode):
		case len(d.Mappings) == maxMappings:
			d.Unread++
			return false
		default:
			d.Mappings = append(d.Mappings, ctf.Mapping{Pid: m.Pid, Start: m.Start, End: m.End, Offset: m.Offset, Path: path})
			keys = append(keys, buildKey{path, procdir.Dev(uint32(m.Dev>>20), uint32(m.Dev&(1<<20-1))), m.Inode, deleted})
		}
		return true
	})
	b := newBuilds()
	for i := range keys {
		m := &d.Mappings[from+i]
		m.BuildID = b.of(m.Pid, keys[i])
	}
	// A process whose first thread has ended can come with each of the others.
	d.Mappings = slices.CompactFunc(d.Mappings, func(a, b ctf.Mapping) bool { return a == b })
	return err
}
