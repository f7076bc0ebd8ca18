package kernel

import (
	"errors"
	"io/fs"
	"math"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// A uprobe is a breakpoint in a file's text: in every process that has the file
// mapped or maps it later, or, with Pid, in that process with its threads. The
// kernel checks the instruction when it puts the breakpoint into a process, not
// before: an instruction that cannot be probed in a file that nobody has mapped
// is passed over silently.

// canMulti says whether a place can be attached together with others, n in all.
func (k *Kernel) canMulti(t *Target, n int) bool {
	switch t.Kind {
	case Uprobe, Uretprobe:
		// One descriptor instead of two, and no RCU grace period for each, so
		// also for a single place. Before 6.10 its filter knew threads only
		// (commit 46ba0e49b642).
		return k.features.UprobeMulti.OK && (t.Pid == 0 || k.features.AtLeast(6, 10))
	case Kprobe, Kretprobe:
		return k.features.KprobeMulti.OK && n > 1 && t.Offset == 0
	}
	return false
}

// attachUprobes attaches to places of one file and one process in one call.
func attachUprobes(_ *Kernel, prog *ebpf.Program, targets []Target) (part, error) {
	t := &targets[0]
	opts := &link.UprobeMultiOptions{
		Addresses:     make([]uint64, len(targets)),
		Cookies:       make([]uint64, len(targets)),
		RefCtrOffsets: make([]uint64, len(targets)),
		PID:           uint32(t.Pid),
	}
	for i := range targets {
		if targets[i].FileOffset == 0 {
			// The library would look for a symbol. The file's header stands there.
			return part{}, unix.EINVAL
		}
		opts.Addresses[i], opts.Cookies[i] = targets[i].FileOffset, targets[i].Cookie
		opts.RefCtrOffsets[i] = targets[i].RefCtrOffset
	}
	file, err := link.OpenExecutable(t.Path)
	if err != nil {
		return part{}, err
	}
	attach := file.UprobeMulti
	if t.Kind == Uretprobe {
		attach = file.UretprobeMulti
	}
	l, err := attach(nil, prog, opts)
	if err != nil {
		return part{}, orNoProcess(err)
	}
	return part{link: l, event: -1}, nil
}

// orNoProcess gives ESRCH its number back: the library replaces it.
func orNoProcess(err error) error {
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOENT) {
		return unix.ESRCH
	}
	return err
}

// attachUprobe attaches to one place by a perf event. The event's filter is the
// process of the thread that it is opened for (its memory), as wanted.
func attachUprobe(k *Kernel, prog *ebpf.Program, t *Target) ([]part, error) {
	source, ok := eventSource("uprobe")
	if !ok {
		return nil, errNoProbePMU
	}
	if t.RefCtrOffset > math.MaxUint32 {
		return nil, unix.EINVAL // 32 bits in the event's config
	}
	path, err := unix.BytePtrFromString(t.Path)
	if err != nil {
		return nil, unix.ENOENT
	}
	attr := unix.PerfEventAttr{
		Type: source, Config: t.RefCtrOffset << sourceBit("uprobe", "ref_ctr_offset"),
		Ext1: uint64(uintptr(unsafe.Pointer(path))), Ext2: t.FileOffset,
	}
	if t.Kind == Uretprobe {
		attr.Config |= 1 << sourceBit("uprobe", "retprobe")
	}
	event, err := onAnyCPU(&attr, t.Pid)
	runtime.KeepAlive(path)
	if err != nil {
		return nil, err
	}
	return k.putOnOne(event, prog, t.Cookie)
}
