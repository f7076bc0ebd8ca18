package kernel

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/printk"
	"github.com/jalon-trace/jalon/internal/sema"
)

// facts is information about the kernel, each part read on first use.
type facts struct {
	*base
	kernel  *image.Kernel // its symbols, and the file with its debug information
	types   once[*btf.Kernel]
	fs      once[*tracefs.FS]
	regs    once[*sema.UserRegs]
	pages   once[uint64] // vmemmap_base
	ftraced once[map[string]bool]
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

// renew drops what was read if modules or events were added or removed since the last call, and reports
// whether it did. The first call only records the present ones.
func (s *facts) renew() bool {
	fs, err := s.tracefs()
	if err != nil {
		return false
	}
	before := s.present
	s.present = present(fs)
	if s.present == before || before == [sha256.Size]byte{} {
		return false
	}
	s.kernel.Renew()
	s.types, s.fs, s.ftraced = once[*btf.Kernel]{}, once[*tracefs.FS]{}, once[map[string]bool]{}
	return true
}

func (s *facts) btf() (*btf.Kernel, error) {
	return s.types.get(func() (*btf.Kernel, error) {
		b, err := btf.Open()
		if err == nil {
			b.Symbols = s.kernel.Symbols // read once for all
		}
		return b, err
	})
}

func (s *facts) tracefs() (*tracefs.FS, error) {
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

// kernelFile is the file with the kernel's debug information.
func (s *facts) kernelFile() (*image.KernelFile, error) {
	f, err := s.kernel.File()
	if errors.Is(err, image.ErrNoKernelFile) {
		return nil, &fail.Error{
			Op: "find lines and local variables of the kernel", Err: err,
			Remedy: "name it by --vmlinux PATH (Debian: /usr/lib/debug/boot/vmlinux-VERSION of the package linux-image-VERSION-dbg)",
		}
	}
	return f, err
}

// present differs for different states of modules and events.
func present(fs *tracefs.FS) [sha256.Size]byte {
	h := sha256.New()
	for _, file := range []string{"/proc/modules", filepath.Join(fs.Root(), "available_events")} {
		b, _ := os.ReadFile(file) // kernels without modules have no such file
		h.Write(b)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// task is struct task_struct, nil when there is no BTF.
func (s *facts) task() *ctype.Type {
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

// traceable are the functions that ftrace can trace. The kernel refuses a probe at the entry
// of any other function, and logs each refusal. nil: not known.
func (s *facts) traceable() map[string]bool {
	list, err := s.ftraced.get(s.readTraceable)
	if err != nil || len(list) == 0 {
		return nil
	}
	return list
}

func (s *facts) readTraceable() (map[string]bool, error) {
	fs, err := s.tracefs()
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(filepath.Join(fs.Root(), "available_filter_functions"))
	if err != nil {
		return nil, err
	}
	may := map[string]bool{}
	for line := range strings.Lines(string(b)) { // NAME or NAME [MODULE]
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		may[name] = true
	}
	return may, nil
}

// perCPU is the address of the array of the CPUs' bases; 0 when it is not known.
func (s *facts) perCPU() uint64 {
	addr, _ := s.kernel.Address("__per_cpu_offset")
	return addr
}

// offset is that of a member in a struct of the kernel; -1 when it is not known.
func (s *facts) offset(tag, member string) int32 {
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

// userRegs is where the registers of programs are, nil if it is not known.
func (s *facts) userRegs() *sema.UserRegs {
	if s.k == nil {
		return nil
	}
	r, err := s.regs.get(func() (*sema.UserRegs, error) {
		r := &sema.UserRegs{Stack: int64(s.offset("task_struct", "stack")), Flags: int64(s.offset("task_struct", "flags"))}
		n, err := s.k.UserRegs(int32(r.Stack))
		if err != nil || r.Flags < 0 {
			return nil, err
		}
		r.Distance = int64(n)
		return r, nil
	})
	if err != nil {
		s.logf("$ubt follows frame pointers: %v", err)
	}
	return r
}

// sdata describes an event's own record for $_sdata and its text.
func (s *facts) sdata(ev *tracefs.Event) *sema.SData {
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

// resolver finds information for print formats that is not in the record.
func (s *facts) resolver() *printk.Resolver {
	r := &printk.Resolver{}
	if fs, err := s.tracefs(); err == nil {
		r.HZ, _ = fs.HZ()
	}
	if b, err := s.btf(); err == nil {
		r.Type = b.Named
		r.Enumerator = b.EnumValue
	}
	if s.k != nil {
		r.Variable = s.variable
	}
	return r
}

// variable is the value of a variable of the kernel that print formats name. Many
// kernels have no symbol for the one that is named most.
func (s *facts) variable(name string) (uint64, bool) {
	if name == "vmemmap_base" {
		base, err := s.pages.get(s.k.VmemmapBase)
		return base, err == nil
	}
	addr, ok := s.kernel.Address(name)
	if !ok {
		return 0, false
	}
	b, err := s.k.ReadMemory(addr, 8)
	if err != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}
