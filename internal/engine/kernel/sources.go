package kernel

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracesite"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/printk"
	"github.com/jalon-trace/jalon/internal/sema"
)

// sources are what tells of names and addresses, each opened when first asked.
type sources struct {
	e       *Host
	b       once[*btf.Kernel]
	syms    once[*kallsyms.Table]
	fs      once[*tracefs.FS]
	image   once[*vmlinux]
	calls   once[*tracesite.Sites]
	strings once[map[uint64]string]
	pages   once[uint64] // vmemmap_base
	markers once[[]Marker]
	files   *image.Files
	code    map[codeKey]*codeAt
	known   map[*dwarf.Module]traits
	present [sha256.Size]byte // of modules and events, at the last renew; zero: there was none
}

// once is something that is opened at most once.
type once[T any] struct {
	done bool
	v    T
	err  error
}

func (o *once[T]) get(open func() (T, error)) (T, error) {
	if !o.done {
		o.done = true
		o.v, o.err = open()
	}
	return o.v, o.err
}

func newSources(e *Host) *sources {
	opt := dwarf.Options{DebugDirs: e.opt.DebugDirs, Warn: func(m string) { e.logf("%s", m) }}
	return &sources{e: e, files: image.NewFiles(opt), code: map[codeKey]*codeAt{}}
}

// Renew forgets what was read of symbols, types and static tracepoints, if modules or
// events have come or gone since the last call; the first call only notes which there
// are. Who lives longer than one trace calls it at the beginning and between two.
func (e *Host) Renew() { e.src.renew() }

func (s *sources) renew() {
	fs, err := s.tracefs()
	if err != nil {
		return
	}
	before := s.present
	s.present = present(fs)
	if s.present == before || before == [sha256.Size]byte{} {
		return
	}
	s.b, s.syms, s.fs = once[*btf.Kernel]{}, once[*kallsyms.Table]{}, once[*tracefs.FS]{}
	s.strings, s.markers = once[map[uint64]string]{}, once[[]Marker]{}
}

func (s *sources) btf() (*btf.Kernel, error) {
	return s.b.get(func() (*btf.Kernel, error) {
		b, err := btf.Open()
		if err == nil {
			b.Symbols = s.kallsyms // read once for all
		}
		return b, err
	})
}

func (s *sources) kallsyms() (*kallsyms.Table, error) { return s.syms.get(kallsyms.Open) }

func (s *sources) tracefs() (*tracefs.FS, error) {
	return s.fs.get(func() (*tracefs.FS, error) {
		fs, err := tracefs.Open()
		if err != nil {
			return nil, err
		}
		if b, err := s.btf(); err == nil {
			fs.Types = b.Named
		}
		return fs, nil
	})
}

// address is the address of a kernel symbol.
func (s *sources) address(name string) (uint64, bool) {
	t, err := s.kallsyms()
	if err != nil {
		return 0, false
	}
	return t.Addr(name)
}

// present tells one state of modules and events from another.
func present(fs *tracefs.FS) [sha256.Size]byte {
	h := sha256.New()
	for _, file := range []string{"/proc/modules", filepath.Join(fs.Root(), "available_events")} {
		b, _ := os.ReadFile(file) // kernels without modules have no such file
		h.Write(b)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// task is struct task_struct, nil when there is no BTF.
func (s *sources) task() *ctype.Type {
	b, err := s.btf()
	if err != nil {
		return nil
	}
	t, err := b.Type(ctype.Struct, "task_struct")
	if err != nil {
		return nil
	}
	return t
}

// traceable are the functions that ftrace can take. Of others the kernel refuses a
// probe at the entry, one by one and with a line in its log each. nil: not known.
func (s *sources) traceable() map[string]bool {
	fs, err := s.tracefs()
	if err != nil {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(fs.Root(), "available_filter_functions"))
	if err != nil || len(b) == 0 {
		return nil
	}
	may := map[string]bool{}
	for line := range strings.Lines(string(b)) { // NAME or NAME [MODULE]
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		may[name] = true
	}
	return may
}

// perCPU is the address of the array of the CPUs' bases; 0 when it is not known.
func (s *sources) perCPU() uint64 {
	addr, _ := s.address("__per_cpu_offset")
	return addr
}

// offset is that of a member in a struct of the kernel; -1 when it is not known.
func (s *sources) offset(tag, member string) int32 {
	b, err := s.btf()
	if err != nil {
		return -1
	}
	off, err := b.MemberOffset(tag, member)
	if err != nil {
		return -1
	}
	return int32(off)
}

// recordScope is what names mean in the record of an event.
func (s *sources) recordScope(ev *tracefs.Event) debuginfo.Scope {
	b, err := s.btf()
	if err != nil {
		b = nil // the fields need none
	}
	return b.RecordScope(ev.System+":"+ev.Name, ev.Record())
}

// sdata describes an event's own record for $_sdata and its text.
func (s *sources) sdata(ev *tracefs.Event) *sema.SData {
	d := &sema.SData{Type: ev.Record(), Fixed: int(ev.Record().Size)}
	for i := range ev.Fields {
		f := &ev.Fields[i]
		if _, _, ok := ctype.Dynamic(f.Type); ok {
			d.Dynamic = append(d.Dynamic, f.Offset)
		}
	}
	d.Text = printk.Describe(ev, s.resolver())
	return d
}

// resolver finds what print formats ask for beside the record.
func (s *sources) resolver() *printk.Resolver {
	r := &printk.Resolver{}
	if fs, err := s.tracefs(); err == nil {
		r.HZ, _ = fs.HZ()
	}
	if b, err := s.btf(); err == nil {
		r.Type = b.Named
		r.Enumerator = b.EnumValue
	}
	if s.e.k != nil {
		r.Variable = s.variable
	}
	return r
}

// KernelString is a string of the kernel that its print formats may point to.
func (e *Host) KernelString(addr uint64) (string, bool) {
	s := e.src
	list, err := s.strings.get(func() (map[uint64]string, error) {
		fs, err := s.tracefs()
		if err != nil {
			return nil, err
		}
		return fs.Strings()
	})
	if err != nil {
		return "", false
	}
	text, ok := list[addr]
	return text, ok
}

// KernelSymbol is what contains an address of the kernel.
func (e *Host) KernelSymbol(addr uint64) (event.KernelSymbol, bool) {
	if addr < kernelHalf {
		return event.KernelSymbol{}, false
	}
	t, err := e.src.kallsyms()
	if err != nil {
		return event.KernelSymbol{}, false
	}
	at, ok := t.At(addr)
	return event.KernelSymbol{Name: at.Name, Offset: at.Offset, Size: at.Size, Module: at.Module}, ok
}

// file opens the debug information of a program or library.
func (s *sources) file(path string) (*dwarf.Module, error) { return s.files.Open(path) }

func (s *sources) close() { s.files.Close() }
