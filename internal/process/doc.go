// Package process controls a traced process by ptrace: start it or attach to it,
// stop the world, read and write memory and registers, run system calls in it,
// guard the faults of generated code, and let it go as it was.
//
// One goroutine, locked to its thread, makes every ptrace call (the kernel wants
// it so) and answers every event; callers hand it functions. What can happen to a
// thread and what is done about it stands in the table of events.go.
//
// Rooms: process.go (the public face), start.go, attach.go, detach.go, tracer.go
// (the loop), events.go, signals.go, fork.go (the answers), world.go and
// stopped.go (stop the world and what one can do then), inject.go (system calls
// in the process), escape.go, slack.go (what they run from), seccomp.go, clock.go
// (what a program forbids itself), restart.go (calls that a stop interrupts), repair.go (signals
// that the program blocks), modules.go (dlopen), deadman.go and traphandler.go
// (when jalon dies), memory.go, maps.go, procfs.go, ptrace.go (the bare kernel).
//
// A process can be under run control (Config.Control): a debugger's stops, steps,
// breakpoints and watchpoints come on top of all that. Rooms: control.go (what a
// debugger sees), halt.go (halt and resume), signalcontrol.go, trapcontrol.go,
// syscallstop.go (its answers to events), alone.go (what a thread does while the
// others stand: steps over breakpoints, the way out of generated code), emulate.go,
// step.go, breakpoint.go, watchpoint.go, registers.go, access.go, children.go.
//
// Import rule: process imports ring (for its geometry) and nothing else of jalon.
package process
