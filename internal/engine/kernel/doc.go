// Package kernel is the engine that runs hit programs as eBPF in the kernel. A Host knows
// the running kernel: it finds the sites of places of the kernel (and of programs,
// system-wide), says what names mean there and what addresses are called. An Engine on it
// implements package engine: it compiles programs to eBPF, loads and attaches them and
// takes them back. Records come out of rings like those of the in-process engine.
//
// What it leaves in the kernel is bound to file descriptors of jalon: when jalon ends,
// in whatever way, everything is gone.
//
// Files: host.go (the Host and its parts); facts.go, files.go, traits.go, marker.go,
// pidns.go (what is read of the kernel and of files, when it is asked for); resolve*.go,
// boundary.go, emulated.go, uretprobe.go (places); way.go, compile.go, scopes.go (names);
// point.go (sites and attach points); engine.go, load.go, attach.go, listener.go, gate.go (programs);
// symbol.go, stack.go (names of addresses); describe.go (for lists).
//
// Import rule: see test/imports_test.go; kernel never imports process, session or another
// engine.
package kernel
