// Package sys makes the system calls for tracing a process: ptrace(2), wait(2) and reads of /proc/TID. It
// makes no decisions. Each comment names the kernel's rules for the call; package process decides what a
// stop means and how to handle it.
//
// Rules for all ptrace requests:
//
//   - Requests must come from the thread that attached (the tracer's); from any other the kernel returns
//     ESRCH. Only PTRACE_SEIZE blocks, so no other request needs to yield the thread to Go's scheduler.
//   - All except PTRACE_SEIZE and PTRACE_INTERRUPT need a thread that is in a ptrace-stop.
//   - SIGKILL ends a ptrace-stop at any moment: every request may fail with ESRCH (see Gone).
//   - When the tracer's thread ends, the kernel detaches all its tracees and resumes them.
//
// The registers of a thread (Regs) are those of PTRACE_GETREGSET; regs_amd64.go describes how a system call
// is made and restarted by them.
//
// Import rule: sys imports the tables of processors and procdir.
package sys
