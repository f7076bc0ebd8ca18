package bpf

import (
	"fmt"

	"github.com/cilium/ebpf"
)

// Kind is a kind of place that a program can be attached to.
type Kind uint8

// The kinds, with the type to which the program's context (r1) points in brackets.
const (
	RawTracepoint    Kind = iota // a tracepoint's raw arguments, untyped (u64 words)
	TracedTracepoint             // the same, typed by BTF ("tp_btf") (u64 words)
	Tracepoint                   // a trace event's record, by perf (the record)
	Kprobe                       // any instruction of the kernel (struct pt_regs)
	Kretprobe                    // the return of a kernel function (struct pt_regs)
	Fentry                       // the entry of a kernel function, typed by BTF (u64 words)
	Fexit                        // its return, arguments and value typed (u64 words)
	Uprobe                       // an instruction of a file (struct pt_regs)
	Uretprobe                    // the return of a function of a file (struct pt_regs)
	Profile                      // a timer on every CPU (struct bpf_perf_event_data, which begins with pt_regs)
	Interval                     // a timer on one CPU (the same)
	Software                     // a counter of the kernel's events reaching a period (the same)
	Hardware                     // a counter of the CPU reaching a period (the same)
	Iter                         // an object of the kernel, when Link.Iterate goes through all (struct bpf_iter__NAME, u64 words)
	numKinds
)

// Target is one place. The fields that are used depend on the kind:
//
//	RawTracepoint, TracedTracepoint  Name
//	Iter                             Name
//	Tracepoint                       Group, Name
//	Kprobe                           Symbol (+Module) and Offset, or Addr
//	Kretprobe, Fentry, Fexit         Symbol (+Module); Kretprobe also Addr
//	Uprobe, Uretprobe                Path, FileOffset, RefCtrOffset, Pid
//	Profile                          Frequency or Period, Pid
//	Interval                         Frequency or Period, CPU
//	Software, Hardware               Config, Frequency or Period, Pid
type Target struct {
	Kind        Kind
	Group, Name string // of the trace event; Name alone: of the tracepoint

	Symbol string // kernel function
	Module string // its module; "" for the kernel itself or wherever the symbol is
	Offset uint64 // bytes from the symbol
	Addr   uint64 // address in the kernel, instead of the symbol

	Path         string // executable or library
	FileOffset   uint64 // offset of the instruction in the file, not its address
	RefCtrOffset uint64 // of the USDT semaphore in the file; 0: none. Below 4 GiB.

	Pid       int    // 0: all; otherwise the process with all its threads. Not for kernel places.
	Children  bool   // with Pid, of timers and counters: also the processes that it starts later, and their descendants
	Frequency uint64 // hits a second
	Period    uint64 // nanoseconds (Profile, Interval) or events (Software, Hardware) between hits
	Config    uint64 // number of the event: SoftwareEvents, HardwareEvents
	CPU       int    // of an Interval
	Cookie    uint64 // the result of bpf_get_attach_cookie
}

// kindInfo describes how programs of a kind are loaded and attached.
type kindInfo struct {
	name   string
	prog   ebpf.ProgramType
	attach ebpf.AttachType // given at load
	// multi is the attach type, given at load, of a program that is attached to many places in one call;
	// AttachNone if the kernel has no such call.
	multi ebpf.AttachType
	// one attaches to one place with the program loaded for attach.
	one func(*Kernel, *ebpf.Program, *Target) ([]part, error)
	// many attaches to places of one group in one call, all or none.
	many func(*Kernel, *ebpf.Program, []Target) (part, error)
	// returns is the value that a program must return in order not to affect other users.
	returns int32
	// pid means that Target.Pid is used.
	pid bool
	// cookies: attachments carry a cookie on every kernel that can attach them at all
	// with bpf_link (Linux 5.15), so one program can serve many places.
	cookies bool
	// untraced is why a function that ftrace does not trace cannot be attached to. The kernel reports this
	// at most in its log.
	untraced string
	// events are the numbers of the counters, by name.
	events map[string]uint64
}

const (
	noProbes = "this kernel inserts no probes in those (CONFIG_KPROBE_EVENTS_ON_NOTRACE)"
	byFtrace = "fentry and fexit work by ftrace"
)

// kinds is filled by init: its functions refer to it again.
var kinds [numKinds]kindInfo

func init() {
	kinds = [numKinds]kindInfo{
		RawTracepoint:    {name: "rawtracepoint", prog: ebpf.RawTracepoint, one: attachRawTracepoint},
		TracedTracepoint: {name: "tp_btf", prog: ebpf.Tracing, attach: ebpf.AttachTraceRawTp, one: attachTracing},
		Tracepoint:       {name: "tracepoint", prog: ebpf.TracePoint, one: attachTracepoint, returns: 1, cookies: true},
		Kprobe: {
			name: "kprobe", prog: ebpf.Kprobe, multi: ebpf.AttachTraceKprobeMulti,
			one: attachKprobe, many: attachKprobes, cookies: true, untraced: noProbes,
		},
		Kretprobe: {
			name: "kretprobe", prog: ebpf.Kprobe, multi: ebpf.AttachTraceKprobeMulti,
			one: attachKprobe, many: attachKprobes, cookies: true, untraced: noProbes,
		},
		Fentry: {name: "fentry", prog: ebpf.Tracing, attach: ebpf.AttachTraceFEntry, one: attachTracing, untraced: byFtrace},
		Fexit:  {name: "fexit", prog: ebpf.Tracing, attach: ebpf.AttachTraceFExit, one: attachTracing, untraced: byFtrace},
		Uprobe: {
			name: "uprobe", prog: ebpf.Kprobe, multi: ebpf.AttachTraceUprobeMulti,
			one: attachUprobe, many: attachUprobes, pid: true, cookies: true,
		},
		Uretprobe: {
			name: "uretprobe", prog: ebpf.Kprobe, multi: ebpf.AttachTraceUprobeMulti,
			one: attachUprobe, many: attachUprobes, pid: true, cookies: true,
		},
		Profile:  {name: "profile", prog: ebpf.PerfEvent, one: attachCounter, pid: true},
		Interval: {name: "interval", prog: ebpf.PerfEvent, one: attachCounter},
		Software: {name: "software", prog: ebpf.PerfEvent, one: attachCounter, pid: true, events: SoftwareEvents},
		Hardware: {name: "hardware", prog: ebpf.PerfEvent, one: attachCounter, pid: true, events: HardwareEvents},
		Iter:     {name: "iter", prog: ebpf.Tracing, attach: ebpf.AttachTraceIter, one: attachIter},
	}
}

func (kd Kind) info() *kindInfo {
	if kd >= numKinds {
		panic(fmt.Sprintf("BUG: kind of place %d", kd))
	}
	return &kinds[kd]
}

// KindNamed returns the kind with the name.
func KindNamed(name string) (Kind, bool) {
	for k := range numKinds {
		if kinds[k].name == name {
			return k, true
		}
	}
	return 0, false
}

// Cookies reports whether one program can serve many places of the kind.
func (kd Kind) Cookies() bool { return kd.info().cookies }

// OfProcess reports whether Target.Pid is used.
func (kd Kind) OfProcess() bool { return kd.info().pid }

// Untraced returns why functions that ftrace does not trace are refused; "" if they are not.
func (kd Kind) Untraced() string { return kd.info().untraced }

// Event returns the number of an event that the kind counts.
func (kd Kind) Event(name string) (config uint64, ok bool) {
	config, ok = kd.info().events[name]
	return config, ok
}

// String is the kind's name in the user's language (tp_btf has none there).
func (kd Kind) String() string { return kd.info().name }

// Return returns the value that a program of the kind must return.
func (kd Kind) Return() int32 { return kd.info().returns }

// String returns the place for messages.
func (t *Target) String() string {
	switch t.Kind {
	case RawTracepoint, TracedTracepoint, Iter:
		return t.Kind.String() + ":" + t.Name
	case Tracepoint:
		return "tracepoint:" + t.Group + ":" + t.Name
	case Kprobe, Kretprobe, Fentry, Fexit:
		return t.Kind.String() + ":" + t.function()
	case Uprobe, Uretprobe:
		return fmt.Sprintf("%s:%s:%#x", t.Kind, t.Path, t.FileOffset)
	case Software:
		return "software:" + eventName(SoftwareEvents, t.Config)
	case Hardware:
		return "hardware:" + eventName(HardwareEvents, t.Config)
	}
	if t.Frequency != 0 {
		return fmt.Sprintf("%s:hz:%d", t.Kind, t.Frequency)
	}
	return fmt.Sprintf("%s:ns:%d", t.Kind, t.Period)
}

// function returns the place in the kernel's text.
func (t *Target) function() string {
	if t.Symbol == "" {
		return fmt.Sprintf("%#x", t.Addr)
	}
	s := t.symbol()
	if t.Offset != 0 {
		s += fmt.Sprintf("+%#x", t.Offset)
	}
	return s
}

// symbol returns the symbol in the kernel's form, with its module.
func (t *Target) symbol() string {
	if t.Module == "" || t.Module == "vmlinux" {
		return t.Symbol
	}
	return t.Module + ":" + t.Symbol
}
