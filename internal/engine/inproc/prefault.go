package inproc

import (
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ring"
)

// prefault makes the pages of the rings present before hits write to them: a page fault costs as much as 50 records.
// The process goes on meanwhile:
//
//  1. jalon populates its own mapping, so that the pages exist, zeroed.
//  2. it reads a byte of each page in the process's mapping (process_vm_readv): the kernel enters the page into the
//     process's page tables, writable, as the mapping is. Nothing is written, so hits are not disturbed.
//
// It is an economy only: what fails is left out, and the hits' own page faults do it.
type prefault struct {
	stopped atomic.Bool
	done    chan struct{}
}

const (
	// mostPrefaulted bounds the memory that is taken for rings which may never be used: a cgroup may have little.
	mostPrefaulted = 16 << 20
	prefaultStep   = 256 << 10
)

// startPrefault begins with the rings of mem, which the process pid has mapped at base.
func startPrefault(pid int, mem *ring.Shared, g ring.Geometry, base uint64) *prefault {
	f := &prefault{done: make(chan struct{})}
	rings := g.Rings()
	if g.Restartable {
		rings /= 2 // the others get few hits
	}
	each := min(uint64(g.RingSize), mostPrefaulted/uint64(rings)) &^ (prefaultStep - 1)
	if each == 0 {
		each = min(uint64(g.RingSize), prefaultStep)
	}
	go func() {
		defer close(f.done)
		for from := uint64(0); from < each; from += prefaultStep {
			for cpu := range rings {
				at := g.RingOffset(cpu) + ring.RingData + from
				n := min(prefaultStep, each-from)
				if f.stopped.Load() || mem.Populate(at, n) != nil || touch(pid, base+at, n) != nil {
					return
				}
			}
		}
	}()
	return f
}

// touch reads a byte of each page of a process.
func touch(pid int, addr, n uint64) error {
	var b [prefaultStep / ring.PageSize]byte
	var remote []unix.RemoteIovec
	for at := addr; at < addr+n; at += ring.PageSize {
		remote = append(remote, unix.RemoteIovec{Base: uintptr(at), Len: 1})
	}
	local := []unix.Iovec{{Base: &b[0], Len: uint64(len(remote))}}
	_, err := unix.ProcessVMReadv(pid, local, remote, 0)
	return err
}

// stop ends it: the memory may be unmapped.
func (f *prefault) stop() {
	if f != nil {
		f.stopped.Store(true)
		<-f.done
	}
}
