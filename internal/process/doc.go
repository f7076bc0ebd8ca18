// Package process controls a traced process by ptrace: start it or attach to it,
// stop the world, read and write memory and registers, run system calls in it,
// guard the faults of generated code, and let it go as it was.
//
// One goroutine, locked to its thread, makes every ptrace call (the kernel wants
// it so) and handles every event; callers hand it functions. What can happen to a
// thread and what is done about it is in the table of threads.Kind.
//
// Packages below: sys (the system calls of tracing, without decisions), memory (the memory
// of a process from outside), threads (the pure state machine of threads and their stops:
// what a report of wait(2) changes, and what is to be done about it).
//
// Files: process.go (the public face), start.go, attach.go, detach.go, tracer.go
// (the loop), events.go (executes the effects of package threads), signals.go, fork.go,
// world.go and stopped.go (stop the world and what one can do then), redirect.go (a thread is
// moved before its stop is taken), inject.go (system calls in the process), stub.go,
// recoverystub_amd64.go (what they run from), seccomp.go, clock.go (what a program forbids
// itself), restart.go (calls that a stop interrupts), repair.go (signals that the program
// blocks), modules.go (dlopen), deadman.go and traphandler.go (when jalon dies).
//
// A process can be under run control (Config.Control): a debugger's stops, steps,
// breakpoints and watchpoints come on top of all that. Files: control.go (what a
// debugger sees), halt.go (halt and resume), signalcontrol.go, trapcontrol.go,
// syscallstop.go (its handlers of events), exclusive.go (what a thread does while the
// others are stopped: steps over breakpoints, the way out of generated code), emulate_amd64.go,
// step.go, breakpoint.go, watchpoint.go, registers.go, access.go, children.go.
//
// Import rule: process imports its packages below, patch, procdir and ring.
package process
