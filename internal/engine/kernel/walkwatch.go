package kernel

import (
	"errors"
	"math/bits"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// watcher is a program that makes slots of the shared area stale.
type watcher struct {
	prog *bpf.Loaded
	link *bpf.Link
}

func (w *watcher) close() (err error) {
	if w.link != nil {
		err = w.link.Close()
	}
	if w.prog != nil {
		err = errors.Join(err, w.prog.Close())
	}
	return err
}

// startWatching attaches the programs.
func (w *walkTables) startWatching() error {
	tgid, pid := w.facts.offset("task_struct", "tgid"), w.facts.offset("task_struct", "pid")
	if tgid < 0 || pid < 0 {
		return errors.New("the kernel's BTF has no task_struct.tgid and pid")
	}
	for _, x := range []struct {
		name  string
		insns asm.Instructions
	}{
		{"sched_process_fork", w.born(tgid, pid)},
		{"sched_process_exec", w.executed()},
		{"vm_unmapped_area", w.mapped(w.facts.offset("vm_unmapped_area_info", "length"))},
	} {
		on, err := watch(w.k, x.name, x.insns, w.buffer)
		w.watch = append(w.watch, on)
		if err != nil {
			return err
		}
	}
	return nil
}

// watch attaches a program to a raw tracepoint.
func watch(k *bpf.Kernel, name string, insns asm.Instructions, buffer *bpf.Buffer) (on watcher, err error) {
	target := bpf.Target{Kind: bpf.RawTracepoint, Name: name}
	on.prog, err = k.Load(bpf.Program{
		Name: "jalon_watch", Insns: insns, Kind: target.Kind, Target: target, Buffers: []*bpf.Buffer{buffer},
	})
	if err == nil {
		on.link, err = on.prog.Attach(target)
	}
	return on, err
}

// slotOf makes r7 the slot of the process in r1, or goes to out.
func (w *walkTables) slotOf() asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R2, asm.R1),
		asm.And.Imm(asm.R2, unwind.Processes-1),
		asm.LSh.Imm(asm.R2, int32(bits.TrailingZeros(unwind.ProcessSize))),
		asm.LoadMapValue(asm.R7, 0, 0).WithReference(walkTablesName),
		asm.Add.Reg(asm.R7, asm.R2),
		asm.LoadMem(asm.R3, asm.R7, unwind.ProcessTgid, asm.Word),
		asm.JNE.Reg(asm.R3, asm.R1, "out"),
	}
}

// stale ends a program that has the slot in r7.
func stale() asm.Instructions {
	return asm.Instructions{
		asm.StoreImm(asm.R7, unwind.ProcessStale, 1, asm.Word).WithSymbol("stale"),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return(),
	}
}

// current makes r1 the number of the current process.
func current() asm.Instructions {
	return asm.Instructions{asm.FnGetCurrentPidTgid.Call(), asm.Mov.Reg(asm.R1, asm.R0), asm.RSh.Imm(asm.R1, 32)}
}

// born is the program at sched_process_fork.
func (w *walkTables) born(tgid, pid int32) asm.Instructions {
	return append(append(childOf(tgid, pid), w.slotOf()...), stale()...)
}

// childOf makes r1 the number of the new process at sched_process_fork, whose arguments are the parent and the child, or goes to out:
// threads change nothing.
func childOf(tgid, pid int32) asm.Instructions {
	list := asm.Instructions{asm.LoadMem(asm.R6, asm.R1, 8, asm.DWord)}
	for i, off := range []int32{tgid, pid} {
		list = append(
			list,
			asm.Mov.Reg(asm.R1, asm.R10), asm.Add.Imm(asm.R1, int32(-4*(i+1))), asm.Mov.Imm(asm.R2, 4),
			asm.Mov.Reg(asm.R3, asm.R6), asm.Add.Imm(asm.R3, off), asm.FnProbeReadKernel.Call(),
		)
	}
	return append(
		list,
		asm.LoadMem(asm.R1, asm.R10, -4, asm.Word), asm.LoadMem(asm.R2, asm.R10, -8, asm.Word),
		asm.JNE.Reg(asm.R1, asm.R2, "out"),
	)
}

// executed is the program at sched_process_exec.
func (w *walkTables) executed() asm.Instructions {
	return append(append(current(), w.slotOf()...), stale()...)
}

// mapped is the program at vm_unmapped_area, whose arguments are the address of new memory and its vm_unmapped_area_info: where
// the kernel chooses the address, memory is mapped there next.
func (w *walkTables) mapped(length int32) asm.Instructions {
	list := asm.Instructions{
		asm.LoadMem(asm.R8, asm.R1, 0, asm.DWord),
		asm.LoadMem(asm.R6, asm.R1, 8, asm.DWord),
	}
	list = append(append(list, current()...), w.slotOf()...)
	list = append(
		list,
		asm.LoadMem(asm.R1, asm.R7, unwind.ProcessPages, asm.DWord), asm.JEq.Imm(asm.R1, 0, "stale"),
		asm.Mov.Reg(asm.R1, asm.R10), asm.Add.Imm(asm.R1, -8), asm.Mov.Imm(asm.R2, 8),
		asm.Mov.Reg(asm.R3, asm.R6), asm.Add.Imm(asm.R3, length), asm.FnProbeReadKernel.Call(),
		asm.LoadMem(asm.R6, asm.R10, -8, asm.DWord), asm.Add.Reg(asm.R6, asm.R8), // the end
		asm.LoadMem(asm.R2, asm.R7, unwind.ProcessList, asm.DWord),
		asm.Mov.Reg(asm.R3, asm.R2), asm.And.Imm(asm.R3, 1<<unwind.ListShift-1),
		asm.RSh.Imm(asm.R2, unwind.ListShift),
		asm.Mov.Imm(asm.R4, 0),
		// For each module: r2 its offset, r3 how many there are, r4 its number.
		asm.JGE.Reg(asm.R4, asm.R3, "out").WithSymbol("next"),
		asm.JGE.Imm(asm.R4, unwind.SharedModules, "stale"),
		asm.And.Imm(asm.R2, int32(w.code.Size-1)),
		asm.LoadMapValue(asm.R1, 0, 0).WithReference(walkTablesName), asm.Add.Reg(asm.R1, asm.R2),
		asm.LoadMem(asm.R5, asm.R1, unwind.ModuleHi, asm.DWord), asm.LoadMem(asm.R1, asm.R1, unwind.ModuleLo, asm.DWord),
		asm.Add.Imm(asm.R2, unwind.ModuleSize), asm.Add.Imm(asm.R4, 1),
		asm.JGE.Reg(asm.R8, asm.R5, "next"), // it begins behind the module
		asm.JGE.Reg(asm.R1, asm.R6, "next"), // it ends before
	)
	return append(list, stale()...)
}
