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
//	Switches: [site]u8, not 0: hits of the site do nothing. Only jalon writes them
//	Stacks: those that records refer to; see stacks.go
//	Maps: tables that hit programs keep from one hit to the next; see package maps
//	Rings: one a CPU for restartable sequences and one a CPU for all other writers, or
//	        one a CPU for all writers
//
// A ring:
//
//	+0             u64 reserved: bytes reserved so far (writers). With lock bits 0-54, and in bits 55-63 how far back
//	               the newest context is, in units of 8 bytes; 0: it may not be used
//	+8             u64 thread, epoch, from, limit: of the newest context, see below (sequences)
//	+40            u64 dropped: hits that found the ring full (writers)
//	+48            u64 claim: where the newest sub-buffer of a ring of sequences begins, see overwrite.go
//	+56            u64 waits: hits that waited for room (writers, atomic)
//	+64            u64 consumed: bytes consumed so far (reader)
//	+72            u64 until: the time stamp counter up to which writers may wait for room; 0: they do not (reader)
//	+SubTable      u32 done, base: by sub-buffer, see overwrite.go
//	+PageSize      data, Size bytes, mapped twice in a row, so that what begins before the end
//	               of the data goes on behind it for its writer and reader.
//
// A position p is at data + (p & (Size-1)), a multiple of 8. The data is divided into sub-buffers that begin at multiples
// of SubSize. What is in one can be read without the others, and can be written to a file as a packet of a CTF trace: its
// head has the fields of a packet's head. Those that are known only when it has ended are in the next one's head (packet.go). All
// begins with a word:
//
//	bits 0-26   low bits of the time
//	bits 27-31  kind
//	bits 32-63  by kind; bit 63 (WordPending): not complete
//	zero        free room, or room whose writer has not stored the word yet
//
//	packet      begins a sub-buffer: the low half of the word is PacketMagic; then
//	            +8 u64 time, +40 u64 dropped, +48 u64 position, +56 u64 end of the sub-buffer before. 64 bytes
//	context     bits 32-62: size of the event behind it, which its writer has reserved with it
//	            +8 u64 time, +16 u64 thread pointer (fs base) of the thread, pid and tid in the kernel's programs. 24 bytes
//	event       bits 32-52: site, bits 53-62: size / 8, or 0: a u64 behind the word has the size
//	            then the fields (Schema)
//	filler      bits 32-62: size, to the end of the sub-buffer. The rest is not read
//
// Thread and time of an event are those of the context before it, but with the low bits of its own time: an event of two
// ints takes 16 bytes. An event that has no room in a sub-buffer begins one that is as many times longer as it needs.
//
// The reader returns events as records with the head of record.go, whatever they were in the ring.
//
// Writer protocol with lock (several threads may race for a ring, also after a migration):
//  1. old = reserved. If context and event have no room in old's sub-buffer, or none was begun: start = the start of the
//     next one; if start + its size - consumed > Size: read reserved again. If it is still old, the ring is full: count
//     CounterLost and dropped, give up. Else this thread was stopped between the two loads, and consumed may have passed
//     old: go to 1. Each turn needs another writer's reservation, so all writers together make progress.
//  2. take the time. Behind 1, since all earlier reservations were made before old was loaded.
//  3. lock cmpxchg reserved: old -> end of the event; if it fails go to 1. The room is ours, and nothing was reserved
//     between 1 and 3, also if this thread was stopped in between: the times in a ring ascend (but for what a processor
//     reorders around its counter). Room in a sub-buffer that was begun is free: 1 has tested the whole of it.
//  4. if it begins a sub-buffer, store its head, the filler's word at old, then the packet's word. Store the context's
//     word, with the size of the event. All bytes of free room are zero (the reader zeroes what it consumed), so the
//     reader waits before a word that is not stored yet.
//  5. store the event's head, with WordPending, its upper half first. Store the context (in the kernel's programs before the
//     event's head, the time as the last). The reader uses a context when
//     the event behind it is complete, since its writer has stored both. Store the fields.
//  6. store the event's word without WordPending, in one store of its upper half: the event is complete. x86 stores are
//     seen in order: a reader that sees it sees the event.
//
// Where rings are not overwritten, an event can do without a context of its own:
//
//	2k. if the event needs no sub-buffer, and reserved says where the newest context is: load its time and then its thread, before 2. If they
//	    are this thread's and of the same epoch as the time of 2, the event needs no context: it goes to old, 4 is left out, and
//	    5 stores the head in one store. What was loaded is
//	    zero or final: room is zero until its writer stores, and again when the reader has consumed it. A time of this epoch is not
//	    zero, and was stored behind the thread.
//	3k. the exchange also changes the distance: behind a new context it is the size of both, and behind an event without
//	    context it grows by the event; 0 where it would exceed MaxNear. If the exchange succeeds, nothing was reserved since 1:
//	    the context that 2k has looked at is the newest one, whose events the reader returns with it.
//
// In the process, the thread is the last that is stored of a context, and 2k looks at it first, if it is not 0, then takes the
// time of 2, and then looks at the context's time: with the thread, time and word are stored. So a thread that dies in 5
// leaves no context with a word but no time, which recover.go could take for something else.
//
// So position and context are changed in one exchange, and no context has to be published.
//
// Writer protocol in a restartable sequence (rseq(2)), for threads that registered.go lists. The kernel sends a
// thread that is preempted, migrated or gets a signal in a sequence to its abort handler. While it is in one it is on one
// CPU, and no other thread of the CPU runs: nothing else changes the ring's words and what is behind reserved. So the
// times in a ring ascend.
//
// from <= reserved says that thread and epoch are those of the newest context (epoch: its time >> 27), and limit is the end
// of its sub-buffer. A, for a hit of the same thread in the same epoch:
//
//	A1. rseq_cs of the thread = descriptor of A. Until then the thread has done nothing that is seen outside. Take the
//	    time; read the number of the CPU. The number is cpu_id, which is
//	    negative (as cpu_id_start is not) in a struct that the thread has given back to the kernel: it is not
//	    restarted any more. Then, and where the program has written a number that no CPU has: rseq_cs = 0, and the
//	    protocol with lock. A number of another CPU that the program writes leads to that CPU's ring, which can be
//	    damaged by it.
//	A2. unless thread is ours, epoch is time >> 27 and from <= reserved: S, since the event needs a context.
//	A3. unless reserved + size <= limit: S, since it needs a sub-buffer. consumed is not looked at: the room up to limit is
//	    free.
//	A4. store the event's word, with WordPending, at reserved. Nothing reads it before A5. An aborted sequence leaves a word
//	    that the next one overwrites, since it begins at the same position.
//	A5. reserved = reserved + size, by a plain store: the commit, the last instruction of the sequence. From now on the
//	    room is ours and has a size, whatever becomes of the thread: one that dies leaves a filler of known size.
//	A6. rseq_cs = 0. A thread leaves no pointer to our memory behind: when it has ended, the next thread
//	    of the program may register the same area, and Linux before 6.15 reads the descriptor then.
//	A7. store the fields; then 6.
//
// S, a sequence of its own:
//
//	S0. as 1, with reserved loaded again to know that the ring was full: a hit that is lost costs no more than this.
//	S1. as A1. from = ~0: from here to S5 what the other words say is not used, wherever this sequence is aborted.
//	S2. as 1, but that the ring is full at once: consumed cannot have passed reserved. Then L.
//	S3. thread, epoch = ours; from = the end of the event; limit. from is greater than reserved until S5.
//	S4. as 4 and 5, behind reserved. What an aborted S leaves there is overwritten by the next S: the words send all hits
//	    to S, and each S stores heads at the same offsets from old and from start. Event fields are not among them.
//	S5. reserved = from: the commit. It makes the words valid in the same instant. Then A6.
//
// L, a sequence of its own, counts a hit that found the ring full in S0 or S2:
//
//	L1. as A1, without the time. The CPU may be another one since the ring was found full, whose ring then counts the hit: a plain
//	    increment is right only for this CPU's.
//	L2. dropped += 1, in one instruction: the commit. Then A6, and the site's counter, in a sequence of its own. A
//	    thread that dies between the two has counted the hit in dropped only.
//
// The abort handlers reserve with lock, in a ring with lock: nothing was done before the commit, and a thread that
// is stopped at every instruction (single-stepped) makes progress. A counter is incremented likewise, the increment being
// the commit. A ring and a cell have writers of one kind only: a plain and a locked increment of one cell lose counts.
//
// Where the layout has Wait, a writer does not give up at once when the ring is full. It counts in waits, and then looks again
// and again: when the ring has room for a sub-buffer it begins with 1 or S1; when the time has passed until, or jalon is dead, it
// gives up. It does no system call: a filter of the program's might not allow it. The reader moves until on when it has read
// something of this ring or found it empty, so a hit waits no longer than the user allows behind the last progress, also
// when its ring is blocked by an event that it interrupts itself.
//
// A hit in a signal handler that interrupts a hit between its commit and 6 reserves behind it; its context and words
// are as for any other thread's. The reader waits before the interrupted one.
//
// Reader protocol: take reserved once; from consumed up to there, while the word
// at the position is not zero and has no WordPending: copy the event and zero its bytes; then store
// consumed once for the whole batch. Then leave the ring alone for a while: a
// reader that chases the writer, or that stores consumed for every record, costs
// the writer a cache miss for each of its own (measured: 25 ns instead of 8). When the process is dead, an event with
// WordPending is a filler. Where the word is zero though reserved > consumed, a writer with lock died between 3 and 4,
// and the end of its room is looked for (recover.go). To drop what is in a ring, the reader sets thread to 0: a sequence
// that runs meanwhile stores a context, or an event that is dropped too.
const (
	PageSize = 4096

	ControlDeadman   = 0
	OwnerDied        = 1 << 30
	ControlClock     = 8
	ControlVariables = 1024
	MaxVariables     = (PageSize - ControlVariables) / 8
	// Of a session without GDB: the hits that have left a record or wanted to (sema.Input.Most), what hits add to the time that they
	// compute (sema.Moment.Corrected), the expressions of teval that could not be evaluated, and from FirstVariable on the user's
	// trace state variables.
	MostVariable   = 0
	ClockVariable  = 1
	FailedVariable = 2
	FirstVariable  = 3

	RingReserved = 0
	RingThread   = 8
	RingEpoch    = 16
	RingFrom     = 24
	RingLimit    = 32
	RingDropped  = 40
	RingClaim    = 48
	RingWaits    = 56
	RingConsumed = 64
	RingUntil    = 72
	SubTable     = 2048
	MaxSubs      = (PageSize - SubTable) / SubEntry
	SubEntry     = 8
	SubDone      = 0
	SubBase      = 4
	RingData     = PageSize

	NearShift = 55 // of the distance, in reserved with lock
	NearUnit  = 8
	MaxNear   = 1<<(64-NearShift) - 1

	WordKind    = 27 // shift of the kind
	WordClock   = 1<<WordKind - 1
	WordPending = 1 << 63

	KindEvent   = 1
	KindContext = 2
	KindFiller  = 3

	// PacketMagic is CTF's.
	PacketMagic    = 0xC1FC1FC1
	PacketHead     = 64
	PacketBegin    = 8
	PacketEnd      = 16 // free for the time of the end, the sizes of contents and packet in bits
	PacketContent  = 24
	PacketSize     = 32
	PacketLost     = 40
	PacketPosition = 48
	PacketBefore   = 56

	ContextTime   = 8
	ContextThread = 16
	ContextSize   = 24

	EventHead = 8 // 16 with a size of its own
)

// Position is the number of bytes in what writers with lock have reserved.
func Position(reserved uint64) uint64 { return reserved & (1<<NearShift - 1) }

// Counters of one site on one CPU (u64 each).
const (
	CounterFalse     = 0 // condition was false
	CounterCondFault = 1 // condition could not be evaluated and counts as false
	CounterLost      = 2 // the ring was full
	CounterRecorded  = 3 // events that were completed, where rings are overwritten
	CountersPerSite  = 4 // a power of two

	CounterComputed = CounterLost // hits of a program that only changes maps, which loses no record
)

// Layout has the addresses of the shared memory in the traced process, for the code generator.
type Layout struct {
	Control  uint64 // address of the control page
	Counters uint64 // address of CPU 0's counters of this site
	// Recorded is the address of CPU 0's CounterRecorded, and Given that of its word that the site's programs leave for each other
	// (ir.Give): only in the kernel engine's memory.
	Recorded, Given uint64
	CounterStride   uint64 // bytes from one CPU's counters to the next CPU's; a power of two
	CounterStep     uint64 // bytes from one counter of a site to the next
	Rings           uint64 // address of CPU 0's ring
	RingStride      uint64 // bytes from one CPU's ring to the next's; a power of two
	RingSize        uint64 // bytes of data of a ring; a power of two
	// Variables is the address of the session's VariableCount variables (u64 each), which all sites and CPUs
	// share.
	Variables     uint64
	VariableCount uint32
	// Stacks is the address of the table of stacks; 0: there is none.
	Stacks uint64
	// Switch is the address of the byte by which the site is turned off; 0: it cannot be.
	Switch uint64
	SiteID uint32
	// Overwrite: the oldest sub-buffers are overwritten; see overwrite.go.
	Overwrite bool
	// Wait: a writer that finds the ring full waits for room up to until, while jalon lives. It needs ClockTSC.
	Wait bool
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
