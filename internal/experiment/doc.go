// Package experiment is GDB's trace experiment: the tracepoints that GDB defines,
// the trace state variables, the run, the buffer of trace frames and what GDB asks
// of it. It is pure: what runs at the sites is behind the interface Engine.
//
// Import rule: experiment imports agentexpr and rsp only.
package experiment
