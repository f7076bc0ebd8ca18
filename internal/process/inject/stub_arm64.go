package inject

import "github.com/jalon-trace/jalon/internal/process/sys"

// Never called: package process refuses to trace on this processor.

func unwritten() { panic("BUG: inject: in-process tracing on arm64") }

// Recovery is written for x86-64 only.
func Recovery(sys.Regs, uint64) []byte { unwritten(); return nil }

// Stub is written for x86-64 only.
func Stub() []byte { unwritten(); return nil }

// Of the stub of x86-64.
const (
	StubData    = 0
	StubSize    = 0
	stubMask    = 0
	stubList    = 0
	stubRun     = 0
	stubCallEnd = 0
)
