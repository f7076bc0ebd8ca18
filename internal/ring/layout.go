// Package ring defines the memory shared by the code at the sites and the reader: a control page, counters, and
// per-CPU ring buffers. This file defines the layout and protocol for the generated code and the reader.
//
// Import rule: ring imports nothing of jalon.
package ring

// Shared memory, one memfd:
//
//	Control page
//	  +0    u32 dead man's switch: a robust futex word owned by jalon's tracer
//	        thread. While jalon lives it holds the thread's tid; when the thread
//	        dies in any way the kernel sets FUTEX_OWNER_DIED (bit 30).
//	  +8    u64 the time stamp counter when jalon last wrote it, for ClockCoarse
//	  +1024  u64 variables of the session's programs (ir.GetVar), MaxVariables of them
//	Thread pointers: of the threads that may use restartable sequences; see
//	        registered.go
//	Counters: one page or more a ring: [ring][counter][site]u64, in the kernel engine's memory
//	        [ring][site][counter]u64. Most hits count in counter 0, whose cells are together
//	Stacks: those that records refer to; see stacks.go
//	Maps: tables that hit programs keep from one hit to the next; see package maps
//	Rings: one a CPU for restartable sequences and one a CPU for all other writers, or
//	        one a CPU for all writers:
//	  +0             u64 reserved: bytes reserved so far (writers, atomic)
//	  +64            u64 consumed: bytes consumed so far (reader)
//	  +PageSize      data, Size bytes, mapped twice in a row, so that a record
//	                 never wraps for its writer or reader.
//
// A record starts at data + (position & (Size-1)), position a multiple of 8:
//
//	+0  u32 size in bytes with this header, a multiple of 8; with RecPending while it is still being written
//	+4  u32 site id + 1; 0 while it is still being written. The 8 bytes at +0 are zero: room whose writer has
//	    not stored the size yet
//	+8  u64 TSC at the hit; ControlClock then; or 0: see Clock
//	+16 u64 thread pointer (fs base) of the thread
//	+24 fields (Schema)
//
// Writer protocol with lock (several threads may race for a ring, also after a migration):
//  1. old = reserved; if old + size - consumed > Size: read reserved again. If it is still old, the ring is full:
//     count CounterLost, give up. Else this thread was stopped between the two loads, and consumed may have passed
//     old: go to 1. Each turn needs another writer's reservation, so all writers together make progress.
//  2. take the time. Behind 1, since all earlier reservations were made before old was loaded.
//  3. lock cmpxchg reserved: old -> old + size; if it fails go to 1. The room is ours, and nothing was reserved between
//     1 and 3, also if this thread was stopped in between: the times in a ring ascend (but for what a processor
//     reorders around its counter).
//  4. store the size with RecPending. All bytes of free room are zero (the reader zeroes what it consumed), so until
//     then the first 8 bytes are zero and the reader waits before them. The kernel's programs omit this step: nothing
//     can end them before step 6.
//  5. write everything but the first 8 bytes.
//  6. store the first 8 bytes, in one store: the record is complete. x86 stores are seen in order: a reader that sees
//     them sees the record.
//
// Writer protocol in a restartable sequence (rseq(2)), for threads that registered.go lists. The kernel sends a
// thread that is preempted, migrated or gets a signal between b and e to its abort handler:
//
//	a. rseq_cs of the thread = descriptor of b to e. Before b the thread has done nothing that is seen outside.
//	b. take the time; read the number of the CPU: from here to e the thread is on this CPU, and no other thread of
//	   the CPU runs. So nothing else changes reserved, and the times in a ring ascend. The number is cpu_id, which is
//	   negative (as cpu_id_start is not) in a struct that the thread has given back to the kernel: it is not
//	   restarted any more. Then, and where the program has written a number that no CPU has: rseq_cs = 0, and the
//	   protocol with lock. A number of another CPU that the program writes leads to that CPU's ring.
//	c. old = reserved; if old + size - consumed > Size the ring is full: to g, count CounterLost, give up. consumed
//	   cannot have passed old, because reserved still is old.
//	d. store the size with RecPending at old. Nothing reads it before e. An aborted sequence leaves a size that the
//	   next one overwrites, since it begins at the same position.
//	e. reserved = old + size, by a plain store: the commit, the last instruction of the sequence. From now on the
//	   room is ours and has a size, whatever becomes of the thread: one that dies leaves a filler of known size.
//	f. go on with 5.
//	g. rseq_cs = 0, also behind e. A thread leaves no pointer to our memory behind: when it has ended, the next thread
//	   of the program may register the same area, and Linux before 6.15 reads the descriptor then.
//
// The abort handler does the same with lock, in a ring with lock: nothing was done before the commit, and a thread that
// is stopped at every instruction (single-stepped) makes progress. A counter is incremented likewise, the increment being
// the commit. A ring and a cell have writers of one kind only: a plain and a locked increment of one cell lose counts.
//
// Reader protocol: take reserved once; from consumed up to there, while the word
// at the position is not zero and has no RecPending: copy the record and zero its bytes; then store
// consumed once for the whole batch. Then leave the ring alone for a while: a
// reader that chases the writer, or that stores consumed for every record, costs
// the writer a cache miss for each of its own (measured: 25 ns instead of 8). When the process is dead, a record with
// RecPending is a filler. Where the word is zero though reserved > consumed, a writer with lock died between 3 and 4,
// and the end of its room is looked for (recover.go).
const (
	PageSize = 4096

	ControlDeadman   = 0
	OwnerDied        = 1 << 30
	ControlClock     = 8
	ControlVariables = 1024
	MaxVariables     = (PageSize - ControlVariables) / 8

	RingReserved = 0
	RingConsumed = 64
	RingData     = PageSize

	RecSize   = 0
	RecSite   = 4
	RecTSC    = 8
	RecThread = 16
	RecHeader = 24

	RecPending = 1 << 31 // a bit of the size
)

// Counters of one site on one CPU (u64 each).
const (
	CounterFalse     = 0 // condition was false
	CounterCondFault = 1 // condition could not be evaluated and counts as false
	CounterLost      = 2 // the ring was full
	CountersPerSite  = 4 // a power of two
)

// Layout has the addresses of the shared memory in the traced process, for the code generator.
type Layout struct {
	Control       uint64 // address of the control page
	Counters      uint64 // address of CPU 0's counters of this site
	CounterStride uint64 // bytes from one CPU's counters to the next CPU's; a power of two
	CounterStep   uint64 // bytes from one counter of a site to the next
	Rings         uint64 // address of CPU 0's ring
	RingStride    uint64 // bytes from one CPU's ring to the next's; a power of two
	RingSize      uint64 // bytes of data of a ring; a power of two
	// Variables is the address of the session's VariableCount variables (u64 each), which all sites and CPUs
	// share.
	Variables     uint64
	VariableCount uint32
	// Stacks is the address of the table of stacks; 0: there is none.
	Stacks uint64
	SiteID uint32
	// CPUMask is the number of rings minus one, a power of two minus one. The code limits its CPU number to it, so
	// even a wrong number cannot lead outside the shared memory. Every ring is safe for any writer; the right
	// one is only faster.
	CPUMask uint32
	// Registered, when not 0, is the address of the table of registered.go: Counters and Rings are those of restartable
	// sequences, and other writers use LockedCounters and LockedRings, of which there are as many. RseqCPU is not 0 then.
	Registered     uint64
	LockedCounters uint64
	LockedRings    uint64
	// RseqCPU, when not 0, is the offset from the fs base of the thread's struct
	// rseq, whose first two u32 are cpu_id_start and cpu_id (rseq(2), Linux 4.18; glibc
	// registers it since 2.35). Reading it costs nothing; without Registered the load is listed
	// as one that may fault (a thread without thread pointer) and then CPU 0 is used.
	RseqCPU int32
	// Features of the machine that the code may use.
	RDPID    bool // without RseqCPU: rdpid gives the CPU number in its low 12 bits; else lsl with selector 0x7b
	FSGSBASE bool // rdfsbase/rdgsbase may be used in user mode (AT_HWCAP2 bit 1)
	AVX      bool // there are ymm registers (of the processor and the kernel)
	// PrefetchW: prefetchw fetches a cache line that will be written.
	PrefetchW bool
	XGETBV1   bool // xgetbv with 1 in ecx reports which parts of the state are in use
}

// Clock is where hit programs take the time stamps of records from.
type Clock uint8

// The clocks.
const (
	ClockTSC    Clock = iota // the processor's time stamp counter
	ClockCoarse              // ControlClock, which jalon writes the counter to again and again
	ClockNone                // none: the reader knows between which of its visits a record was written
)
