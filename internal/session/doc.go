// Package session implements the life of a tracing session: it resolves places to sites, compiles sites to hit
// programs, runs them in engines, drains and prints events, and removes everything at the end.
//
// A Session is composed of parts:
//
//	subject         the process that the session is about (subject.go)
//	arming.Process  tracepoints in the process
//	arming.Kernel   tracepoints of the kernel engine
//	arming.Records  what the programs record
//	names           the names of addresses in events (names.go)
//	state           the rules of the life, a pure state machine (control.go)
//	post            what other goroutines report and ask (post.go, request.go)
//	report          warnings, the log, and whether the user has ended the session (report.go)
//
// session.go carries out what the rules say. engines.go constructs the engines; no other
// file names one.
//
// Import rule: session may import every package below it; cmd imports session.
package session
