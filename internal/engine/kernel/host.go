package kernel

import (
	"errors"
	"fmt"
	"sync"

	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/image"
)

// Options configure a Host.
type Options struct {
	Tgid   int  // trace this process only; 0: all
	Follow bool // with Tgid, places of the kernel are traced in its later descendants too
	// Counted, with Tgid 0, is the process to which timers and counters are limited, with its later descendants, and uprobes; 0: they are not.
	Counted int
	// Near is the process that is named or was started, also where all are traced: its code is read before the first hit. 0: there is none.
	Near    int
	Program string // the file of places in programs that name none; "": they must
	// File gives the path by which jalon opens what the process means by a file's name;
	// "" where that is the same file. May be nil.
	File      func(name string) string
	Cgroup    uint64   // trace this cgroup only (its id); 0: all
	Vmlinux   string   // file with the kernel's debug information; "" = BTF only
	DebugDirs []string // of separate debug files of programs
	// Force also arms uprobes at addresses that are not proved to be the start of an instruction, and
	// uretprobes that endanger the program.
	Force bool
	// Progress is called in long loops and may end them by an error. Nil is allowed.
	Progress func(what string, done, of int) error
	// Warn receives warnings, Log each step; each may be nil.
	Warn, Log func(string)
}

// base is what all parts of a Host share.
type base struct {
	opt Options
	k   *bpf.Kernel // nil: places are described only
}

// Host has information about the running kernel and its programs: the sites of a place, the names that
// expressions can use there, the names of addresses. Engines run programs on it. It is used from one
// goroutine. Each part keeps what it has read, and reads it on first use.
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
	h := newHost(&base{opt, k})
	if opt.Vmlinux != "" { // a wrong file is refused also where no place needs it
		if _, err := h.facts.kernel.File(); err != nil {
			h.Close()
			return nil, err
		}
	}
	return h, nil
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

// Renew drops symbols, types and static tracepoints if modules or events were added or removed since the
// last call; the first call only records the present ones. Call it at the start, and between traces if the
// Host outlives one trace.
func (e *Host) Renew() {
	if e.facts.renew() {
		e.symbols.strings, e.markers.list = once[map[uint64]string]{}, once[[]Marker]{}
	}
}

// Slide returns the distance of the kernel from the address in its file (KASLR): the file of the options,
// or the usual link address without one.
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

// Permitted reports missing permissions early, in the same words for all places.
func (e *Host) Permitted() error {
	if p := e.k.Features().Permission; !p.OK {
		return &fail.Error{Op: "trace by the kernel engine", Err: fail.Denied("no permission: " + p.Text), Remedy: p.Remedy}
	}
	if err := e.pids.find(); err != nil {
		return err
	}
	if e.opt.Follow && e.opt.Tgid != 0 && e.pids.namespace != nil {
		e.logf("processes that the program starts are not followed: jalon is in a PID namespace")
	}
	return nil
}

// Close frees what the host holds. Its engines are closed before.
func (e *Host) Close() {
	e.files.close()
	if e.k != nil {
		_ = e.k.Close()
	}
}

// step reports progress; its error ends the work.
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
