package ring

import (
	"fmt"
	"runtime/debug"
	"unsafe"
)

// Guard converts a fault in the shared memory to an error, so only the reading ends, and not jalon. The memory
// is sealed, so no process can truncate it, but the kernel may be unable to provide a page (failed memory, a
// cgroup's limit). Other panics continue. Use: defer s.Guard(&err)().
func (s *Shared) Guard(err *error) func() {
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		r := recover()
		if r == nil {
			return
		}
		if f, ok := r.(interface{ Addr() uintptr }); ok && s.holds(f.Addr()) {
			*err = fmt.Errorf("reading the memory shared with the traced program: %v", r)
			return
		}
		panic(r)
	}
}

// holds reports whether an address is in the memory.
func (s *Shared) holds(addr uintptr) bool {
	if len(s.mem) == 0 {
		return false
	}
	return addr-uintptr(unsafe.Pointer(&s.mem[0])) < uintptr(len(s.mem))
}
