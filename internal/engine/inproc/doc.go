// Package inproc is the engine that runs hit programs as machine code inside a traced process. Jumps to
// this code replace instructions of the program. The engine does not depend on sessions, output or GDB: see
// package engine for the contract.
//
// An Engine is composed of parts. Each is a type with its own state, and uses only the parts that it needs:
//
//	report     callbacks of the caller (report.go)
//	target     the process, while it runs the program whose code was read (target.go)
//	modules    the files of the process, and places in them (module.go, resolve.go)
//	sites      programs, their numbers, why some are not installed (sites.go)
//	planner    chooses the tactics of sites; changes nothing (plan.go, code.go, text.go)
//	others     breakpoints of other tracers (foreign.go)
//	uprober    sites for uprobes of the kernel (uprobe.go, gostack.go)
//	codeSpace  memory for code near modules, stubs of punned jumps (codespace.go, pun.go)
//	buffers    memory for records, counters and variables (buffers.go, machine.go)
//	walks      memory for following stacks at the hit (walks.go)
//	compiler   the machine code of patches (generate.go)
//	pageGuard  pages where other tracers' uprobes are prevented (guard.go, cover.go)
//	handlers   handlers of signals in the process, for when jalon is killed (handlers.go)
//	patches    the patches in the process: restoring, finding by address (placed.go,
//	           patches.go, where.go)
//	tables     addresses that the tracer needs when a thread faults or traps in jalon's
//	           code (tables.go)
//	installer  the steps of an installation (install.go, moves.go)
//	remover    the steps of removing everything (leave.go)
//	crashes    signals that need the program's own code (crash.go)
//	Callbacks  calls by the process's tracer, on its own goroutine (tracer.go)
//
// engine.go composes them; arm.go implements the contract, change.go the methods for debuggers. site.go has
// sites that are not compiled yet; inspect.go and codestate.go are for `jalon list` and `jalon check`.
//
// Import rule: see test/imports_test.go; inproc never imports another engine.
package inproc
