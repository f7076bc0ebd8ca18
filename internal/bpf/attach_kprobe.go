package bpf

import (
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// attachKprobe attaches to one instruction of the kernel, or to a function's return, by a separate perf
// event.
func attachKprobe(k *Kernel, prog *ebpf.Program, t *Target) ([]part, error) {
	source, ok := eventSource("kprobe")
	if !ok {
		return nil, errNoProbePMU
	}
	attr := unix.PerfEventAttr{Type: source, Ext2: t.Offset}
	if t.Kind == Kretprobe {
		attr.Config |= 1 << sourceBit("kprobe", "retprobe")
	}
	var name *byte
	if t.Symbol == "" {
		attr.Ext2 = t.Addr + t.Offset
	} else {
		var err error
		if name, err = unix.BytePtrFromString(t.symbol()); err != nil {
			return nil, unix.ENOENT
		}
		attr.Ext1 = uint64(uintptr(unsafe.Pointer(name)))
	}
	event, err := onAnyCPU(&attr, 0)
	runtime.KeepAlive(name)
	if err != nil {
		return nil, err
	}
	return k.putOnOne(event, prog, t.Cookie)
}

// attachKprobes attaches to the entries or the returns of many functions in one call, through ftrace: all
// given by symbol, or all by address.
func attachKprobes(_ *Kernel, prog *ebpf.Program, targets []Target) (part, error) {
	opts := link.KprobeMultiOptions{Cookies: make([]uint64, len(targets))}
	for i := range targets {
		opts.Cookies[i] = targets[i].Cookie
		if targets[i].Symbol == "" {
			opts.Addresses = append(opts.Addresses, uintptr(targets[i].Addr))
		} else {
			opts.Symbols = append(opts.Symbols, targets[i].Symbol)
		}
	}
	attach := link.KprobeMulti
	if targets[0].Kind == Kretprobe {
		attach = link.KretprobeMulti
	}
	l, err := attach(prog, opts)
	if err != nil {
		return part{}, orNoProcess(err)
	}
	return part{link: l, event: -1}, nil
}
