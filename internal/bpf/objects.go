package bpf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
)

// Objects goes through the threads, mappings and open files of all processes by the kernel's iterators (Linux 5.8, mappings 5.13): a program
// writes a record of each object, and reading the iterator's file runs it. The kernel fills 32 KiB at a time, so that each step is short, and
// holds what an object needs while the program is there: a thread's record is of one moment. Processes that begin or end meanwhile may or may
// not be in the list, as in /proc.
//
// The numbers of processes are those of the machine's first PID namespace, and only what is in the namespace of the caller is listed: use it
// in the first one.
type Objects struct {
	k     *Kernel
	path  *Buffer // of the record that is being made; one iteration runs at a time
	progs [numObjects]*Loaded
	links [numObjects]*Link
}

const (
	taskObjects = iota
	mappingObjects
	fileObjects
	numObjects
)

// Task is a thread.
type Task struct {
	Pid, Tid, Parent int
	UID              uint32
	Kernel           bool // a thread of the kernel
	Name             string
}

// MappedFile is a file in the memory of a process.
type MappedFile struct {
	Pid                int
	Start, End, Offset uint64
	Code               bool // it can be executed
	Dev, Inode         uint64
	Path               string // as in /proc/PID/maps; "": it is longer than pathMost
}

// OpenFile is a file that a process has open.
type OpenFile struct {
	Pid, FD int
	Path    string // as in /proc/PID/fd; "": it is longer than pathMost
}

// Objects loads the programs. The caller closes them.
func (k *Kernel) Objects() (o *Objects, err error) {
	o = &Objects{k: k}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	if o.path, err = k.NewBuffer(pathBuffer, pathHead+pathMost); err != nil {
		return o, err
	}
	for i, t := range [numObjects]struct {
		name  string
		insns func() (asm.Instructions, error)
	}{{"task", taskInsns}, {"task_vma", mappingInsns}, {"task_file", fileInsns}} {
		insns, err := t.insns()
		if err != nil {
			return o, err
		}
		target := Target{Kind: Iter, Name: t.name}
		if o.progs[i], err = k.Load(Program{Name: "jalon_" + t.name, Insns: insns, Kind: Iter, Target: target, Buffers: []*Buffer{o.path}}); err != nil {
			return o, err
		}
		if o.links[i], err = o.progs[i].Attach(target); err != nil {
			return o, err
		}
	}
	return o, nil
}

// Close unloads the programs.
func (o *Objects) Close() error {
	var errs []error
	for i := range numObjects {
		if o.links[i] != nil {
			errs = append(errs, o.links[i].Close())
		}
		if o.progs[i] != nil {
			errs = append(errs, o.progs[i].Close())
		}
	}
	if o.path != nil {
		errs = append(errs, o.path.Close())
	}
	return errors.Join(errs...)
}

// each passes on the records of an iterator, until f returns false: a head of a fixed size, and as many bytes more as it says.
func (o *Objects) each(which, head int, more func(head []byte) int, f func(rec []byte) bool) error {
	it := o.links[which].parts[0].link.(*link.Iter)
	file, err := it.Open()
	if err != nil {
		return wrap("iterating", err)
	}
	defer file.Close()
	in, rec := bufio.NewReaderSize(file, 64<<10), make([]byte, head+pathMost)
	for {
		if _, err := io.ReadFull(in, rec[:head]); err == io.EOF {
			return nil
		} else if err != nil {
			return wrap("iterating", err)
		}
		n := more(rec)
		if n < 0 || n > pathMost {
			return wrap("iterating", errors.New("a record of an impossible size"))
		}
		if _, err := io.ReadFull(in, rec[head:head+n]); err != nil {
			return wrap("iterating", err)
		}
		if !f(rec[:head+n]) {
			return nil
		}
	}
}

func none([]byte) int { return 0 }

// pathSize is the size of the path behind a head.
func pathSize(head []byte) int { return int(int32(binary.NativeEndian.Uint32(head[headSize:]))) }

// Tasks passes on all threads, in the order of their numbers, until f returns false.
func (o *Objects) Tasks(f func(*Task) bool) error {
	var t Task
	u32 := func(b []byte, at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
	return o.each(taskObjects, taskSize, none, func(b []byte) bool {
		name, _, _ := bytes.Cut(b[taskName:taskName+16], []byte{0})
		t = Task{Pid: int(u32(b, taskPid)), Tid: int(u32(b, taskTid)), Parent: int(u32(b, taskParent)), UID: u32(b, taskUID), Kernel: u32(b, taskFlags)&kernelThread != 0, Name: string(name)}
		return f(&t)
	})
}

// Mapped passes on the files in the memory of all processes, until f returns false. A process whose first thread has ended can come several
// times.
func (o *Objects) Mapped(f func(*MappedFile) bool) error {
	var m MappedFile
	return o.each(mappingObjects, pathHead, pathSize, func(b []byte) bool {
		u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
		m = MappedFile{
			Pid: int(binary.NativeEndian.Uint32(b)), Start: u64(headStart), End: u64(headEnd), Offset: u64(headOffset) << 12, Code: u64(headFlags)&vmExec != 0,
			Inode: u64(headInode), Dev: u64(headDev), Path: text(b[pathHead:]),
		}
		return f(&m)
	})
}

// Opened passes on the open files of all processes, until f returns false.
func (o *Objects) Opened(f func(*OpenFile) bool) error {
	var x OpenFile
	return o.each(fileObjects, pathHead, pathSize, func(b []byte) bool {
		x = OpenFile{Pid: int(binary.NativeEndian.Uint32(b)), FD: int(binary.NativeEndian.Uint64(b[headStart:])), Path: text(b[pathHead:])}
		return f(&x)
	})
}

// text is a path without its NUL.
func text(b []byte) string { return string(bytes.TrimSuffix(b, []byte{0})) }
