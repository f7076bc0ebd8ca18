package dwarf

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// DamagedError says that reading the debug information failed in a way that its
// checks do not cover, or that the file changed while it was mapped.
type DamagedError struct {
	Path  string
	Cause string
}

func (e *DamagedError) Error() string {
	return "damaged debug information in " + e.Path + ": " + e.Cause
}

// border runs the exported methods of a module one at a time.
type border struct {
	path   string
	mu     sync.Mutex
	faults atomic.Int64
	closed bool
}

// guard is the one border of the package: every exported method that reads the
// file runs under it. It serialises them (lazy state is not otherwise locked)
// and turns a panic over malformed data, or a fault because the mapped file was
// truncated, into an error that is counted.
func (g *border) guard(err *error) func() {
	g.mu.Lock()
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			g.faults.Add(1)
			if s, ok := r.(string); ok && len(s) > 4 && s[:4] == "BUG:" {
				g.mu.Unlock()
				panic(r)
			}
			cause := fmt.Sprint(r)
			if e, ok := r.(runtime.Error); ok {
				cause = e.Error()
			}
			if err != nil {
				*err = &DamagedError{g.path, cause}
			}
		}
		g.mu.Unlock()
	}
}

// Faults is the number of times that damaged data was only caught at the border.
func (g *border) Faults() int { return int(g.faults.Load()) }
