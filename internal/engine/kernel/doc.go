// Package kernel is the engine that runs hit programs as eBPF in the kernel. A Host represents the running
// kernel: it resolves places of the kernel (and of programs, system-wide), and the names and addresses in
// them. An Engine on it implements package engine: it compiles programs to eBPF, loads, attaches and
// removes them. Records are in rings like those of the in-process engine.
//
// All its objects in the kernel belong to file descriptors of jalon: when jalon ends, in whatever way, the
// kernel removes them.
//
// Files: host.go (the Host and its parts); facts.go, files.go, traits.go, marker.go, pidns.go (information
// about the kernel and files, read on first use); resolve*.go, boundary.go, emulated.go, uretprobe.go
// (places); way.go, compile.go, scopes.go (names); point.go (sites and attach points); engine.go, load.go,
// attach.go, listener.go, gate.go (programs); symbol.go, stack.go (names of addresses); describe.go (for
// lists).
//
// Import rule: see test/imports_test.go; kernel never imports process, session or another engine.
package kernel
