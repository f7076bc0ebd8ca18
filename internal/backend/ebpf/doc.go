// Package ebpf compiles hit programs (package ir) to eBPF. It is pure: what it
// makes is loaded by package kernel.
//
// The program's ring buffers and counters lie in the one value of an mmapable
// array map, laid out as ring.Layout says with offsets from the start of that
// value in the place of addresses.
//
// Import rule: ebpf imports ir and ring only.
package ebpf

import (
	"github.com/cilium/ebpf/asm"

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

// The spaces. On x86-64 the sign of an address tells whose it is.
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
	// FSBase is the offset of thread.fsbase in struct task_struct, TaskComm that
	// of comm; -1: not known.
	FSBase, TaskComm int32
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

	Context  Context
	Space    Space
	Features Features
	// Return is the program's value where the IR has no Result. Programs on perf
	// events (tracepoint, kprobe) return 1: 0 would keep the hit from others.
	Return int32
	// Atomic counts with locked instructions: uprobe programs can be preempted by
	// themselves; tracing programs cannot (a per-CPU guard in the kernel).
	Atomic bool
	// SiteFromCookie takes the site's number from the attachment's cookie
	// (bpf_get_attach_cookie), so that one program serves many sites.
	SiteFromCookie bool
	// Sites is how many sites have counters from Layout.Counters on, when the
	// site comes from the cookie; Layout.Counters is then that of site 0.
	Sites uint32
}

// Compile makes the instructions of p, which must be checked. The error says in
// words what eBPF cannot do (floating point), never that p is wrong.
func Compile(p *ir.Program, c Config) (asm.Instructions, error) { return compile(p, &c) }
