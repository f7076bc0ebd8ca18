// Package stub is the server side of GDB's remote protocol: a state machine that
// turns packets and what happens to the target into replies and calls of Target. It
// does no I/O of its own, but for Serve.
//
//	event.go        what a Machine is given, and what it wants done
//	machine.go      Machine: events in, wishes out; its parts, in the order in which they know each other
//	dispatch.go     the table of packets: each part has its rows, with what they are for
//	core.go         what all parts use
//	backlog.go      stops of which GDB does not know yet
//	roster.go       threads; threads.go: lists of them
//	breakpoints.go  Z and z
//	stopreply.go    stops as GDB reads them; signals.go: numbers of signals
//	stops.go        which stop GDB gets, and when; halt.go: halts at its request
//	resume.go       vCont, c, s
//	settings.go     what GDB wants to be reported, and how
//	unattended.go   the target goes on without GDB
//	launch.go       how programs are started; processes.go: attach, detach, kill
//	session.go      qSupported and what else begins a session; disabled.go: without some packets
//	registers.go, memory.go, objects.go, files.go, monitor.go
//	target.go       what is controlled; experiment.go: trace experiments
//	serve.go        the server: connections, time
//
// Import rule: stub imports agentexpr, experiment and rsp only.
package stub
