// Package record writes traces to disk: it is the sink of a session that records. The session's goroutine makes packets of the events
// of each ring; a goroutine of its own writes them, so that a slow disk delays neither the session nor the program. What a full disk, a
// full queue and the limits of the user do is decided here; package ctf has the format.
//
// Import rule: record imports ctf, ctype, debuginfo, drain, event, lttng and statedump only.
package record
