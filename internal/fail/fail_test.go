package fail

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTexts: an error is one line, with its remedy if there is one, and its causes are found through it.
func TestTexts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
		is   []error
	}{
		{&Error{Op: "attach to process 7", Err: unix.ESRCH}, "attach to process 7: no such process", []error{unix.ESRCH}},
		{
			&Error{Op: "attach to process 7", Err: Denied("it belongs to root"), Remedy: "run jalon as root"},
			"attach to process 7: it belongs to root; run jalon as root",
			[]error{unix.EPERM, fs.ErrPermission},
		},
		{Explain("no such type", unix.ENOENT), "no such type", []error{unix.ENOENT, fs.ErrNotExist}},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		for _, is := range c.is {
			if !errors.Is(c.err, is) {
				t.Errorf("%q: %v is not found in it", c.want, is)
			}
		}
	}
	var e *Error
	if err := fmt.Errorf("arming: %w", &Error{Op: "load", Err: unix.EPERM}); !errors.As(err, &e) || e.Op != "load" {
		t.Errorf("no *Error is found in %v", err)
	}
}
