// Package session is the life of a tracing session in a process: places become
// sites, sites become code, the code is patched in with the world stopped, events
// are drained and printed, and everything is taken back at the end.
//
// Rooms: spec.go (what the user asked), module.go (what is mapped where),
// resolve.go (places -> sites), compile.go (sites -> hit programs), install.go
// (hit programs -> patched code), tables.go (what the tracer must know when a
// thread faults or traps), drain.go (ring -> events -> sink), control.go (the
// state machine), session.go (its effects).
//
// Import rule: session may import every package below it; cmd imports session.
package session
