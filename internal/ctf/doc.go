// Package ctf is the format of recorded traces: CTF 1.8 or 2, as babeltrace2 and Trace Compass read it, and its reader. It makes
// packets of the records of rings, and events of packets. It does not know when packets are written and where: package record does.
//
// A trace is a directory:
//
//	metadata             the streams, and the fields of the events of each site: TSDL (CTF 1.8) or JSON (CTF 2), both from fieldClass
//	process-N, kernel-N  packets of events, one stream a ring of the engine in the process or of the kernel engine
//	state                packets of what events refer to: names of threads, stacks, and the state dump
//	jalon/schemas.json   the schemas of the sites (event.File): exact types and expressions, which the metadata cannot have
//	jalon/*.zst          files of packets that were compressed
//	jalon/summary.json   how the trace ended; absent if jalon was killed
//
// Viewers need only the first three. A trace that was rotated is a directory of such directories, each of them complete.
//
// A stream class has compact event heads of 4 bytes (5 bits of the id, 27 bits of the time), or of 6 if the session has many sites;
// larger ids, and times that differ by more, take 16 or 14 bytes. All times are nanoseconds of CLOCK_MONOTONIC, of which the offset to
// the wall clock is in the metadata. Everything is little-endian and packed: fields are aligned to bytes.
//
// Import rule: ctf imports ctype, debuginfo, event, lttng and ring only.
package ctf
