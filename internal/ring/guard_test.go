package ring

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGuard: a fault in the shared memory is an error; other panics stay panics.
func TestGuard(t *testing.T) {
	g, err := NewGeometry(1, 8192, 4)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.MemfdCreate("guard", unix.MFD_CLOEXEC) // not sealed: it can be cut
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, int64(g.FileSize())); err != nil {
		t.Fatal(err)
	}
	s, err := Map(fd, g)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := NewReader(s)
	drain := func() (err error) {
		defer s.Guard(&err)()
		r.Drain(0, nil)
		return nil
	}
	if err := drain(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Ftruncate(fd, 0); err != nil {
		t.Fatal(err)
	}
	if err := drain(); err == nil || !strings.Contains(err.Error(), "reading the memory shared with the traced program") {
		t.Errorf("a fault gives %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("another fault was taken for one of the memory")
		}
	}()
	func() (err error) {
		defer s.Guard(&err)()
		var p *Reader
		_ = p.rings[0]
		return nil
	}()
}
