package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
)

// Features are found by loading small programs, in the order of this table. Later entries use the results
// of earlier ones.
var probes = []func(*Kernel){
	probeLoad, probeBTF, probeSources, probeMulti, probeISA, probeSleepable, probeRdonlyCast,
}

// fact makes a Fact from the result of an attempt.
func fact(name string, err error, yes, no, remedy string) Fact {
	if err == nil {
		return Fact{Name: name, OK: true, Text: yes}
	}
	return Fact{Name: name, Text: no, Remedy: remedy}
}

// empty is the shortest program.
func empty() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}
}

// tryLoad loads a program and closes it.
func tryLoad(spec *ebpf.ProgramSpec) error {
	spec.Name, spec.License = "jalon_check", "GPL"
	prog, err := ebpf.NewProgramWithOptions(spec, ebpf.ProgramOptions{LogDisabled: true})
	if err != nil {
		return err
	}
	return prog.Close()
}

func tryRaw(insns asm.Instructions) error {
	return tryLoad(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, Instructions: insns})
}

func probeLoad(k *Kernel) {
	f := &k.features
	err := tryRaw(empty())
	no := "this kernel loads no eBPF programs"
	remedy := "a kernel built with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS"
	if errors.Is(err, unix.EPERM) {
		e := k.explain(err, &attempt{op: "load"})
		no, remedy = e.Err.Error(), e.Remedy
	}
	f.Load = fact("eBPF", err, "eBPF programs load", no, remedy)
	f.RawCookie = fact("cookies of tracepoints", tryRaw(asm.Instructions{
		asm.FnGetAttachCookie.Call(), asm.Mov.Imm(asm.R0, 0), asm.Return(),
	}), "raw tracepoints have cookies", "raw tracepoints have no cookies (Linux 6.10): a program for each", "")
	f.PerfLink = fact("links on perf events", tryPerfLink(), "programs link to perf events, with cookies",
		"programs do not link to perf events (Linux 5.15): no cookies", "")
}

// tryPerfLink links a program to no event: EBADF means that the kernel has the command.
func tryPerfLink() error {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "jalon_check", Type: ebpf.TracePoint, Instructions: empty(), License: "GPL"})
	if err != nil {
		return err
	}
	defer func() { _ = prog.Close() }()
	fd, err := linkPerf(-1, prog.FD(), 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	if errors.Is(err, unix.EBADF) {
		return nil
	}
	return err
}

func probeBTF(k *Kernel) {
	_, err := raw.Kernel()
	k.features.BTF = fact("BTF", err, "the kernel describes its types (BTF)",
		"the kernel does not describe its types (no /sys/kernel/btf/vmlinux): no member by name, no fentry",
		"a kernel built with CONFIG_DEBUG_INFO_BTF")
}

// Typed reports whether tracepoints have typed arguments (tp_btf). The first call tries it, which takes
// about 20 ms: the library reads the kernel's types again for each program that is typed by them.
func (k *Kernel) Typed() Fact {
	k.typedOnce.Do(func() {
		err := tryLoad(&ebpf.ProgramSpec{Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: "sched_switch", Instructions: empty()})
		k.typed = fact("typed tracepoints", err, "tracepoints have typed arguments (tp_btf)",
			"tracepoints have no typed arguments", "a kernel built with CONFIG_DEBUG_INFO_BTF (Linux 5.5)")
	})
	return k.typed
}

// Fentry reports whether fentry and fexit can be attached. The first call tries it (about 15 ms), with a
// function that the kernel has for tests and never calls itself. Some kernels load such programs and refuse
// to attach them.
func (k *Kernel) Fentry() Fact {
	k.fentryOnce.Do(func() {
		err := tryFentry("bpf_fentry_test1")
		no := "fentry and fexit are missing (Linux 5.5 with BTF)"
		if errors.Is(err, unix.EPERM) {
			no = "fentry and fexit are refused (EPERM)"
		}
		k.fentry = fact("fentry", err, "programs attach to the entry and return of kernel functions (fentry, fexit)", no, remedyFentry(k))
	})
	return k.fentry
}

func tryFentry(function string) error {
	prog, err := ebpf.NewProgramWithOptions(&ebpf.ProgramSpec{
		Name: "jalon_check", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceFEntry, AttachTo: function,
		Instructions: empty(), License: "GPL",
	}, ebpf.ProgramOptions{LogDisabled: true})
	if err != nil {
		return err
	}
	defer func() { _ = prog.Close() }()
	l, err := link.AttachTracing(link.TracingOptions{Program: prog, AttachType: ebpf.AttachTraceFEntry})
	if err != nil {
		return err
	}
	return l.Close()
}

func probeSources(k *Kernel) {
	source := func(name string) error {
		if _, ok := eventSource(name); !ok {
			return errNoProbePMU
		}
		return nil
	}
	f := &k.features
	f.Kprobe = fact("kprobes", source("kprobe"), "the kernel has kprobes", "this kernel has no kprobes", buildKprobes)
	f.Uprobe = fact("uprobes", source("uprobe"), "the kernel has uprobes", "this kernel has no uprobes by file descriptor (Linux 4.17, CONFIG_UPROBE_EVENTS)", "trace inside the process (uprobe: without --all)")
	f.Counters = fact("hardware counters", source("cpu"), "the CPU has counters", "the CPU has no counters (a virtual machine often has none)", "use software: and profile: places")
}

func probeMulti(k *Kernel) {
	f := &k.features
	f.KprobeMulti = fact("kprobe_multi", features.HaveBPFLinkKprobeMulti(), "many kprobes attach in one call",
		"kprobes attach one by one (kprobe_multi: Linux 5.18 with CONFIG_FPROBE)", "")
	f.UprobeMulti = fact("uprobe_multi", features.HaveBPFLinkUprobeMulti(), "many uprobes attach in one call",
		"uprobes attach one by one (uprobe_multi: Linux 6.6)", "")
}

func probeISA(k *Kernel) {
	f := &k.features
	f.Atomics = fact("atomic operations", features.HaveV3ISA(), "programs have atomic operations", "programs have no atomic operations: the buffers cannot be written", "Linux 5.12 or newer")
	if f.Atomics.OK {
		// Version 3 is older than cmpxchg, which is the needed instruction.
		if err := tryRaw(cmpxchg()); err != nil {
			f.Atomics = fact("atomic operations", err, "", "programs have no compare-and-exchange: the buffers cannot be written", "Linux 5.12 or newer")
		}
	}
	f.V4 = fact("instruction set 4", tryRaw(version4()), "programs divide signed numbers directly (instruction set version 4)", "programs have instruction set version 3: some arithmetic takes longer", "")
}

// probeSleepable loads a uprobe program that can wait for a page.
func probeSleepable(k *Kernel) {
	f := &k.features
	err := tryLoad(&ebpf.ProgramSpec{Type: ebpf.Kprobe, Flags: unix.BPF_F_SLEEPABLE, Instructions: asm.Instructions{
		asm.Mov.Reg(asm.R1, asm.RFP),
		asm.Add.Imm(asm.R1, -8),
		asm.Mov.Imm(asm.R2, 8),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnCopyFromUser.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}})
	if err == nil && !f.AtLeast(6, 0) { // older kernels load it, only 6.0 attaches it
		err = ebpf.ErrNotSupported
	}
	f.Sleepable = fact("waiting for pages", err, "programs at uprobes can wait for memory that is not loaded",
		"programs at uprobes cannot wait for memory (Linux 6.0): memory that the traced program has not accessed yet is unreadable", "")
}

// version4 has one of each instruction of version 4 that the compiler uses. The long jump, which the
// library tries, is not sufficient: Debian's 6.1 has it and lacks the others.
func version4() asm.Instructions {
	return asm.Instructions{
		asm.Mov.Imm(asm.R0, -7),
		asm.Mov.Imm(asm.R1, 2),
		asm.StoreMem(asm.RFP, -8, asm.R0, asm.DWord),
		asm.SDiv.Reg(asm.R0, asm.R1),
		asm.SMod.Reg32(asm.R0, asm.R1),
		asm.MovSX8.Reg(asm.R0, asm.R0),
		asm.MovSX32.Reg(asm.R0, asm.R0),
		asm.LoadMemSX(asm.R0, asm.RFP, -8, asm.Word),
		asm.LongJump("out"),
		asm.Return().WithSymbol("out"),
	}
}

func cmpxchg() asm.Instructions {
	return asm.Instructions{
		asm.Mov.Imm(asm.R0, 0),
		asm.StoreMem(asm.RFP, -8, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R1, 1),
		asm.CmpXchg.Mem(asm.RFP, asm.R1, asm.DWord, -8),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}
}

// probeRdonlyCast loads code as the compiler makes it: memory at bpf_rdonly_cast(p, 0) is read at an offset
// (Linux 6.17; older kernels refuse the type 0).
func probeRdonlyCast(k *Kernel) {
	id, err := kfunc("bpf_rdonly_cast")
	if err == nil {
		err = tryRaw(asm.Instructions{
			asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord),
			asm.Mov.Imm(asm.R2, 0),
			{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call), Src: asm.PseudoKfuncCall, Constant: int64(id)},
			asm.LoadMem(asm.R0, asm.R0, 8, asm.DWord),
			asm.Mov.Imm(asm.R0, 0),
			asm.Return(),
		})
	}
	if err == nil {
		k.features.RdonlyCastID = int32(id)
	}
	k.features.RdonlyCast = fact("direct reads", err, "programs read kernel memory directly", "programs read kernel memory through a helper (direct reads: Linux 6.17)", "")
}

// kfunc returns the BTF id of a function of the kernel.
func kfunc(name string) (raw.ID, error) {
	types, err := raw.Kernel()
	if err != nil {
		return 0, err
	}
	list := types.Named(name, raw.Func)
	if len(list) != 1 {
		return 0, fmt.Errorf("the kernel's BTF has %d functions %s", len(list), name)
	}
	return list[0].ID, nil
}
