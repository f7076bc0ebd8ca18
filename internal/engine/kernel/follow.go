package kernel

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/ir"
)

// Descendants of the traced process are followed by a table with a byte for each process number, which the filters of
// programs read (ir.EnvFollowed):
//
//  1. jalon sets the byte of the traced process.
//  2. A program at sched_process_fork, which is attached before all others, gives the byte of each new process its
//     parent's value, 1 or 0, before the new process runs. So a number that is used again does not keep the value of
//     the process that had it before. An exec changes neither.
//
// The numbers are those of the machine's first PID namespace.

// followedName is the name of the table in instructions.
const followedName = "followed"

// follower fills the table.
type follower struct {
	size   int
	buffer *bpf.Buffer
	prog   *bpf.Loaded
	link   *bpf.Link
}

// follows reports whether descendants are followed. In another PID namespace jalon does not know the numbers.
func (e *Host) follows() bool { return e.opt.Follow && e.opt.Tgid != 0 && e.pids.namespace == nil }

// processNumbers is how many numbers processes can have.
func processNumbers() int {
	const most = 4 << 20 // PID_MAX_LIMIT
	b, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if n, perr := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && perr == nil && n > 0 && n <= most {
		return n
	}
	return most
}

// follow makes the table, and attaches the program that fills it.
func (e *loader) follow() (err error) {
	if e.follower.buffer != nil {
		return nil
	}
	size := processNumbers()
	tgid, pid := e.facts.offset("task_struct", "tgid"), e.facts.offset("task_struct", "pid")
	if tgid < 0 || pid < 0 {
		return errors.New("the kernel's BTF has no task_struct.tgid and pid")
	}
	f := follower{size: size}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if f.buffer, err = e.k.NewBuffer(followedName, uint64(size)); err != nil {
		return err
	}
	if e.opt.Tgid >= size {
		return fmt.Errorf("process %d is beyond the largest number, %d", e.opt.Tgid, size)
	}
	f.buffer.Memory()[e.opt.Tgid] = 1
	target := bpf.Target{Kind: bpf.RawTracepoint, Name: "sched_process_fork"}
	f.prog, err = e.k.Load(bpf.Program{
		Name: "jalon_follow", Insns: inherit(tgid, pid, int32(size)), Kind: target.Kind, Target: target, Buffers: []*bpf.Buffer{f.buffer},
	})
	if err != nil {
		return err
	}
	if f.link, err = f.prog.Attach(target); err == nil {
		e.follower = f
	}
	return err
}

// inherit is the program at sched_process_fork, whose arguments are the parent and the child. Threads have the number of
// their process and change nothing.
func inherit(tgid, pid, size int32) asm.Instructions {
	read := func(to int16, off int32) asm.Instructions {
		return asm.Instructions{
			asm.Mov.Reg(asm.R1, asm.R10), asm.Add.Imm(asm.R1, int32(to)), asm.Mov.Imm(asm.R2, 4),
			asm.Mov.Reg(asm.R3, asm.R6), asm.Add.Imm(asm.R3, off), asm.FnProbeReadKernel.Call(),
		}
	}
	list := asm.Instructions{asm.LoadMem(asm.R6, asm.R1, 8, asm.DWord)}
	list = append(list, read(-4, tgid)...)
	list = append(list, read(-8, pid)...)
	return append(
		list,
		asm.LoadMem(asm.R7, asm.R10, -4, asm.Word), asm.LoadMem(asm.R8, asm.R10, -8, asm.Word),
		asm.JNE.Reg(asm.R7, asm.R8, "out"),
		asm.JGE.Imm(asm.R7, size, "out"),
		asm.LoadMapValue(asm.R9, 0, 0).WithReference(followedName),
		asm.FnGetCurrentPidTgid.Call(),
		asm.RSh.Imm(asm.R0, 32), asm.Mov.Imm(asm.R1, 0),
		asm.JGE.Imm(asm.R0, size, "set"),
		asm.Mov.Reg(asm.R2, asm.R9), asm.Add.Reg(asm.R2, asm.R0), asm.LoadMem(asm.R1, asm.R2, 0, asm.Byte),
		asm.Add.Reg(asm.R9, asm.R7).WithSymbol("set"), asm.StoreMem(asm.R9, 0, asm.R1, asm.Byte),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return(),
	)
}

func (f *follower) close() (err error) {
	if f.link != nil {
		err = f.link.Close()
	}
	if f.prog != nil {
		err = errors.Join(err, f.prog.Close())
	}
	if f.buffer != nil {
		err = errors.Join(err, f.buffer.Close())
	}
	*f = follower{}
	return err
}

// readsFollowed reports whether a program needs the table.
func readsFollowed(p *ir.Program) bool {
	for in := range p.Instrs() {
		if in.Op == ir.Env && in.Imm == ir.EnvFollowed {
			return true
		}
	}
	return false
}
