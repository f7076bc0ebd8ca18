// Package kernel is the kernel engine of a session: it finds the sites of places
// of the kernel (and of programs, system-wide), compiles their conditions and
// collect lists to eBPF, loads, attaches and takes them back. Its records come out
// of rings like those of the in-process engine.
//
// What it leaves in the kernel hangs on file descriptors of jalon: when jalon ends,
// in whatever way, everything is gone.
//
// Import rule: see test/imports_test.go; kernel never imports process or session.
package kernel
