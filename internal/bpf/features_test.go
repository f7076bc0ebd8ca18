package bpf

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFeatures compares the facts with the kernel's version and with other files.
func TestFeatures(t *testing.T) {
	k := openKernel(t)
	f := k.Features()
	var uts unix.Utsname
	check(t, unix.Uname(&uts))
	release := unix.ByteSliceToString(uts.Release[:])
	if !strings.HasPrefix(release, fmt.Sprintf("%d.%d.", f.Major, f.Minor)) {
		t.Errorf("version %s, uname says %s", f.Version(), release)
	}
	_, err := os.Stat("/sys/kernel/btf/vmlinux")
	for _, tc := range []struct {
		fact Fact
		want bool
	}{
		{f.Load, true},
		{f.Atomics, true},
		{f.Permission, true},
		{f.BTF, err == nil},
		{k.Typed(), err == nil},
		{f.RawCookie, f.AtLeast(6, 10)},
		{f.PerfLink, f.AtLeast(5, 15)},
		{f.V4, f.AtLeast(6, 6)},
		{f.UprobeMulti, f.AtLeast(6, 6)},
		{f.RdonlyCast, err == nil && f.AtLeast(6, 17)},
		{f.Uprobe, true},
	} {
		if tc.fact.OK != tc.want {
			t.Errorf("%s on %s: %v, want %v (%s)", tc.fact.Name, f.Version(), tc.fact.OK, tc.want, tc.fact.Text)
		}
	}
	if f.RdonlyCast.OK != (f.RdonlyCastID != 0) {
		t.Errorf("direct reads %v, id %d", f.RdonlyCast.OK, f.RdonlyCastID)
	}
	names := map[string]bool{}
	for _, fact := range k.Facts() {
		t.Logf("%-24s %-5v %s; %s", fact.Name, fact.OK, fact.Text, fact.Remedy)
		if fact.Name == "" || fact.Text == "" || names[fact.Name] {
			t.Errorf("incomplete or repeated: %+v", fact)
		}
		if fact.OK && fact.Remedy != "" {
			t.Errorf("a remedy for a feature that is OK: %+v", fact)
		}
		names[fact.Name] = true
	}
}

func TestMissingCaps(t *testing.T) {
	for caps, want := range map[uint64]string{
		0:                                "CAP_BPF and CAP_PERFMON",
		1 << capBPF:                      "CAP_PERFMON",
		1 << capPerfmon:                  "CAP_BPF",
		1<<capPerfmon | 1<<capBPF:        "",
		1 << capSysAdmin:                 "",
		parseCaps("000001ffffffffff"):    "",
		parseCaps("not a number"):        "CAP_BPF and CAP_PERFMON",
		parseCaps("0000000000000000000"): "CAP_BPF and CAP_PERFMON",
	} {
		if got := (&Features{Caps: caps}).missingCaps(); got != want {
			t.Errorf("%#x: %q, want %q", caps, got, want)
		}
	}
}

// TestExplain explains errors of other kernels and other states than this one's.
func TestExplain(t *testing.T) {
	root := Features{Caps: 1 << capSysAdmin}
	for _, tc := range []struct {
		f    Features
		err  error
		a    attempt
		want string
	}{
		{Features{}, unix.EPERM, attempt{kind: RawTracepoint}, "op: no permission: jalon lacks CAP_BPF and CAP_PERFMON; " + remedyRoot},
		{Features{Caps: 1 << capBPF}, unix.EACCES, attempt{kind: Tracepoint}, "op: no permission: jalon lacks CAP_PERFMON; " + remedyRoot},
		{
			Features{Caps: 1 << capSysAdmin, Lockdown: "confidentiality"},
			unix.EPERM,
			attempt{kind: Kprobe},
			"op: the kernel is locked down (confidentiality): it gives no kernel memory to eBPF and allows no kprobes; boot with lockdown=integrity or lockdown=none (Secure Boot may set it)",
		},
		{
			Features{Caps: 1 << capSysAdmin, Seccomp: true},
			unix.EPERM,
			attempt{kind: Uprobe},
			"op: not permitted although the capabilities are there: a seccomp filter is on (a container?); run jalon outside the container, or allow bpf and perf_event_open in its seccomp profile",
		},
		{root, unix.EPERM, attempt{kind: Uprobe}, "op: not permitted although the capabilities are there (a security module, or another user namespace); see the kernel's audit log; run jalon in the initial user namespace"},
		{root, errNoType, attempt{kind: Fentry}, "op: this kernel has no type information (BTF, /sys/kernel/btf/vmlinux); use rawtracepoint: or tracepoint: places, or a kernel built with CONFIG_DEBUG_INFO_BTF"},
		{root, unix.EBUSY, attempt{kind: Fentry}, "op: another tracer or a live patch holds this function; end the other tracer"},
		{root, unix.EINVAL, attempt{kind: Kprobe}, "op: the kernel does not allow a probe here (code that a probe itself uses, a jump label, or not within a function); probe its caller, or another instruction"},
		{root, unix.EILSEQ, attempt{kind: Kprobe}, "op: the address is not the first byte of an instruction; see the function's disassembly"},
		{root, unix.EADDRNOTAVAIL, attempt{kind: Kprobe}, "op: there are several functions of this name; name one by its address (*ADDR)"},
		{root, errNoTracefs, attempt{kind: Tracepoint}, "op: tracefs is not mounted; mount -t tracefs tracefs /sys/kernel/tracing"},
		{root, errNoProbePMU, attempt{kind: Uprobe}, "op: this kernel has no uprobes by file descriptor (Linux 4.17); trace inside the process (uprobe: without --all)"},
		{root, unix.EMFILE, attempt{}, "op: jalon may open no more files; raise the limit: ulimit -n"},
		{root, unix.ENOMEM, attempt{}, "op: the kernel has no memory for it; a smaller buffer, or a larger memory limit of the control group"},
		{root, unix.ENOSYS, attempt{}, "op: the kernel has no such system call; use a kernel with CONFIG_BPF_SYSCALL and CONFIG_PERF_EVENTS"},
		{root, unix.EXDEV, attempt{}, "op: invalid cross-device link"},
	} {
		k := &Kernel{features: tc.f}
		tc.a.op, tc.a.target = "op", &Target{}
		e := k.explain(tc.err, &tc.a)
		if e.Error() != tc.want {
			t.Errorf("got  %s\nwant %s", e, tc.want)
		}
	}
}

// TestUnprivileged drops the capabilities in a child and tries all operations.
func TestUnprivileged(t *testing.T) {
	out := runChild(t, "-unprivileged")
	for _, want := range []string{
		"load: no permission: jalon lacks CAP_BPF and CAP_PERFMON; " + remedyRoot,
		"buffer: no permission: jalon lacks CAP_BPF and CAP_PERFMON; " + remedyRoot,
		"fact: jalon lacks CAP_BPF and CAP_PERFMON; " + remedyRoot,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("missing: %s\nin:\n%s", want, out)
		}
	}
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{"none [integrity] confidentiality": "integrity", "[none] integrity": "none", "": "", "[": "", "none]": ""} {
		if got := parseLockdown(in); got != want {
			t.Errorf("lockdown %q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]uint{"config:0": 0, "config:32-63": 32, "": 0, "config:64": 0, "config:-": 0} {
		if got := parseFormat(in); got != want {
			t.Errorf("format %q: %d, want %d", in, got, want)
		}
	}
	for in, want := range map[string]string{"0": "[0]", "0-2,5\n": "[0 1 2 5]", "": "bad", "2-1": "bad", "-1": "bad", "0-99999": "bad", "0,,1": "bad"} {
		got, err := parseCPUs(in)
		text := fmt.Sprint(got)
		if err != nil {
			text = "bad"
		}
		if text != want {
			t.Errorf("CPUs %q: %s, want %s", in, text, want)
		}
	}
	status := "Name:\tx\nCapEff:\t000001ffffffffff\nSeccomp:\t2\n"
	if statusField(status, "CapEff") != "000001ffffffffff" || statusField(status, "Seccomp") != "2" || statusField(status, "Cap") != "" {
		t.Error("fields of a status file")
	}
}

func FuzzHostFiles(f *testing.F) {
	f.Add("0-3,8")
	f.Add("none [integrity] confidentiality")
	f.Add("config:32-63")
	f.Add("CapEff:\t1ff\n")
	f.Fuzz(func(t *testing.T, text string) {
		if cpus, err := parseCPUs(text); err == nil && len(cpus) == 0 {
			t.Errorf("no CPU without error: %q", text)
		}
		if n := parseFormat(text); n > 63 {
			t.Errorf("bit %d", n)
		}
		parseLockdown(text)
		parseCaps(statusField(text, "CapEff"))
	})
}

func TestTargetText(t *testing.T) {
	for _, tc := range []struct {
		target Target
		want   string
	}{
		{Target{Kind: RawTracepoint, Name: "sched_switch"}, "rawtracepoint:sched_switch"},
		{Target{Kind: Tracepoint, Group: "sched", Name: "sched_switch"}, "tracepoint:sched:sched_switch"},
		{Target{Kind: Kprobe, Symbol: "vfs_read", Offset: 16}, "kprobe:vfs_read+0x10"},
		{Target{Kind: Kprobe, Addr: 0xffffffff81000000}, "kprobe:0xffffffff81000000"},
		{Target{Kind: Fexit, Symbol: "ext4_sync_fs", Module: "ext4"}, "fexit:ext4:ext4_sync_fs"},
		{Target{Kind: Fexit, Symbol: "vfs_read", Module: "vmlinux"}, "fexit:vfs_read"},
		{Target{Kind: Uretprobe, Path: "/bin/sh", FileOffset: 0x1234}, "uretprobe:/bin/sh:0x1234"},
		{Target{Kind: Profile, Frequency: 99}, "profile:hz:99"},
		{Target{Kind: Interval, Period: 5}, "interval:ns:5"},
		{Target{Kind: Software, Config: 3}, "software:context-switches"},
		{Target{Kind: Hardware, Config: 77}, "hardware:77"},
	} {
		if got := tc.target.String(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
