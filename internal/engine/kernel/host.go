package kernel

import (
	"errors"
	"fmt"
	"sync"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/image"
)

// Options say what of the kernel, and of programs, a Host is about.
type Options struct {
	Tgid    int    // trace this process only; 0: all
	Program string // the file of places in programs that name none; "": they must
	// File gives the path by which jalon opens what the process means by a file's name;
	// "" where that is the same file. May be nil.
	File      func(name string) string
	Cgroup    uint64   // trace this cgroup only (its id); 0: all
	Vmlinux   string   // file with the kernel's debug information; "" = BTF only
	DebugDirs []string // of separate debug files of programs
	// Force arms uprobes where it is not known, though not known to be wrong, that
	// an instruction begins, and uretprobes that endanger the program.
	Force bool
	// Progress is called in long loops and may end them by an error. Nil is allowed.
	Progress func(what string, done, of int) error
	// Warn takes warnings, Log what is done step by step; each may be nil.
	Warn, Log func(string)
}

// Host is what is known of the running kernel and of the programs on it: which sites a
// place means, what names mean there, what addresses are called. Engines run programs
// on it. It is used from one goroutine.
type Host struct {
	opt       Options
	k         *bpf.Kernel
	src       *sources
	user      *image.Processes
	namespace *ebpf.Namespace // of jalon, when it is not the machine's first one
}

// Open looks at what this kernel and user allow.
func Open(opt Options) (*Host, error) {
	e := &Host{opt: opt}
	e.src = newSources(e)
	e.user = image.NewProcesses(e.src.files)
	var err error
	if e.k, err = bpf.Open(); err != nil {
		return nil, err
	}
	return e, nil
}

// MayUprobe is nil where this kernel lets this user have uprobes of the kernel engine.
var MayUprobe = sync.OnceValue(func() error {
	e, err := Open(Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	if err := e.Permitted(); err != nil {
		return err
	}
	if f := e.k.Features().Uprobe; !f.OK {
		return errors.New(f.Text)
	}
	return nil
})

// Permitted says early, and in the same words for all places, what jalon lacks.
func (e *Host) Permitted() error {
	if p := e.k.Features().Permission; !p.OK {
		return &fail.Error{Op: "trace by the kernel engine", Err: fail.Denied("no permission: " + p.Text), Remedy: p.Remedy}
	}
	if e.namespace == nil {
		var err error
		if e.namespace, err = e.ownNamespace(); err != nil {
			return err
		}
	}
	return nil
}

// Close frees what the host holds. Its engines are closed before.
func (e *Host) Close() {
	e.src.close()
	if e.k != nil {
		_ = e.k.Close()
	}
}

// step reports what is done, and whether to go on.
func (e *Host) step(what string, done, of int) error {
	if e.opt.Progress == nil {
		return nil
	}
	return e.opt.Progress(what, done, of)
}

func (e *Host) logf(format string, args ...any) {
	if e.opt.Log != nil {
		e.opt.Log(fmt.Sprintf(format, args...))
	}
}

func (e *Host) warn(msg string) {
	if e.opt.Warn != nil {
		e.opt.Warn(msg)
	}
}
