// Package gdbstub is the server side of GDB's remote protocol: a state machine that
// turns packets and what happens to the target into replies and calls of Target. It
// does no I/O of its own.
//
// Import rule: gdbstub imports agentexpr, experiment and rsp only.
package gdbstub
