package bpf

import (
	"fmt"
	"strings"

	"github.com/cilium/ebpf/features"
)

// Fact is one feature that the kernel has or lacks.
type Fact struct {
	Name   string // "fentry"
	OK     bool
	Text   string // a sentence for `jalon check`
	Remedy string // if not OK; "" if there is none
}

// Features describes what this kernel and this process can do. Each Fact was found by an attempt, not by the
// version. Two attempts take long and are made on request: Kernel.Typed and Kernel.Fentry.
type Features struct {
	Major, Minor, Patch int    // of the kernel
	Lockdown            string // "none", "integrity", "confidentiality"; "" if not known
	Unprivileged        int    // kernel.unprivileged_bpf_disabled: 0 allowed, 1 and 2 not; -1 not known
	Caps                uint64 // effective capabilities of this process, a bit each
	Seccomp             bool   // a seccomp filter is on
	Tracefs             string // its directory; "" when not mounted

	Permission   Fact  // CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN
	Load         Fact  // a program can be loaded at all
	Atomics      Fact  // cmpxchg on memory (Linux 5.12): what the buffers need
	BTF          Fact  // the kernel describes its types
	TpBTF        Fact  // typed tracepoints
	RawCookie    Fact  // cookies of raw and typed tracepoints (Linux 6.10)
	Fentry       Fact  // fentry and fexit attach
	Kprobe       Fact  // kprobes by file descriptor
	KprobeMulti  Fact  // many in one call
	Uprobe       Fact  // uprobes by file descriptor
	UprobeMulti  Fact  // many in one call
	PerfLink     Fact  // links on perf events, with cookies (Linux 5.15)
	V4           Fact  // instruction set version 4 (Linux 6.6)
	Sleepable    Fact  // uprobe programs may wait for pages (Linux 6.0)
	RdonlyCast   Fact  // kernel memory read directly through bpf_rdonly_cast(p, 0)
	Counters     Fact  // hardware counters (a PMU)
	RdonlyCastID int32 // BTF id of the kfunc, 0 when RdonlyCast is not OK
}

// Facts lists the features in the order for display. If the process may not load programs, features of programs
// are unknown.
func (k *Kernel) Facts() []Fact {
	f := &k.features
	if !f.Load.OK {
		return []Fact{f.Permission, f.Load, f.BTF, f.tracefs(), f.lockdown(), f.unprivileged(), f.Kprobe, f.Uprobe, f.Counters}
	}
	return []Fact{
		f.Permission, f.Load, f.Atomics, f.BTF, f.tracefs(), f.lockdown(), f.unprivileged(),
		k.Typed(), f.RawCookie, f.PerfLink, k.Fentry(), f.Kprobe, f.KprobeMulti, f.Uprobe, f.UprobeMulti,
		f.Sleepable, f.V4, f.RdonlyCast, f.Counters,
	}
}

// Version is the kernel's version as "6.12.95".
func (f *Features) Version() string { return fmt.Sprintf("%d.%d.%d", f.Major, f.Minor, f.Patch) }

// AtLeast compares the kernel's version.
func (f *Features) AtLeast(major, minor int) bool {
	return f.Major > major || f.Major == major && f.Minor >= minor
}

// HasCap reports whether the process has a capability, given by its number.
func (f *Features) HasCap(n int) bool { return f.Caps&(1<<n) != 0 }

// missingCaps returns the missing capabilities, or "". CAP_SYS_ADMIN includes both, as before Linux 5.8.
func (f *Features) missingCaps() string {
	if f.HasCap(capSysAdmin) {
		return ""
	}
	var lacks []string
	if !f.HasCap(capBPF) {
		lacks = append(lacks, "CAP_BPF")
	}
	if !f.HasCap(capPerfmon) {
		lacks = append(lacks, "CAP_PERFMON")
	}
	return strings.Join(lacks, " and ")
}

// readHost reads the facts that are in files.
func (f *Features) readHost() {
	if v, err := features.LinuxVersionCode(); err == nil {
		f.Major, f.Minor, f.Patch = int(v>>16), int(v>>8&0xff), int(v&0xff)
	}
	status := readTrim("/proc/self/status")
	f.Caps = parseCaps(statusField(status, "CapEff"))
	f.Seccomp = statusField(status, "Seccomp") == "2"
	f.Lockdown = parseLockdown(readTrim("/sys/kernel/security/lockdown"))
	f.Unprivileged = -1
	if _, err := fmt.Sscan(readTrim("/proc/sys/kernel/unprivileged_bpf_disabled"), &f.Unprivileged); err != nil {
		f.Unprivileged = -1
	}
	f.Tracefs = findTracefs()
	lacks := f.missingCaps()
	f.Permission = Fact{Name: "permission", OK: lacks == "", Text: "jalon has the capabilities for tracing the kernel"}
	if lacks != "" {
		f.Permission.Text, f.Permission.Remedy = "jalon lacks "+lacks, remedyRoot
	}
}

func (f *Features) tracefs() Fact {
	if f.Tracefs == "" {
		if dir := mountedTracefs(); dir != "" {
			return Fact{"tracefs", false, "tracefs is mounted at " + dir + ", for root only", "run jalon as root, or: mount -o remount,gid=GROUP " + dir}
		}
		return Fact{"tracefs", false, "tracefs is not mounted: no trace events by their records", "mount -t tracefs tracefs /sys/kernel/tracing"}
	}
	return Fact{"tracefs", true, "tracefs is mounted at " + f.Tracefs, ""}
}

func (f *Features) lockdown() Fact {
	switch f.Lockdown {
	case "confidentiality":
		return Fact{"lockdown", false, "the kernel is locked down (confidentiality): kernel memory cannot be read, no kprobes", "boot with lockdown=integrity or lockdown=none"}
	case "":
		return Fact{"lockdown", true, "lockdown is not known (no lockdown module, or securityfs not mounted)", ""}
	}
	return Fact{"lockdown", true, "lockdown is " + f.Lockdown + ": tracing is allowed", ""}
}

func (f *Features) unprivileged() Fact {
	texts := map[int]string{
		-1: "whether eBPF is open to users is not known",
		0:  "eBPF is open to every user, but tracing needs capabilities all the same",
		1:  "eBPF is closed to users without CAP_BPF until the next boot, as is usual",
		2:  "eBPF is closed to users without CAP_BPF, as is usual",
	}
	return Fact{"unprivileged eBPF", true, texts[f.Unprivileged], ""}
}
