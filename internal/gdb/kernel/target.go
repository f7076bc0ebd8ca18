package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/gdb/stub"
)

// Options of Open.
type Options struct {
	// Vmlinux is the file that GDB has the symbols from, for the kernel's offset; ""
	// supposes that it was linked as usual.
	Vmlinux    string
	BufferSize int          // bytes of ring a CPU; 0: the default
	Log        func(string) // what is done step by step; may be nil
}

// The one pseudo thread that represents the kernel. GDB requires numbers above 0.
const (
	pid = 1
	tid = 1
)

// Target is the running kernel. It is never stopped.
type Target struct {
	k      *kernel.Host
	e      *engine
	mem    *memory
	desc   *rsp.Target
	events chan stub.Stop
	name   string
}

var _ stub.Target = (*Target)(nil)

// Open looks at what this kernel and user allow.
func Open(opt Options) (*Target, error) {
	k, err := kernel.Open(kernel.Options{Vmlinux: opt.Vmlinux, Log: opt.Log})
	if err != nil {
		return nil, err
	}
	if err := k.Permitted(); err != nil { // else GDB would hear it when it starts a run
		k.Close()
		return nil, err
	}
	k.Renew()
	t := &Target{k: k, desc: rsp.TargetOf(host.Processor), events: make(chan stub.Stop), name: "kernel"}
	t.mem = openMemory("/proc/kcore", k.ReadMemory)
	t.e = newEngine(k, t.mem)
	t.e.bufferSize, t.e.logTo = opt.BufferSize, opt.Log
	if opt.Vmlinux != "" {
		if _, err := k.Slide(); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		t.name = "Linux " + strings.TrimSpace(string(b))
	}
	return t, nil
}

// Close ends a run and frees everything; the kernel is as it was.
func (t *Target) Close() error {
	err := errors.Join(t.e.end(), t.mem.close())
	t.k.Close()
	return err
}

// Engine carries trace experiments out.
func (t *Target) Engine() experiment.Engine { return t.e }

// Caps are those of a target without run control.
func (t *Target) Caps() stub.Caps {
	return stub.Caps{Kernel: true, Objects: []string{"memory-map"}}
}

// SetOptions has nothing to set: nothing ever stops.
func (t *Target) SetOptions(stub.Options) {}

// Traced has nothing to choose from: there is one kernel.
func (t *Target) Traced(int) {}

// Description has the registers of the processor that expressions and trace frames
// can have.
func (t *Target) Description() *rsp.Target { return t.desc }

// Processes is the kernel alone.
func (t *Target) Processes() []int { return []int{pid} }

// Attached: it was there before.
func (t *Target) Attached(int) bool { return true }

// Threads is the one that represents the kernel.
func (t *Target) Threads() []stub.Thread {
	return []stub.Thread{{ID: stub.ThreadID{PID: pid, TID: tid}, Stopped: true}}
}

// Facts implements stub.Target.
func (t *Target) Facts(stub.ThreadID) stub.ThreadFacts {
	return stub.ThreadFacts{Name: "kernel", Extra: t.name + ", running", Core: -1}
}

// HaltAll: the one thread is always stopped.
func (t *Target) HaltAll() ([]stub.Stop, error) { return nil, nil }

// Confirm never has anything to confirm.
func (t *Target) Confirm(stub.Stop) bool { return false }

// EndTold implements stub.Target: nothing ends.
func (t *Target) EndTold(int) {}

// Ending implements stub.Target: nothing ends.
func (t *Target) Ending() bool { return false }

// Events never delivers any.
func (t *Target) Events() <-chan stub.Stop { return t.events }

// Registers are those of no processor: there is no state that all of the kernel has.
// The program counter is where the kernel's code begins, so that GDB has one.
func (t *Target) Registers(stub.ThreadID) (rsp.Registers, error) {
	r := rsp.Registers{Data: make([]byte, t.desc.Size), Missing: make([]bool, t.desc.Size)}
	for i := range r.Missing {
		r.Missing[i] = true
	}
	at, _ := t.k.Address("_stext")
	for i := range t.desc.Registers {
		if reg := &t.desc.Registers[i]; reg.Name == host.Processor.Register(host.Processor.PC).Name {
			binary.LittleEndian.PutUint64(r.Data[reg.Offset:], at)
			clear(r.Missing[reg.Offset : reg.Offset+8])
		}
	}
	return r, nil
}

// ReadMemory reads the kernel's memory; see stub.Target.
func (t *Target) ReadMemory(_ int, addr uint64, b []byte) (int, error) { return t.mem.read(addr, b) }

// errNever is the answer to all that would change the kernel.
var errNever = errors.New("the kernel is only looked at: it is never stopped and never changed")

func never(what string) error { return fmt.Errorf("%s: %w", what, errNever) }

// WriteMemory changes nothing.
func (t *Target) WriteMemory(int, uint64, []byte) error { return never("writing memory") }

// SetRegisters changes nothing.
func (t *Target) SetRegisters(stub.ThreadID, []byte) error { return never("writing registers") }

// SetRegister changes nothing.
func (t *Target) SetRegister(stub.ThreadID, int, []byte) error { return never("writing a register") }

// Resume has nothing to resume.
func (t *Target) Resume([]stub.Resumption) error { return never("letting it go on") }

// Halt has nothing to stop.
func (t *Target) Halt([]stub.ThreadID) error { return never("stopping it") }

// Launch starts no programs.
func (t *Target) Launch(stub.LaunchOptions) (stub.Stop, error) {
	return stub.Stop{}, errors.New("starting a program: this gdbserver has the kernel; start another one without --kernel")
}

// Attach attaches to no processes.
func (t *Target) Attach(int) (stub.Stop, error) {
	return stub.Stop{}, errors.New("attaching to a process: this gdbserver has the kernel; start another one without --kernel")
}

// Detach leaves the kernel as it is.
func (t *Target) Detach(int) error { return nil }

// Kill does not end the kernel.
func (t *Target) Kill(int) error { return never("ending it") }

// Insert refuses: there are no breakpoints.
func (t *Target) Insert(int, stub.Breakpoint) error { return stub.ErrUnsupported }

// Remove refuses: there are no breakpoints.
func (t *Target) Remove(int, rsp.BreakpointType, uint64, int) error { return stub.ErrUnsupported }

// Object is the memory map: GDB writes to none of it. The marks of static tracepoints
// that have no code lie outside.
func (t *Target) Object(_ stub.ThreadID, object, _ string) ([]byte, error) {
	if object != "memory-map" {
		return nil, stub.ErrUnsupported
	}
	return rsp.MemoryMapXML([]rsp.MemoryRegion{
		{Kind: rsp.MemoryROM, Start: 0, Length: half}, // user space: what trace frames have of it
		{Kind: rsp.MemoryROM, Start: 1<<64 - half, Length: half},
	}), nil
}

// half is how large the halves of the address space are with paging in five levels;
// with four they are smaller, and nothing lies between.
const half = 1 << 56

// WriteObject has none.
func (t *Target) WriteObject(stub.ThreadID, string, string, uint64, []byte) (int, error) {
	return 0, stub.ErrUnsupported
}

// ThreadLocal has none: the kernel's per-CPU data is no thread's.
func (t *Target) ThreadLocal(stub.ThreadID, uint64, uint64) (uint64, error) {
	return 0, stub.ErrUnsupported
}

// Offsets is the distance of the kernel from the addresses in its file.
func (t *Target) Offsets() (uint64, bool) {
	slide, err := t.k.Slide()
	return slide, err == nil
}

// Files is no file system: the kernel is no process.
func (t *Target) Files(int) stub.FileSystem { return noFiles{} }

// noFiles refuses everything.
type noFiles struct{}

func (noFiles) Open(string, uint64, uint64) (int, error) { return -1, unix.ENOSYS }
func (noFiles) Close(int) error                          { return unix.EBADF }
func (noFiles) Pread(int, []byte, int64) (int, error)    { return 0, unix.EBADF }
func (noFiles) Pwrite(int, []byte, int64) (int, error)   { return 0, unix.EBADF }
func (noFiles) Fstat(int) (rsp.Stat, error)              { return rsp.Stat{}, unix.EBADF }
func (noFiles) Stat(string) (rsp.Stat, error)            { return rsp.Stat{}, unix.ENOSYS }
func (noFiles) Lstat(string) (rsp.Stat, error)           { return rsp.Stat{}, unix.ENOSYS }
func (noFiles) Unlink(string) error                      { return unix.ENOSYS }
func (noFiles) Readlink(string) (string, error)          { return "", unix.ENOSYS }
