package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/fail"
)

// UserRegs returns how far from its kernel stack (task->stack, at an offset in task_struct) a thread's struct pt_regs is, which has the
// registers with which it entered the kernel. The distance is the same for all threads that have a program; it depends on the kernel's
// configuration. It is measured by bpf_task_pt_regs (Linux 5.15) for this thread.
func (k *Kernel) UserRegs(stack int32) (distance uint64, err error) {
	const op = "find the registers of programs in the kernel"
	if stack < 0 {
		return 0, &fail.Error{Op: op, Err: errors.New("the kernel's BTF has no task_struct.stack")}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	buf, err := k.NewBuffer("regs", 8)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, buf.Close()) }()
	prog, err := k.Load(Program{Name: "jalon_regs", Kind: RawTracepoint, Buffers: []*Buffer{buf}, Insns: asm.Instructions{
		asm.FnGetCurrentTaskBtf.Call(),
		asm.Mov.Reg(asm.R1, asm.R0),
		asm.FnTaskPtRegs.Call(),
		asm.LoadMapValue(asm.R1, 0, 0).WithReference("regs"),
		asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, prog.Close()) }()
	if _, err := prog.forms[formOne].Run(&ebpf.RunOptions{Context: []uint64{0, 0}}); err != nil {
		return 0, k.explain(err, &attempt{op: op})
	}
	regs := binary.NativeEndian.Uint64(buf.mem)
	task, err := k.currentTask()
	if err != nil {
		return 0, err
	}
	base, err := k.readWord(task+uint64(stack), 8)
	if err != nil {
		return 0, err
	}
	const most = 1 << 20 // larger than any kernel stack
	if distance = regs - base; distance == 0 || distance > most {
		return 0, &fail.Error{Op: op, Err: fmt.Errorf("they are at %#x, and its stack at %#x", regs, base)}
	}
	return distance, nil
}
