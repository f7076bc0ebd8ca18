// Package runcontrol is the state machine of a process under run control: single steps, also
// over displaced code, breakpoints and their verdicts, signals that are reported first,
// halts, and which stop is reported for which thread. It is pure: an event (a method of
// Machine) changes what is known of a thread, and gives effects for the driver (package
// process) to execute, in order. What an event needs to see of the thread is asked of a View,
// which changes nothing.
//
//	driver                                    machine
//	a trap ───────────► Int3, StepTrap, Watch  traps.go   is it ours, and what follows
//	a signal ─────────► Signal                 signals.go reported, delivered, or kept
//	a system call ────► Call                   calls.go
//	a caller's halt ──► Halted                 stops.go   which stop is reported, and when
//	a caller's resume ► Prepare, Release       resume.go
//	it goes on ───────► Go                     steps.go   how, and what that step is
//	one thread alone ─► Exclude, ...           exclusive.go
//	     ▲                      │
//	     └─ effects, in order ◄─┘
//
// An effect marked with * in the table of Op may let the thread run inside or ask the caller;
// it is followed by nothing, or by Then, whose event looks at everything afresh.
//
// Import rule: runcontrol imports threads, and sys for its types.
package runcontrol
