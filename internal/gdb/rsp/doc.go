// Package rsp is GDB's remote serial protocol as a codec: frames, typed packets of
// both sides, the XML documents and the trace files that go with it. It knows no
// process, no tracepoint and no server; the only system calls are those of Listen
// and of the connection that it accepts.
//
// Bytes become frames in a Decoder, frames become acknowledged payloads in a Link,
// payloads become structs in Parse (what GDB sends) and ParseReply (what a stub
// answers to a given packet); Append turns every struct back into its payload.
//
// The source is the GDB manual, appendix "GDB Remote Serial Protocol"; where the
// manual leaves a detail open, GDB 13.1 with gdbserver 13.1 decide, and a recorded
// session of the two is a test. All numbers of the protocol are hexadecimal without
// prefix.
//
// Imports nothing of jalon.
package rsp
