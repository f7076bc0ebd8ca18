// Package session implements a tracing session: it resolves places to sites, compiles sites to hit
// programs, runs them in engines, drains and prints events, and removes everything at the end.
//
// A Session is composed of parts:
//
//	subject         the process of the session (subject.go)
//	arming.Process  tracepoints in the process
//	arming.Kernel   tracepoints of the kernel engine
//	arming.Records  the records of the programs
//	names           the names of addresses in events (names.go)
//	state           the rules of the session's life, a pure state machine (control.go)
//	post            events and requests of other goroutines (post.go, request.go)
//	report          warnings, the log, and whether the user has ended the session (report.go)
//
// session.go performs the effects of the rules. Only engines.go constructs and names engines.
//
// Import rule: session may import every package below it; cmd imports session.
package session
