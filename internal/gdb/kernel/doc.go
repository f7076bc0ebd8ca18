// Package kernel is the running kernel as GDB sees it through jalon gdbserver
// --kernel: a target (package stub) that is never stopped, and an engine (package
// experiment) whose tracepoints are programs of eBPF.
//
//	target.go    the target: one pseudo thread, no run control
//	memory.go    the kernel's memory; kcore.go: as /proc/kcore has it
//	monitor.go   GDB's monitor commands
//	engine.go    the engine: runs, variables, counts
//	site.go      a tracepoint: its programs, attached and detached
//	exchange.go  programs that decide the end of the run, in the place of others
//	registers.go what registers are at a static tracepoint
//	records.go   the sink of the drain: records become hits, pairs one hit
//	markers.go   static tracepoint markers
//
// docs/gdb-kernel.md is the user's page.
//
// Import rule: see test/imports_test.go.
package kernel
