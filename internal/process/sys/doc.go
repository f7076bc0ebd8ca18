// Package sys makes the system calls by which a process is traced: ptrace(2), wait(2) and
// reads of /proc/TID. It decides nothing. Each comment names the kernel's rules for the call;
// what a stop means and what is done about it is package process's.
//
// Rules that hold for all of ptrace:
//
//   - Requests must come from the thread that attached (the tracer's); the kernel answers any
//     other with ESRCH. None blocks but PTRACE_SEIZE, so none gives the thread to Go's scheduler.
//   - All but PTRACE_SEIZE and PTRACE_INTERRUPT want a thread that is in a ptrace-stop.
//   - SIGKILL ends a ptrace-stop at any moment: every request may fail with ESRCH (see Gone).
//   - When the tracer's thread ends, the kernel detaches all its tracees by letting them run.
//
// The registers of a thread (Regs) are what PTRACE_GETREGSET gives; regs_amd64.go knows how a
// system call is made and restarted in terms of them.
//
// Import rule: sys imports the tables of processors and nothing else of jalon.
package sys
