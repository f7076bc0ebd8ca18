package vmtest

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// features are the ways to attach a program that jalon uses, with what they need of
// the kernel. TestGuest_GoodFeatures attaches each to something that it then does,
// and counts: this is the list of what each guest has, so of what its tests prove.
var features = []struct {
	name   string
	spec   ebpf.ProgramSpec
	attach func(*ebpf.Program) (link.Link, error)
	lacks  string // a series of Kernels that does not have it
}{
	{name: "kprobe", spec: ebpf.ProgramSpec{Type: ebpf.Kprobe}, attach: func(p *ebpf.Program) (link.Link, error) {
		return link.Kprobe("vfs_read", p, nil)
	}},
	{name: "kprobe inside a function", spec: ebpf.ProgramSpec{Type: ebpf.Kprobe}, attach: insideFunction},
	{name: "kretprobe", spec: ebpf.ProgramSpec{Type: ebpf.Kprobe}, attach: func(p *ebpf.Program) (link.Link, error) {
		return link.Kretprobe("vfs_read", p, nil)
	}},
	// CONFIG_FPROBE is not set in Debian's 6.1.
	{
		name: "kprobe_multi", lacks: "6.1", spec: ebpf.ProgramSpec{Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceKprobeMulti},
		attach: func(p *ebpf.Program) (link.Link, error) {
			return link.KprobeMulti(p, link.KprobeMultiOptions{Symbols: []string{"vfs_read", "vfs_write"}})
		},
	},
	{name: "fentry", spec: ebpf.ProgramSpec{Type: ebpf.Tracing, AttachType: ebpf.AttachTraceFEntry, AttachTo: "vfs_read"}, attach: attachTracing},
	{name: "fexit", spec: ebpf.ProgramSpec{Type: ebpf.Tracing, AttachType: ebpf.AttachTraceFExit, AttachTo: "vfs_read"}, attach: attachTracing},
	{name: "tp_btf", spec: ebpf.ProgramSpec{Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: "sys_enter"}, attach: attachTracing},
	{name: "raw tracepoint", spec: ebpf.ProgramSpec{Type: ebpf.RawTracepoint}, attach: func(p *ebpf.Program) (link.Link, error) {
		return link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sys_enter", Program: p})
	}},
	{name: "tracepoint", spec: ebpf.ProgramSpec{Type: ebpf.TracePoint}, attach: func(p *ebpf.Program) (link.Link, error) {
		return link.Tracepoint("syscalls", "sys_enter_read", p, nil)
	}},
	{name: "uprobe", spec: ebpf.ProgramSpec{Type: ebpf.Kprobe}, attach: func(p *ebpf.Program) (link.Link, error) {
		return onSelf(func(x *link.Executable, offset uint64) (link.Link, error) {
			return x.Uprobe("", p, &link.UprobeOptions{Address: offset})
		})
	}},
	// Since 6.6.
	{
		name: "uprobe_multi", lacks: "6.1", spec: ebpf.ProgramSpec{Type: ebpf.Kprobe, AttachType: ebpf.AttachTraceUprobeMulti},
		attach: func(p *ebpf.Program) (link.Link, error) {
			return onSelf(func(x *link.Executable, offset uint64) (link.Link, error) {
				return x.UprobeMulti(nil, p, &link.UprobeMultiOptions{Addresses: []uint64{offset}})
			})
		},
	},
}

// insideFunction puts a kprobe on the instruction behind vfs_read's ftrace call, a
// call of 5 bytes: at +5, or at +9 where functions begin with endbr64 (a kernel with
// CONFIG_X86_KERNEL_IBT). The kernel refuses what is not the start of an instruction.
func insideFunction(p *ebpf.Program) (link.Link, error) {
	l, err := link.Kprobe("vfs_read", p, &link.KprobeOptions{Offset: 5})
	if err != nil {
		l, err = link.Kprobe("vfs_read", p, &link.KprobeOptions{Offset: 9})
	}
	return l, err
}

func attachTracing(p *ebpf.Program) (link.Link, error) {
	return link.AttachTracing(link.TracingOptions{Program: p})
}

// onSelf attaches to probed, whose place in the test binary's file it finds by the
// program headers: go test strips the symbols.
func onSelf(attach func(x *link.Executable, offset uint64) (link.Link, error)) (link.Link, error) {
	const self = "/proc/self/exe"
	x, err := link.OpenExecutable(self)
	if err != nil {
		return nil, err
	}
	f, err := elf.Open(self)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	pc := uint64(reflect.ValueOf(probed).Pointer())
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Vaddr <= pc && pc < p.Vaddr+p.Filesz {
			return attach(x, pc-p.Vaddr+p.Off)
		}
	}
	return nil, fmt.Errorf("address %#x is in no segment", pc)
}

//go:noinline
func probed(n int) int { return n + 1 }

// triggers is how often the test does what the programs are attached to.
const triggers = 10

func trigger(t *testing.T) {
	f, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 1)
	for i := range triggers {
		if probed(i) != i+1 {
			t.Fatal("impossible")
		}
		if _, err := f.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGuest_GoodFeatures(t *testing.T) {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat("/sys/kernel/btf/vmlinux")
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() < 1<<20 {
		t.Errorf("the kernel's BTF has %d bytes", st.Size())
	}
	if _, err := btf.LoadKernelSpec(); err != nil {
		t.Error(err)
	}
	t.Logf("%s has %d bytes of BTF", strings.TrimSpace(string(release)), st.Size())
	for _, f := range features {
		lacks := f.lacks != "" && strings.HasPrefix(string(release), f.lacks+".")
		t.Run(f.name, func(t *testing.T) {
			hits, err := countHits(t, f.spec, f.attach)
			switch {
			case lacks && err == nil:
				t.Errorf("%s is there, against what is known of it", f.name)
			case lacks && !errors.Is(err, ebpf.ErrNotSupported) && !errors.Is(err, unix.EINVAL): // an unknown kind of link
				t.Errorf("%s is missing as expected, with an unexpected error: %v", f.name, err)
			case lacks:
				t.Logf("not in this kernel: %v", err)
			case err != nil:
				t.Error(err)
			case hits < triggers:
				t.Errorf("%d hits of at least %d", hits, triggers)
			default:
				t.Logf("%d hits", hits)
			}
		})
	}
}

// countHits attaches a program that counts its runs in this process and does what
// it is attached to.
func countHits(t *testing.T, spec ebpf.ProgramSpec, attach func(*ebpf.Program) (link.Link, error)) (uint64, error) {
	counter, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer counter.Close()
	spec.License, spec.Name = "GPL", "count"
	spec.Instructions = asm.Instructions{
		asm.FnGetCurrentPidTgid.Call(),
		asm.RSh.Imm(asm.R0, 32),
		asm.JNE.Imm(asm.R0, int32(os.Getpid()), "out"),
		asm.LoadMapValue(asm.R1, counter.FD(), 0),
		asm.Mov.Imm(asm.R2, 1),
		asm.StoreXAdd(asm.R1, asm.R2, asm.DWord),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	}
	prog, err := ebpf.NewProgram(&spec)
	if err != nil {
		return 0, fmt.Errorf("loading: %w", err)
	}
	defer prog.Close()
	l, err := attach(prog)
	if err != nil {
		return 0, fmt.Errorf("attaching: %w", err)
	}
	defer l.Close()
	trigger(t)
	var n uint64
	err = counter.Lookup(uint32(0), &n)
	return n, err
}
