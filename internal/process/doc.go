// Package process controls a traced process by ptrace: start it or attach to it,
// stop the world, read and write memory and registers, run system calls in it,
// guard the faults of generated code, and let it go as it was.
//
// One goroutine, locked to its thread, makes every ptrace call (the kernel wants
// it so) and handles every event; callers hand it functions. What can happen to a
// thread and what is done about it is in the table of threads.Kind.
//
// Packages below it:
//
//	sys      the system calls of tracing, without decisions
//	memory   the memory of a process from outside
//	threads  the pure state machine of threads and their stops: what a report of wait(2)
//	         changes, and what is to be done about it
//	inject   system calls in a thread of the process
//	runcontrol  the pure state machine of run control
//
// Process is the public face; a tracer (parts.go) has the parts that do the work:
//
//	waiter        tracer.go                     takes reports from the kernel
//	driver        events.go, threads.go,        executes the effects of package threads
//	              restart.go
//	world         world.go, task.go             stops all threads, lets threads go on
//	signals       signals.go, redirect.go,      which signals are of generated code, and which
//	              crash.go, profile.go,         the program's
//	              clock.go
//	nesting       nesting.go                    handlers of signals that come faster than they return
//	dispositions  repair.go, actions.go         actions and masks of signals as the program has them
//	linker        modules.go                    modules that come and go
//	children      fork.go, clonechild.go,       what the process creates
//	              children.go, gains.go
//	handovers     handover.go                   a child gets a tracer of its own
//	starter, attacher, detacher                 start.go; attach.go, seize.go, sharers.go; detach.go
//
// Borrowed (borrow.go) is what can be done while one thread is stopped, and Stopped (stopped.go, traphandler.go, faulthandler.go, memfd.go, stacks.go) is what can be
// done while the world is stopped; deadman.go and the handlers are for when jalon dies.
//
// A process can be under run control (Config.Control): a debugger's stops, steps,
// breakpoints and watchpoints come on top of all that.
//
//	debugger      control.go, halt.go,          gives the machine of package runcontrol its events,
//	              signalcontrol.go, syscallstop.go  and executes its effects
//	stepper       step.go, step_amd64.go        what instructions do with the trap flag
//	exclusive     exclusive.go                  lets one thread run while the others are stopped:
//	                                            steps over breakpoints, the way out of generated code
//	breakpoints   trapcontrol.go, breakpoint.go, watchpoint.go, emulate_amd64.go
//
// Import rule: process imports its packages below, image, patch, procdir and ring.
package process
