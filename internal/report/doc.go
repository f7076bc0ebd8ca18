// Package report selects and computes over the events of recorded traces. A filter, a list of fields, the value of a histogram are C
// expressions, in the language of conditions: they are compiled as for a place in a program whose variables are the recorded fields, and
// run on each record.
//
//	reader.go     the events of a query: filter, fields
//	scope.go      what names mean: the fields of a schema, $tid, $comm, ...
//	memory.go     the record and what it has of the program's memory, as memory of the expressions
//	program.go    compiles the expressions for a schema and runs them
//	text*.go, stat.go, hist.go, latency.go, flame.go, timeline.go   the reports
//	sched.go, critical*.go   what threads did, by the kernel's events; the critical path
//
// What a trace does not have is unavailable, never zero: an expression that needs it gives no value, and these events are counted.
//
// Import rule: report imports ctf, ctype, debuginfo, event, format, image, ir, ir/eval, lang, script/printf, script/show and sema only.
package report
