// Package bpf loads eBPF programs into the running kernel, attaches them and owns their buffer. Only this
// package uses bpf(2) and perf_event_open(2).
//
// The use of a program:
//
//	k, _ := bpf.Open()      // what can this kernel do: k.Features()
//	buf, _ := k.NewBuffer("ring", size)        // one shared array, buf.Memory()
//	prog, _ := k.Load(bpf.Program{...})     // verified once
//	link, _ := prog.Attach(bpf.Target{...}) // hits from here on
//	link.Close()                               // no hits any more; Attach again at will
//
// Each kind of place has a file attach_*.go and a row in the table of kind.go.
//
// # Nothing remains
//
// Everything belongs to file descriptors of this process: no object is pinned in a bpf file system and no
// probe is defined in tracefs (kprobe_events, uprobe_events). So nothing stays attached if jalon is killed.
// If a kernel offers probes only through tracefs (no "uprobe" under /sys/bus/event_source/devices),
// attaching is refused.
//
// # The value that a program returns
//
// A trace event (tracepoint:GROUP:NAME) is shared by all its perf users. The kernel passes a hit to them
// only if every program on the event returns an odd number (it combines the values bit by bit with 1). A
// Tracepoint program must return 1, or it takes hits from others; Gate does so on purpose. Probes of
// kprobe, uprobe and the counters belong to one descriptor, so the value affects no other user; 0 saves the
// rest of perf's work. The verifier requires 0 for fentry and fexit. The value of raw and typed tracepoints
// is ignored. Kind.Return returns the values.
//
// # The processes for which a program is called
//
// Only uprobes and the kinds of perf (profile, software, hardware) can be limited to a process. Tracepoints
// and kernel functions are hit by all processes of the machine, so the program must test the process
// itself.
//
// Import rule: bpf imports debuginfo/btf/raw and ring only.
package bpf
