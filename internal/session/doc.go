// Package session is the life of a tracing session: places become sites, sites become
// hit programs, engines run them, events are drained and printed, and everything is
// taken back at the end.
//
// Files: session.go (the life), control.go (its rules, a state machine), arm.go (places
// -> programs -> the in-process engine), compile.go (one site -> one program), kernel.go
// (the kernel engine), uprobe.go (sites that change the engine), tracer.go (what the
// process's tracer asks), request.go (what other goroutines ask), result.go.
//
// Import rule: session may import every package below it; cmd imports session.
package session
