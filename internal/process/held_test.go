package process

import (
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

func awaitHeld(t *testing.T, h *Held) ExitStatus {
	t.Helper()
	select {
	case <-h.Done():
	case <-time.After(testPatience):
		t.Fatal("it does not end")
	}
	return h.Status()
}

func TestHeld(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h, err := StartHeld([]string{"sh", "-c", "grep TracerPid /proc/$$/status; exit 7"}, StartOptions{Stdout: w})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if st, err := sys.ReadStatus(h.Pid()); err != nil || st.State != 't' {
		t.Errorf("before its release: %+v, %v", st, err)
	}
	if !h.Status().Detached {
		t.Errorf("before its release: status %v", h.Status())
	}
	h.Release()
	h.Release()
	if st := awaitHeld(t, h); st != (ExitStatus{Code: 7}) {
		t.Errorf("status %v", st)
	}
	b := make([]byte, 100)
	n, _ := r.Read(b)
	if got := strings.Fields(string(b[:n])); len(got) != 2 || got[1] != "0" {
		t.Errorf("it was traced: %q", b[:n])
	}
}

func TestHeldKilled(t *testing.T) {
	h, err := StartHeld([]string{"sleep", "1000"}, StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h.Kill()
	h.Release()
	if st := awaitHeld(t, h); st != (ExitStatus{Signal: unix.SIGKILL}) {
		t.Errorf("status %v", st)
	}
	// One that another process kills while it is held.
	if h, err = StartHeld([]string{"sleep", "1000"}, StartOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(h.Pid(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.Release()
	if st := awaitHeld(t, h); st != (ExitStatus{Signal: unix.SIGKILL}) {
		t.Errorf("status %v", st)
	}
}

func TestHeldErrors(t *testing.T) {
	for _, argv := range [][]string{nil, {"/nonexistent"}, {"no-such-command"}, {"/etc/passwd"}} {
		if h, err := StartHeld(argv, StartOptions{}); err == nil {
			t.Errorf("%q started", argv)
			h.Kill()
		}
	}
}
