package debuginfo

// Framed is a Scope from which the frames around it can be chosen, as by GDB's up.
type Framed interface {
	Scope
	// Up is the scope n frames up: first the functions into which this one is inlined, then the callers. Where several calls
	// may have led here, its variables are those of the call that did, which shows at the hit.
	Up(n int) (Scope, error)
}

// NoFrameError says why the frames around a scope's are not known.
type NoFrameError struct{ Why string }

func (e *NoFrameError) Error() string { return "the caller is not known here: " + e.Why }
