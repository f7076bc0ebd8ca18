// Package stub is the server side of GDB's remote protocol: a state machine that
// turns packets and what happens to the target into replies and calls of Target. It
// does no I/O of its own.
//
// Import rule: stub imports agentexpr, experiment and rsp only.
package stub
