package ring

import "sync/atomic"

// A thread may use restartable sequences where the kernel knows its struct rseq (it is registered) and no other thread
// uses the same one. Neither can be seen in that struct: before registration it has the contents of a thread on
// CPU 0, a clone without a thread pointer of its own (vfork, posix_spawn) finds that of its parent, and a program may
// set the thread pointer to memory that has no struct rseq. So the tracer lists the thread pointers (fs bases) for which
// both is known, and a hit program first looks for its own:
//
//	+(thread >> 12 & (RegisteredThreads-1)) * 8   u64 thread pointer; 0: none
//
// Thread pointers of threads with stacks one after another fall into different places, because with a guard page
// the distance is an odd number of pages. One that finds its place taken is not listed: its thread uses
// the protocol with lock, as do all threads that the tracer has not looked at yet.
//
// The tracer, which stops a new thread before its first instruction:
//  1. removes the thread pointer that the new thread has, if it is listed: two threads use it. The other
//     thread is in the system call that creates this one, or in code of its own where it reads the table again
//     at the next hit. It may be in a sequence then, if its thread pointer was given away by a third thread:
//     such a program has two threads that write to the same thread-local data anyway.
//  2. adds it, with the thread stopped, when the kernel reports its struct at RseqCPU (PTRACE_GET_RSEQ_CONFIGURATION)
//     and no other thread has the same thread pointer.
//  3. removes it when the thread ends, before the program can use its memory again.
const (
	RegisteredThreads = 4096 // a power of two
	RegisteredSize    = 8 * RegisteredThreads
	// RegisteredShift is what the low bits of a thread pointer are dropped by.
	RegisteredShift = 12
)

// Register lists a thread pointer. It reports false where there is no table or its place is taken.
func (s *Shared) Register(thread uint64) bool {
	slot := s.registered(thread)
	return slot != nil && thread != 0 && (atomic.CompareAndSwapUint64(slot, 0, thread) || atomic.LoadUint64(slot) == thread)
}

// Unregister removes a thread pointer, if it is listed.
func (s *Shared) Unregister(thread uint64) {
	if slot := s.registered(thread); slot != nil && thread != 0 {
		atomic.CompareAndSwapUint64(slot, thread, 0)
	}
}

func (s *Shared) registered(thread uint64) *uint64 {
	table := s.g.registered()
	if table == 0 {
		return nil
	}
	return s.word(table + 8*(thread>>RegisteredShift&(RegisteredThreads-1)))
}
