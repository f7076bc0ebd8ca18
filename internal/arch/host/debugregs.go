package host

import (
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DebugRegisters reports whether the processor's debug registers stop programs. Some virtual machines accept values for
// them that have no effect. The first call asks the kernel to count the writes to a word (perf_event_open(2),
// PERF_TYPE_BREAKPOINT), and writes it. Where that is not permitted, the registers are taken to work.
var DebugRegisters = sync.OnceValue(func() bool {
	const (
		watchWrites       = 2 // HW_BREAKPOINT_W
		excludeKernel, hv = 1 << 5, 1 << 6
	)
	runtime.LockOSThread() // the event counts what this thread writes
	defer runtime.UnlockOSThread()
	word := new(atomic.Uint64)
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{
		Type: unix.PERF_TYPE_BREAKPOINT, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})), Sample: 1, Bits: excludeKernel | hv,
		Bp_type: watchWrites, Ext1: uint64(uintptr(unsafe.Pointer(word))), Ext2: 8,
	}, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return true
	}
	defer unix.Close(fd)
	word.Store(1)
	var count [8]byte
	n, err := unix.Read(fd, count[:])
	return err != nil || n != len(count) || binary.NativeEndian.Uint64(count[:]) != 0
})
