package bpf

import (
	"fmt"
	"math"

	"github.com/cilium/ebpf/asm"
)

// The record of a thread, on the stack of the program.
const (
	taskPid    = 0
	taskTid    = 4
	taskParent = 8
	taskUID    = 12
	taskName   = 16
	taskFlags  = 32
	taskSize   = 40

	kernelThread = 0x00200000 // PF_KTHREAD of task_struct.flags
)

// The head of a record with a path, in the buffer: the process, the size of the path with its NUL, and numbers of eight bytes.
const (
	headSize   = 4
	headStart  = 8 // of a file: its descriptor
	headEnd    = 16
	headOffset = 24 // in pages
	headFlags  = 32
	headInode  = 40
	headDev    = 48
	pathHead   = 56
	pathMost   = 4096

	pathBuffer = "paths"
	vmExec     = 4 // VM_EXEC of vm_area_struct.vm_flags
)

// fields are offsets of members of the kernel's structures.
type fields struct{ err error }

func (f *fields) of(tag, member string) int16 {
	off, err := memberOffset(tag, member)
	if err == nil && off > math.MaxInt16 {
		err = fmt.Errorf("%s.%s of this kernel is too far from the begin", tag, member)
	}
	if err != nil && f.err == nil {
		f.err = err
	}
	return int16(off)
}

// endLabel is where a program of an iterator ends.
const endLabel = "out"

func ending() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0).WithSymbol(endLabel), asm.Return()}
}

// begins loads the iterator's seq_file to r6 and its thread to r7, which is 0 behind the last thread. Its context is struct bpf_iter__task:
// pointers to struct bpf_iter_meta, whose first member is the seq_file, and to the thread.
func begins() asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R6, asm.R1, 0, asm.DWord),
		asm.LoadMem(asm.R7, asm.R1, 8, asm.DWord),
		asm.JEq.Imm(asm.R7, 0, endLabel),
		asm.LoadMem(asm.R6, asm.R6, 0, asm.DWord),
	}
}

// taskInsns writes the record of a thread.
func taskInsns() (asm.Instructions, error) {
	const rec = -taskSize
	var f fields
	task := func(member string) int16 { return f.of("task_struct", member) }
	insns := append(begins(),
		asm.LoadMem(asm.R2, asm.R7, task("tgid"), asm.Word),
		asm.StoreMem(asm.RFP, rec+taskPid, asm.R2, asm.Word),
		asm.LoadMem(asm.R2, asm.R7, task("pid"), asm.Word),
		asm.StoreMem(asm.RFP, rec+taskTid, asm.R2, asm.Word),
		asm.LoadMem(asm.R2, asm.R7, task("flags"), asm.Word),
		asm.StoreMem(asm.RFP, rec+taskFlags, asm.R2, asm.Word),
		asm.StoreImm(asm.RFP, rec+taskFlags+4, 0, asm.Word),
		asm.StoreImm(asm.RFP, rec+taskParent, 0, asm.Word),
		asm.StoreImm(asm.RFP, rec+taskUID, 0, asm.Word),
		asm.LoadMem(asm.R3, asm.R7, task("real_parent"), asm.DWord),
		asm.JEq.Imm(asm.R3, 0, "orphan"),
		asm.LoadMem(asm.R2, asm.R3, task("tgid"), asm.Word),
		asm.StoreMem(asm.RFP, rec+taskParent, asm.R2, asm.Word),
		asm.LoadMem(asm.R3, asm.R7, task("cred"), asm.DWord).WithSymbol("orphan"),
		asm.JEq.Imm(asm.R3, 0, "no cred"),
		asm.LoadMem(asm.R2, asm.R3, f.of("cred", "uid"), asm.Word),
		asm.StoreMem(asm.RFP, rec+taskUID, asm.R2, asm.Word),
		asm.Mov.Reg(asm.R1, asm.RFP).WithSymbol("no cred"),
		asm.Add.Imm(asm.R1, rec+taskName),
		asm.Mov.Imm(asm.R2, 16), // TASK_COMM_LEN
		asm.Mov.Reg(asm.R3, asm.R7),
		asm.Add.Imm(asm.R3, int32(task("comm"))),
		asm.FnProbeReadKernel.Call(),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, rec),
		asm.Mov.Imm(asm.R3, taskSize),
		asm.FnSeqWrite.Call(),
	)
	return append(insns, ending()...), f.err
}

// mappingInsns writes the record of a mapping with a file.
func mappingInsns() (asm.Instructions, error) {
	var f fields
	insns := append(begins()[:3],
		asm.LoadMem(asm.R8, asm.R1, 16, asm.DWord), // struct bpf_iter__task_vma: the mapping
		asm.JEq.Imm(asm.R8, 0, endLabel),
		asm.LoadMem(asm.R6, asm.R6, 0, asm.DWord),
		asm.LoadMapValue(asm.R9, 0, 0).WithReference(pathBuffer),
		asm.LoadMem(asm.R2, asm.R7, f.of("task_struct", "tgid"), asm.Word),
		asm.StoreMem(asm.R9, 0, asm.R2, asm.Word),
	)
	for _, m := range []struct {
		member string
		to     int16
	}{{"vm_start", headStart}, {"vm_end", headEnd}, {"vm_pgoff", headOffset}, {"vm_flags", headFlags}} {
		insns = append(insns,
			asm.LoadMem(asm.R2, asm.R8, f.of("vm_area_struct", m.member), asm.DWord),
			asm.StoreMem(asm.R9, m.to, asm.R2, asm.DWord))
	}
	insns = append(insns,
		asm.LoadMem(asm.R7, asm.R8, f.of("vm_area_struct", "vm_file"), asm.DWord),
		asm.JEq.Imm(asm.R7, 0, endLabel),
		asm.LoadMem(asm.R3, asm.R7, f.of("file", "f_inode"), asm.DWord),
		asm.JEq.Imm(asm.R3, 0, endLabel),
		asm.LoadMem(asm.R2, asm.R3, f.of("inode", "i_ino"), asm.DWord),
		asm.StoreMem(asm.R9, headInode, asm.R2, asm.DWord),
		asm.LoadMem(asm.R3, asm.R3, f.of("inode", "i_sb"), asm.DWord),
		asm.JEq.Imm(asm.R3, 0, endLabel),
		asm.LoadMem(asm.R2, asm.R3, f.of("super_block", "s_dev"), asm.Word),
		asm.StoreMem(asm.R9, headDev, asm.R2, asm.DWord),
	)
	insns = append(insns, writePath(&f)...)
	return append(insns, ending()...), f.err
}

// fileInsns writes the record of an open file.
func fileInsns() (asm.Instructions, error) {
	var f fields
	insns := append(begins()[:3],
		asm.LoadMem(asm.R8, asm.R1, 16, asm.Word), // struct bpf_iter__task_file: the descriptor and the file
		asm.LoadMem(asm.R1, asm.R1, 24, asm.DWord),
		asm.JEq.Imm(asm.R1, 0, endLabel),
		asm.LoadMem(asm.R6, asm.R6, 0, asm.DWord),
		asm.LoadMapValue(asm.R9, 0, 0).WithReference(pathBuffer),
		asm.LoadMem(asm.R2, asm.R7, f.of("task_struct", "tgid"), asm.Word),
		asm.StoreMem(asm.R9, 0, asm.R2, asm.Word),
		asm.StoreMem(asm.R9, headStart, asm.R8, asm.DWord),
		asm.Mov.Reg(asm.R7, asm.R1),
	)
	insns = append(insns, writePath(&f)...)
	return append(insns, ending()...), f.err
}

// writePath completes the record with head at r9 by the path of the file in r7, and writes it to the seq_file in r6.
func writePath(f *fields) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R1, asm.R7),
		asm.Add.Imm(asm.R1, int32(f.of("file", "f_path"))),
		asm.Mov.Reg(asm.R2, asm.R9),
		asm.Add.Imm(asm.R2, pathHead),
		asm.Mov.Imm(asm.R3, pathMost),
		asm.FnDPath.Call(), // the size with the NUL, or an error's number
		asm.JSGE.Imm(asm.R0, 0, "found"),
		asm.Mov.Imm(asm.R0, 0),
		asm.JGT.Imm(asm.R0, pathMost, endLabel).WithSymbol("found"),
		asm.StoreMem(asm.R9, headSize, asm.R0, asm.Word),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Reg(asm.R2, asm.R9),
		asm.Mov.Reg(asm.R3, asm.R0),
		asm.Add.Imm(asm.R3, pathHead),
		asm.FnSeqWrite.Call(),
	}
}
