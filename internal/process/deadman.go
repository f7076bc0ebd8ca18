package process

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/ring"
)

// deadman is the dead man's switch: the tracer's thread is registered as owner of a robust futex
// (get_robust_list(2)). When the thread ends, in any way, the kernel sets bit 30 of the word. It does so
// (exit_mm) before it releases the traced threads (exit_notify), so a thread that continues in the process
// sees the bit.
type deadman struct {
	list []byte // a page outside of Go's heap: struct robust_list_head and one entry
	word *uint32
}

// robustHead is struct robust_list_head, with the only entry behind it.
type robustHead struct {
	next    uintptr
	offset  int64 // from an entry to its futex word
	pending uintptr
	entry   uintptr // struct robust_list: the next one, which is the head
}

// ArmDeadman makes word, in memory shared with the process and mapped in jalon, the dead man's switch: it
// holds the tracer's thread id while jalon lives. The mapping must stay until DisarmDeadman or the end of the
// process. A second call moves the switch to the new word and sets the old one as DisarmDeadman does.
func (p *Process) ArmDeadman(word *uint32) error {
	return p.do(func() error { return p.deadman.arm(word, p.tid) })
}

// DisarmDeadman sets the word as jalon's death would and unregisters it. From then on the code at the sites
// does nothing, and the word's memory may be unmapped. If the switch is at another word by now, nothing
// happens.
func (p *Process) DisarmDeadman(word *uint32) error {
	return p.do(func() error {
		if p.deadman.word == word {
			p.deadman.disarm()
		}
		return nil
	})
}

func (d *deadman) arm(word *uint32, tracer int) error {
	const op = "arm the dead man's switch"
	if uintptr(unsafe.Pointer(word))%4 != 0 {
		return &fail.Error{Op: op, Err: errors.New("the word is not aligned")}
	}
	d.disarm()
	page, err := unix.Mmap(-1, 0, memory.PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return &fail.Error{Op: op, Err: err}
	}
	h := (*robustHead)(unsafe.Pointer(&page[0]))
	head, entry := uintptr(unsafe.Pointer(h)), uintptr(unsafe.Pointer(&h.entry))
	h.next, h.entry = entry, head
	h.offset = int64(uintptr(unsafe.Pointer(word))) - int64(entry)
	atomic.StoreUint32(word, uint32(tracer))
	const headSize = 24
	if _, _, e := unix.RawSyscall(unix.SYS_SET_ROBUST_LIST, head, headSize, 0); e != 0 {
		atomic.StoreUint32(word, ring.OwnerDied)
		_ = unix.Munmap(page)
		return &fail.Error{Op: op, Err: fmt.Errorf("set_robust_list: %w", e)}
	}
	*d = deadman{page, word}
	return nil
}

func (d *deadman) disarm() {
	if d.word == nil {
		return
	}
	atomic.StoreUint32(d.word, ring.OwnerDied)
	_, _, _ = unix.RawSyscall(unix.SYS_SET_ROBUST_LIST, 0, 24, 0) // fails for a wrong size only
	_ = unix.Munmap(d.list)
	*d = deadman{}
}
