// Package inproc is the engine that runs hit programs as machine code inside a traced
// process, behind jumps that replace instructions of it. It knows nothing of a session's
// life, of output or of GDB: see package engine for the contract.
//
// Files: engine.go (options, state), arm.go (load, arm, remove), install.go (the steps of
// an installation), pun.go and uprobe.go (sites that a plain jump does not reach),
// guard.go and cover.go (pages kept free of others' uprobes), foreign.go (others'
// breakpoints), threads.go (threads that must be moved; taking everything back),
// crash.go, traps.go and clock.go (signals), tables.go and tracer.go (what the tracer
// must know when a thread faults, traps or forks in our code), change.go and where.go
// (what a debugger asks), module.go, openable.go, resolve.go, site.go, symbol.go,
// unwind.go and tls.go (the process's files), inspect.go and codestate.go (for `jalon
// list` and `jalon check`).
//
// Import rule: see test/imports_test.go; inproc never imports another engine.
package inproc
