package main

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/bpf"
)

// guestPlaces returns the places on kernel functions. The loop reads one byte of /dev/zero, which calls
// vfs_read(file, buf, count, pos).
func (b *bench) guestPlaces() []place {
	entry := func(kind, bkind string, t bpf.Target) place {
		return place{
			group:  group{title: kind + ":vfs_read", mode: "read", notes: []string{"condition: count > 4096 (false), count == 1 (true); values: count, pos."}},
			target: target(t),
			jalon:  kind + ":vfs_read", no: "count > 4096", yes: "count == 1", values: "count, pos",
			bpftrace: bkind + ":vfs_read", bno: "args->count > 4096", byes: "args->count == 1", bvalues: "args->count, args->pos",
		}
	}
	leave := func(kind, bkind, value string, t bpf.Target) place {
		return place{
			group:  group{title: kind + ":vfs_read", mode: "read", notes: []string{"condition: retval > 4096 (false), retval == 1 (true); values: retval, twice."}},
			target: target(t),
			jalon:  kind + ":vfs_read", no: "retval > 4096", yes: "retval == 1", values: "retval, retval",
			bpftrace: bkind + ":vfs_read", bno: value + " > 4096", byes: value + " == 1", bvalues: value + ", " + value,
		}
	}
	k := entry("kprobe", "kprobe", bpf.Target{Kind: bpf.Kprobe, Symbol: "vfs_read"})
	k.bno, k.byes, k.bvalues = "arg2 > 4096", "arg2 == 1", "arg2, arg3"
	k.event, k.fno, k.fyes, k.file = instanceName+"/vfs_read", "count > 4096", "count == 1", "kprobe_events"
	k.probe = defined("p:%s/vfs_read vfs_read count=%%dx:u64 pos=%%cx:u64")
	r := leave("kretprobe", "kretprobe", "retval", bpf.Target{Kind: bpf.Kretprobe, Symbol: "vfs_read"})
	r.event, r.fno, r.fyes, r.file = instanceName+"/vfs_read_ret", "ret > 4096", "ret == 1", "kprobe_events"
	r.probe = defined("r:%s/vfs_read_ret vfs_read ret=$retval:s64 again=$retval:s64")
	return []place{
		k, r,
		entry("fentry", "kfunc", bpf.Target{Kind: bpf.Fentry, Symbol: "vfs_read"}),
		leave("fexit", "kretfunc", "retval", bpf.Target{Kind: bpf.Fexit, Symbol: "vfs_read"}),
	}
}

// defined returns the line that defines a probe in the benchmark's group of ftrace.
func defined(format string) func() (string, error) {
	return func() (string, error) { return fmt.Sprintf(format, instanceName), nil }
}
