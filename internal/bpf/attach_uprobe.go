package bpf

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// A uprobe is a breakpoint in a file's text: in every process that maps the file, now or later, or, with
// Pid, in that process with its threads. The kernel checks the instruction when it inserts the breakpoint
// in a process, not before. An instruction that cannot be probed, in a file that no process has mapped,
// would be silently ignored. So jalon maps the file while it attaches, privately and read-only, which is
// enough for the kernel.

// checkInstructions maps the pages of uprobes until release is called. It returns the places that the
// kernel accepts, as far as this is known before attaching, and the others. check is as in AttachAll.
func (l *Loaded) checkInstructions(targets []Target, check func() error) (able []Target, failed []Failed, release func(), err error) {
	var mine []Target // the same places in this process only
	m := pages{}
	for _, t := range targets {
		if t.Kind != Uprobe && t.Kind != Uretprobe || t.RefCtrOffset != 0 { // a marker is a nop, which the kernel accepts
			continue
		}
		m.add(t.Path, t.FileOffset)
		if t.Pid != 0 && t.Pid != os.Getpid() { // the kernel filters by process
			t.Pid, t.Cookie = os.Getpid(), 0
			mine = append(mine, t)
		}
	}
	if len(mine) == 0 {
		return targets, nil, m.unmap, nil
	}
	type place struct {
		path string
		off  uint64
	}
	trial, err := l.k.doingNothing()
	if err != nil {
		return nil, nil, m.unmap, err
	}
	refused := map[place]error{}
	for _, g := range trial.steps(mine) {
		if err := check(); err != nil {
			return nil, nil, m.unmap, err
		}
		parts, bad := trial.attachGroup(g)
		// The kernel needs about 20 ms until no CPU is in the program. Other work need not wait for that:
		// these uprobes are in jalon's own mapping only, and the program does nothing.
		l.k.ending.Go(func() { _ = closeParts(parts) })
		for _, f := range bad {
			if errors.Is(f.Err, enotsupp) || errors.Is(f.Err, unix.ENOEXEC) {
				refused[place{f.Target.Path, f.Target.FileOffset}] = f.Err
			}
		}
	}
	for _, t := range targets {
		if err := refused[place{t.Path, t.FileOffset}]; err != nil {
			failed = append(failed, Failed{t, err})
		} else {
			able = append(able, t)
		}
	}
	return able, failed, m.unmap, nil
}

// doingNothing returns an empty program for trying uprobes.
func (k *Kernel) doingNothing() (*Loaded, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.nothing == nil {
		l, err := k.Load(Program{Name: "jalon_check", Insns: empty(), Kind: Uprobe})
		if err != nil {
			return nil, err
		}
		k.nothing = l
	}
	return k.nothing, nil
}

// pages are mapped pages of files.
type pages map[page][]byte

type page struct {
	path string
	off  uint64
}

// add maps the page of a file that contains off. If that fails, the kernel checks later.
func (m pages) add(path string, off uint64) {
	at := page{path, off &^ 4095}
	if _, ok := m[at]; ok || off > math.MaxInt64 {
		return
	}
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	if b, err := unix.Mmap(int(f.Fd()), int64(at.off), 4096, unix.PROT_READ, unix.MAP_PRIVATE); err == nil {
		m[at] = b
	}
}

func (m pages) unmap() {
	for _, b := range m {
		_ = unix.Munmap(b)
	}
}

// canMulti reports whether a place can be attached together with others, n in total.
func (k *Kernel) canMulti(t *Target, n int) bool {
	switch t.Kind {
	case Uprobe, Uretprobe:
		// One descriptor instead of two, and no RCU grace period for each, so it is also used for a single
		// place. Before 6.10 its filter worked by thread (commit 46ba0e49b642).
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
			// With this address, the file's header, the library does not look for a symbol.
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

// orNoProcess restores the error number ESRCH, which the library replaces.
func orNoProcess(err error) error {
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOENT) {
		return unix.ESRCH
	}
	return err
}

// attachUprobe attaches to one place by a perf event. The event is opened for a thread and filters by its
// memory, which means by its process.
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
