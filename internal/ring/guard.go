package ring

import (
	"fmt"
	"runtime/debug"
	"unsafe"
)

// Guard turns a fault in the shared memory into an error, which ends its reading and not
// jalon. The memory is sealed, so no process can cut it off; a fault is left where the
// kernel cannot provide a page (memory that failed, a limit of a cgroup). Other panics
// go on. Use: defer s.Guard(&err)().
func (s *Shared) Guard(err *error) func() {
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		r := recover()
		if r == nil {
			return
		}
		if f, ok := r.(interface{ Addr() uintptr }); ok && s.holds(f.Addr()) {
			*err = fmt.Errorf("the memory shared with the traced program cannot be read any more: %v", r)
			return
		}
		panic(r)
	}
}

// holds reports whether an address lies in the memory.
func (s *Shared) holds(addr uintptr) bool {
	if len(s.mem) == 0 {
		return false
	}
	return addr-uintptr(unsafe.Pointer(&s.mem[0])) < uintptr(len(s.mem))
}
