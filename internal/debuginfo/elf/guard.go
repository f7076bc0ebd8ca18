package elf

import (
	"runtime"
	"runtime/debug"
)

// guard turns a fault into an error while a mapped file is read: another process can
// truncate the file at any moment. Use: defer guard(path, &err)().
func guard(path string, err *error) func() {
	old := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(old)
		switch e := recover().(type) {
		case nil:
		case runtime.Error:
			*err = &FormatError{path, "the file changed while it was read: " + e.Error()}
		default:
			panic(e)
		}
	}
}
