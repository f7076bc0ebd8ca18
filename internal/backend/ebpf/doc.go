// Package ebpf compiles hit programs (package ir) to eBPF. It is pure: what it
// makes is loaded by package kernel.
//
// The program's ring buffers and counters lie in the one value of an mmapable
// array map, laid out as ring.Layout says with offsets from the start of that
// value in the place of addresses.
//
// A program goes through these files, in this order. Package amd64 has files of the same
// names for the same topics (test/backends_test.go lists those that only one backend has):
//
//	compile.go   the entry; what is checked before
//	rewrite.go   changes of the program for this backend: one reading of the time
//	analyse.go   what is known of a program: numbers, uses
//	fold.go      what is done inside another operation: comparisons in branches, copies of the context
//	needs.go     what operations need beside their operands, which make calls, which are emitted
//	dominate.go  where the pointer that loads start from is made
//	live.go      when values live (package regalloc); liveset.go what is live exactly
//	regalloc.go  what the allocator (package regalloc) must know of the registers
//	gen.go       blocks to instructions; order.go the place of each block
//	moves.go     parameters of blocks: parallel copies
//	operand.go   where a value is at an instruction
//	emit.go      instructions, and the stack
//	lower_*.go   one file for each family of operations; lower_term.go ends blocks
//	asm.go       instructions, labels, sections; link.go sets the offsets of jumps
//	listing.go   the code as text
//
// Registers: r0 is scratch, r1 to r5 hold values that no call lies in, r6 to r9
// those that one does. What does not fit lies on the stack of 512 bytes.
//
// Loads: the kernel lets a program read any address behind a pointer of its
// own making (bpf_rdonly_cast to void, Linux 6.17). One such pointer, to address
// 0, is made before the first load; an address is added to it and read by one
// instruction, which gives 0 when it faults. Before, each load calls a helper.
//
// Addresses and words of the context that are typed pointers to the verifier
// become numbers by a conversion to little endian (le64), which is no
// instruction of the processor.
//
// Import rule: ebpf imports arch, regalloc, ir, maps, ring and unwind only.
package ebpf

import (
	"github.com/cilium/ebpf/asm"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Context says what register r1 points to when the program starts.
type Context uint8

// The contexts.
const (
	Args   Context = iota // u64 words: raw tracepoint, tp_btf, fentry, fexit
	Regs                  // struct pt_regs: kprobe, uprobe, perf_event
	Record                // a tracepoint's record (BPF_PROG_TYPE_TRACEPOINT)
)

// Space says whose addresses the program's loads are given.
type Space uint8

// The spaces. On x86-64 the sign of an address distinguishes kernel and user addresses.
const (
	// Kernel: the kernel's; an address of the lower half is the current process's,
	// but for the first page, where null pointers lead: that is unreadable.
	Kernel Space = iota
	// User: the current process's only; a kernel address is unreadable.
	User
)

// Features are what the kernel that loads the program can do.
type Features struct {
	// RdonlyCast is the BTF id of the kfunc bpf_rdonly_cast where casting to
	// void gives memory that may be read with any offset, faults giving zero
	// (Linux 6.17); 0: loads go through a helper.
	RdonlyCast int32
	// V4 says that the instruction set version 4 (sdiv, movsx, ...; Linux 6.6) may be used.
	V4 bool
	// FSBase is the offset of the thread pointer in struct task_struct, TaskComm that
	// of comm; -1: not known.
	FSBase, TaskComm int32
	// Namespace is the PID namespace whose numbers are meant; nil: the first one.
	Namespace *Namespace
}

// Config is what Compile needs beside the program.
type Config struct {
	Name string // of the map in the instructions (asm.Instruction.WithReference)
	// Layout gives offsets in the map's value. Slack bytes lie behind each
	// ring's data: a record that begins before its end goes on there.
	Layout ring.Layout
	Slack  uint64
	// MapSize is the size of the map's value, for the bounds that the verifier proves.
	MapSize uint64

	// Maps are the tables of the program's maps, by number.
	Maps []Table
	// Stacks are the tables of stacks, for ir.StackID and ir.UserStack: those of equal Frames are tried in this order.
	Stacks []StackTable
	// UserStacks is the table of stacks of programs, for ir.UserStack. With it, Tables is needed.
	UserStacks UserStacks

	// Followed is the table of the processes that are followed, for ir.EnvFollowed: a byte for each number.
	Followed Bytes

	Context  Context
	Space    Space
	Features Features
	// Processor has the layout of struct pt_regs; nil: this machine's.
	Processor *arch.Processor
	// Walk is the address in the process of the area by which stacks are followed (unwind.AreaSize), for ir.Walk; 0: it
	// has none. The program must run for this process only.
	Walk uint64
	// Tables has the tables of processes, for ir.EnvTables and, in place of Walk, for ir.Walk, whose slot then begins with the
	// pc behind its header. Without a name there are none.
	Tables Tables
	// Return is the program's value where the IR has no Result. Programs on perf
	// events (tracepoint, kprobe) return 1: 0 would keep the hit from others.
	Return int32
	// Atomic counts with locked instructions: uprobe programs can be preempted by
	// themselves; tracing programs cannot (a per-CPU guard in the kernel).
	Atomic bool
	// Sleeps allows helpers that wait for a page of the program's that is not in
	// memory (Linux 6.0 for uprobes): the program must be loaded as sleepable.
	// Without it such memory is unreadable, also that which the traced program
	// would find there.
	Sleeps bool
	// SiteFromCookie takes the site's number from the attachment's cookie
	// (bpf_get_attach_cookie), so that one program serves many sites.
	SiteFromCookie bool // needs bpf_get_attach_cookie in the program's type
	// SiteByCall, with SiteFromCookie, takes the site's number from this table of 4-byte words in place of the cookie, which
	// programs that are called by another one do not have: by the number of the system call in the record of the event. Its size
	// is a power of two.
	SiteByCall Bytes
	// Sites is how many sites have counters from Layout.Counters on, when the
	// site comes from the cookie; Layout.Counters is then that of site 0.
	Sites uint32
}

// Compile makes the instructions of p, which must be checked. The error says in
// words what eBPF cannot do (floating point), never that p is wrong.
func Compile(p *ir.Program, c Config) (asm.Instructions, error) { return compile(p, &c) }
