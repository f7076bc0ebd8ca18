package bpf

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/fail"
)

// VerifierLog returns the verifier's whole log from an error of Load, "" if the verifier did not refuse the
// program.
func VerifierLog(err error) string {
	var ve *ebpf.VerifierError
	if !errors.As(err, &ve) {
		return ""
	}
	return strings.Join(ve.Log, "\n")
}

// enotsupp is ENOTSUPP, an error number inside the kernel without a name in user space.
const enotsupp = unix.Errno(524)

// attempt describes the operation that the kernel refused.
type attempt struct {
	op     string
	kind   Kind
	target *Target
	load   bool // loading the program, not attaching it
}

// rule explains an error; the first rule that fits is used.
type rule struct {
	is     error
	kinds  []Kind // nil: all
	when   func(*Kernel, *attempt) bool
	words  func(*Kernel, *attempt) string
	remedy string
	advise func(*Kernel) string // a remedy that depends on the kernel, instead
}

func (r *rule) fits(k *Kernel, err error, a *attempt) bool {
	if !errors.Is(err, r.is) {
		return false
	}
	if r.kinds != nil && !slices.Contains(r.kinds, a.kind) {
		return false
	}
	return r.when == nil || r.when(k, a)
}

// explain turns an error of the kernel into a fail.Error.
func (k *Kernel) explain(err error, a *attempt) *fail.Error {
	var own *fail.Error
	if errors.As(err, &own) {
		return own
	}
	var ve *ebpf.VerifierError
	if errors.As(err, &ve) && len(ve.Log) > 0 && !errors.Is(err, unix.EPERM) {
		return &fail.Error{Op: a.op, Err: fail.Explain("the verifier refuses "+refusal(ve.Log), err)}
	}
	for i := range rules {
		if r := &rules[i]; r.fits(k, err, a) {
			remedy := r.remedy
			if r.advise != nil {
				remedy = r.advise(k)
			}
			return &fail.Error{Op: a.op, Err: fail.Explain(r.words(k, a), err), Remedy: remedy}
		}
	}
	return &fail.Error{Op: a.op, Err: err}
}

// say returns the text of a rule that does not depend on the attempt.
func say(s string) func(*Kernel, *attempt) string {
	return func(*Kernel, *attempt) string { return s }
}

var (
	functionKinds = []Kind{Kprobe, Kretprobe, Fentry, Fexit}
	perfKinds     = []Kind{Profile, Interval, Software, Hardware}
	uprobeKinds   = []Kind{Uprobe, Uretprobe}
)

// Texts used more than once.
const (
	noStep     = "the kernel cannot put a probe on this instruction (a breakpoint, no valid instruction, or one that cannot be stepped)"
	remedyStep = "probe the next or the previous instruction"
	noUprobe   = "the kernel inserts no probe here: the offset is outside the file, or the file cannot be mapped for execution"
	remedyRoot = "run jalon as root, or give it CAP_BPF and CAP_PERFMON (setcap cap_bpf,cap_perfmon+ep)"

	remedyEvents = "use tracepoint: or rawtracepoint: places (jalon list 'tracepoint:*')"
	buildKprobes = "a kernel built with CONFIG_KPROBES and CONFIG_KPROBE_EVENTS has kprobes"
)

// Errors of this package's own checks.
var (
	errNoProbePMU = errors.New("no such event source")
	errNoPid      = errors.New("no filter by process")
	errNoType     = errors.New("no such type")
	errNoCookie   = errors.New("no cookies")
	errNoTracefs  = errors.New("no tracefs")
)

func lacksCaps(k *Kernel, _ *attempt) bool { return k.features.missingCaps() != "" }

// remedyKprobes is what helps on a kernel without kprobes. It names fentry only if this kernel has it.
func remedyKprobes(k *Kernel) string {
	if k.Fentry().OK {
		return "use fentry: and fexit: places"
	}
	return remedyEvents + "; " + buildKprobes
}

// remedyFentry is what helps on a kernel without fentry. It names kprobes only if this kernel has them.
func remedyFentry(k *Kernel) string {
	if k.features.Kprobe.OK {
		return "use kprobe: and kretprobe: places"
	}
	return remedyEvents + "; this kernel has no kprobes either"
}

func noBTF(k *Kernel, _ *attempt) bool { return !k.features.BTF.OK }

// The rules are ordered from the particular to the general.
var rules = []rule{
	{is: errNoProbePMU, kinds: []Kind{Kprobe, Kretprobe}, words: say("this kernel has no kprobes"), advise: remedyKprobes},
	{
		is: errNoProbePMU, kinds: uprobeKinds, words: say("this kernel has no uprobes by file descriptor (Linux 4.17)"),
		remedy: "trace inside the process (uprobe: without --all)",
	},
	{
		is: errNoPid, words: say("the kernel has no filter by process for this kind of place"),
		remedy: "test the process in the condition ($pid == ...)",
	},

	{is: unix.EPERM, when: lacksCaps, words: func(k *Kernel, _ *attempt) string {
		return "no permission: jalon lacks " + k.features.missingCaps()
	}, remedy: remedyRoot},
	{is: unix.EACCES, when: lacksCaps, words: func(k *Kernel, _ *attempt) string {
		return "no permission: jalon lacks " + k.features.missingCaps()
	}, remedy: remedyRoot},
	{
		is: unix.EPERM, when: func(k *Kernel, _ *attempt) bool { return k.features.Lockdown == "confidentiality" },
		words:  say("the kernel is locked down (confidentiality): it gives no kernel memory to eBPF and allows no kprobes"),
		remedy: "boot with lockdown=integrity or lockdown=none (Secure Boot may set it)",
	},
	{
		is: unix.EPERM, when: func(k *Kernel, _ *attempt) bool { return k.features.Seccomp },
		words:  say("not permitted although the capabilities are there: a seccomp filter is on (a container?)"),
		remedy: "run jalon outside the container, or allow bpf and perf_event_open in its seccomp profile",
	},
	{
		is: unix.EPERM, kinds: []Kind{Fentry, Fexit}, words: say("this kernel refuses fentry and fexit to everyone (EPERM before the verifier, with all capabilities there)"),
		advise: remedyFentry,
	},
	{
		is: unix.EPERM, words: say("not permitted although the capabilities are there (a security module, or another user namespace)"),
		remedy: "see the kernel's audit log; run jalon in the initial user namespace",
	},
	{is: unix.ENOSYS, words: say("the kernel has no such system call"), remedy: "use a kernel with CONFIG_BPF_SYSCALL and CONFIG_PERF_EVENTS"},

	{
		is: errNoType, when: noBTF, words: say("this kernel has no type information (BTF, /sys/kernel/btf/vmlinux)"),
		remedy: "use rawtracepoint: or tracepoint: places, or a kernel built with CONFIG_DEBUG_INFO_BTF",
	},
	{is: errNoType, kinds: []Kind{TracedTracepoint}, words: unknownName, remedy: "see jalon list 'rawtracepoint:*'"},
	{
		is: errNoType, kinds: []Kind{Fentry, Fexit}, words: unknownName,
		remedy: "it may be inlined, or renamed by the compiler (NAME.isra.0); see jalon list 'fentry:*'",
	},
	{is: ebpf.ErrNotSupported, kinds: []Kind{Fentry, Fexit}, words: say("this kernel cannot attach to this function's entry or return"), advise: remedyFentry},
	{is: errNoCookie, words: say("this kernel has no cookies for this kind of place"), remedy: "load a program for each place"},
	{is: errNoTracefs, words: say("tracefs is not mounted"), remedy: "mount -t tracefs tracefs /sys/kernel/tracing"},

	{
		is: unix.ENOENT, kinds: []Kind{RawTracepoint, TracedTracepoint, Tracepoint}, words: unknownName,
		remedy: "see jalon list; if it belongs to a module, load the module first",
	},
	{is: unix.EEXIST, kinds: []Kind{Tracepoint}, words: say("this program is attached to this trace event already"), remedy: "load it once more"},
	{is: unix.ENOENT, kinds: functionKinds, words: unknownName, remedy: "see /proc/kallsyms: it may be inlined, or renamed by the compiler (NAME.isra.0)"},
	{is: unix.ESRCH, kinds: functionKinds, words: say("the kernel cannot trace this function through ftrace, or does not know it"), remedy: ""},
	{is: unix.EADDRNOTAVAIL, kinds: functionKinds, words: say("there are several functions of this name"), remedy: "name one by its address (*ADDR)"},
	{is: unix.EILSEQ, kinds: functionKinds, words: say("the address is not the first byte of an instruction"), remedy: "see the function's disassembly"},
	{is: unix.EINVAL, kinds: []Kind{Kprobe, Kretprobe}, words: func(k *Kernel, a *attempt) string {
		if n := uint64(host.Processor.InstructionBytes); n != 0 && (a.target.Addr+a.target.Offset)%n != 0 {
			return fmt.Sprintf("the address is not the first byte of an instruction: they begin at multiples of %d", n)
		}
		if k.blacklisted(a.target.Symbol) {
			return "the function is on the kernel's list of functions that must not be probed (kprobes/blacklist)"
		}
		return "the kernel does not allow a probe here (code that a probe itself uses, a jump label, or not within a function)"
	}, remedy: "probe its caller, or another instruction"},
	{is: unix.EBUSY, kinds: functionKinds, words: say("another tracer or a live patch holds this function"), remedy: "end the other tracer"},

	{is: unix.ENOENT, kinds: uprobeKinds, words: func(_ *Kernel, a *attempt) string { return "there is no file " + a.target.Path }},
	{is: unix.ESRCH, words: func(_ *Kernel, a *attempt) string { return fmt.Sprintf("there is no process %d", a.target.Pid) }},
	{is: unix.EINVAL, kinds: uprobeKinds, words: say(noUprobe)},
	{is: unix.EBADF, kinds: uprobeKinds, words: say(noUprobe)},
	{is: enotsupp, kinds: uprobeKinds, words: say(noStep), remedy: remedyStep},
	{is: unix.ENOEXEC, kinds: uprobeKinds, words: say(noStep), remedy: remedyStep},
	{is: unix.EIO, kinds: uprobeKinds, words: say("the file system of this file cannot be probed")},

	{is: unix.ENOENT, kinds: []Kind{Hardware}, words: say("this machine has no such hardware counter (a virtual machine often has none)"), remedy: "use software:cpu-clock or profile:"},
	{is: unix.EOPNOTSUPP, kinds: []Kind{Hardware}, words: say("this counter cannot sample on this machine"), remedy: "use software:cpu-clock or profile:"},
	{is: unix.ENODEV, kinds: perfKinds, words: say("the CPU is offline, or does not exist")},
	{is: unix.EINVAL, kinds: perfKinds, words: func(_ *Kernel, a *attempt) string {
		return fmt.Sprintf("the kernel does not take this frequency or period (most: %s a second)", readTrim("/proc/sys/kernel/perf_event_max_sample_rate"))
	}, remedy: "set sysctl kernel.perf_event_max_sample_rate"},

	{is: unix.EMFILE, words: say("jalon may open no more files"), remedy: "raise the limit: ulimit -n"},
	{is: unix.ENFILE, words: say("the machine may open no more files"), remedy: "raise sysctl fs.file-max"},
	{is: unix.ENOMEM, words: say("the kernel has no memory for it"), remedy: "a smaller buffer, or a larger memory limit of the control group"},
	{is: unix.E2BIG, kinds: nil, when: func(_ *Kernel, a *attempt) bool { return a.load }, words: say("the program is too long or too complex for the verifier"), remedy: "a shorter condition, or fewer things to collect"},
	{is: fs.ErrNotExist, words: unknownName},
}

func unknownName(_ *Kernel, a *attempt) string {
	switch a.kind {
	case Tracepoint:
		return fmt.Sprintf("there is no trace event %s:%s", a.target.Group, a.target.Name)
	case RawTracepoint, TracedTracepoint:
		return "there is no tracepoint " + a.target.Name
	}
	return "the kernel has no function " + a.target.Symbol
}
