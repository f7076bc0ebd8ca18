// Package experiment is GDB's trace experiment: the tracepoints that GDB defines,
// the trace state variables, the run, the buffer of trace frames and what GDB asks
// of it. It is pure: what runs at the sites is behind the interface Engine, and the
// file that QTSave writes behind a function.
//
// # Life of an experiment
//
//	QTinit     forgets tracepoints, variables, frames
//	QTDP ...   define tracepoints (QTDPsrc: their source), QTDV variables
//	QTStart    arms them; the buffer is empty
//	           Tick, and every question about frames, drains the engine
//	QTStop     or: a pass count, a full buffer, a process that has ended, GDB gone
//	QTFrame    selects a frame: registers and memory are then those of it
//
// # Registers of a frame
//
// The registers of a hit become one R block in the order of the target description.
// That format, in trace files and in qTBuffer, has no marks for registers that were
// not collected: they are zero there, as from gdbserver. The buffer itself remembers
// which ones are known, so that the others are reported to a live GDB as unavailable.
// The pc of a hit is always known: it is the tracepoint's address. That of a single
// step is known where the engine says it (Hit.PC) or rip was collected.
//
// # Files
//
//	experiment.go  Experiment: its parts, in the order in which they know each other
//	dispatch.go    the table of packets: each part has its rows, with what they are for
//	base.go        what all parts use; engine.go: the interface of the engines
//	catalogue.go   tracepoints; define.go: their definitions
//	variable.go    trace state variables; values.go: their values
//	run.go         the run; collect.go: a hit becomes a frame; stops.go: runs that end at the site
//	buffer.go      frames; form.go: what their bytes are; encode.go: as GDB reads them
//	frame.go       the selected frame; read.go: all of them, in pieces; save.go: a file of them
//	status.go      what happened; settings.go; upload.go: what a new GDB asks for
//
// Import rule: experiment imports agentexpr and rsp only.
package experiment
