// Package inproc is the engine that runs hit programs as machine code inside a traced
// process, behind jumps that replace instructions of it. It knows nothing of a session's
// life, of output or of GDB: see package engine for the contract.
//
// An Engine is composed of parts. Each is a type with its own state, and knows only those
// parts that it needs:
//
//	report     what is reported to the caller and asked of it (report.go)
//	target     the process, as long as it runs the program that was looked at (target.go)
//	modules    the files of the process, and places in them (module.go, resolve.go)
//	sites      programs, their numbers, why some are not installed (sites.go)
//	planner    chooses how sites are reached; changes nothing (plan.go, code.go, text.go)
//	others     breakpoints of other tracers (foreign.go)
//	uprober    sites that the kernel is to reach (uprobe.go, gostack.go)
//	rooms      memory for code near modules, stubs of punned jumps (room.go, pun.go)
//	buffers    memory for records, counters and variables (buffers.go, machine.go)
//	compiler   the machine code of patches (generate.go)
//	pageGuard  pages kept free of other tracers' uprobes (guard.go, cover.go)
//	handlers   handlers of signals in the process, for when jalon is killed (handlers.go)
//	patches    what is in the process: putting back, finding by address (placed.go, patches.go,
//	           where.go)
//	tables     what the tracer must know when a thread faults or traps in our code (tables.go)
//	installer  the steps of an installation (install.go, moves.go)
//	remover    the steps of taking everything back (leave.go)
//	crashes    signals that need the program's own code (crash.go)
//	Callbacks  what the process's tracer asks, on its own goroutine (tracer.go)
//
// engine.go composes them; arm.go has the verbs of the contract, change.go what a debugger
// asks. site.go is a site before it is compiled; inspect.go and codestate.go are for
// `jalon list` and `jalon check`.
//
// Import rule: see test/imports_test.go; inproc never imports another engine.
package inproc
