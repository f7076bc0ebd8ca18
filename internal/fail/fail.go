// Package fail has the error type for the environment: something that the machine, the kernel or the user's
// rights do not allow. Errors in the user's text are lang.Diagnostics.
//
// Import rule: fail imports nothing of jalon; every package may import it.
package fail

import "golang.org/x/sys/unix"

// Error has what was attempted, why it failed, and what the user can do about it.
type Error struct {
	Op     string // "attach to process 4242"
	Err    error
	Remedy string // "" if there is none
}

func (e *Error) Error() string {
	if e.Remedy == "" {
		return e.Op + ": " + e.Err.Error()
	}
	return e.Op + ": " + e.Err.Error() + "; " + e.Remedy
}

func (e *Error) Unwrap() error { return e.Err }

// explained is an error with another text.
type explained struct {
	text string
	err  error
}

func (x *explained) Error() string { return x.text }
func (x *explained) Unwrap() error { return x.err }

// Explain returns an error with this text. errors.Is and errors.As still find err, for example an error
// number of the kernel.
func Explain(text string, err error) error { return &explained{text, err} }

// Denied returns an error with this text for which errors.Is(err, fs.ErrPermission) holds.
func Denied(text string) error { return Explain(text, unix.EPERM) }
