package kernel

import (
	"errors"
	"fmt"
	"sync"

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

// base is what all parts of a Host share.
type base struct {
	opt Options
	k   *bpf.Kernel // nil: places are described only
}

// Host is what is known of the running kernel and of the programs on it: which sites a
// place means, what names mean there, what addresses are called. Engines run programs
// on it. It is used from one goroutine. Its parts have what they have read; nothing is
// read before it is asked for.
type Host struct {
	*base
	*markers
	*symbols
	facts *facts
	files *files
	pids  *pids

	// These find the sites of kinds of places.
	events    *events
	functions *functions
	calls     *calls
	timers    *timers
	programs  *programs
}

// Open looks at what this kernel and user allow.
func Open(opt Options) (*Host, error) {
	k, err := bpf.Open()
	if err != nil {
		return nil, err
	}
	return newHost(&base{opt, k}), nil
}

func newHost(b *base) *Host {
	x := newFiles(b)
	f := &facts{base: b, kernel: image.NewKernel(b.opt.Vmlinux, x.all)}
	progs := &programs{base: b, files: x}
	return &Host{
		base: b, facts: f, files: x, pids: &pids{base: b, facts: f},
		markers: &markers{base: b, facts: f}, symbols: &symbols{base: b, facts: f, user: image.NewProcesses(x.all)},
		events: &events{b, f}, functions: &functions{b, f, progs}, calls: &calls{base: b, facts: f}, timers: &timers{b, f}, programs: progs,
	}
}

// Renew forgets what was read of symbols, types and static tracepoints, if modules or
// events have come or gone since the last call; the first call only notes which there
// are. Call it at the beginning and between traces if the Host outlives one trace.
func (e *Host) Renew() {
	if e.facts.renew() {
		e.symbols.strings, e.markers.list = once[map[uint64]string]{}, once[[]Marker]{}
	}
}

// Slide is how far the kernel lies from where its file says (KASLR): the file of the
// options, or without one a file that was linked as usual.
func (e *Host) Slide() (uint64, error) { return e.facts.kernel.Slide() }

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
	return e.pids.find()
}

// Close frees what the host holds. Its engines are closed before.
func (e *Host) Close() {
	e.files.close()
	if e.k != nil {
		_ = e.k.Close()
	}
}

// step reports what is done, and whether to go on.
func (e *base) step(what string, done, of int) error {
	if e.opt.Progress == nil {
		return nil
	}
	return e.opt.Progress(what, done, of)
}

func (e *base) logf(format string, args ...any) {
	if e.opt.Log != nil {
		e.opt.Log(fmt.Sprintf(format, args...))
	}
}

func (e *base) warn(msg string) {
	if e.opt.Warn != nil {
		e.opt.Warn(msg)
	}
}

// caution is a warning at arming; a description carries its text itself.
func (e *base) caution(msg string) {
	if e.k != nil {
		e.warn(msg)
	}
}
