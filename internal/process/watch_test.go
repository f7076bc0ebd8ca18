package process

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestWatch(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w, err := Watch(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if w.Ended() || w.Pid() != cmd.Process.Pid {
		t.Errorf("ended %v, pid %d", w.Ended(), w.Pid())
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.Done():
	case <-time.After(testPatience):
		t.Fatal("the end is not seen")
	}
	if !w.Ended() {
		t.Error("the end is forgotten")
	}
	if _, err := Watch(cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), "no such process") {
		t.Errorf("a process that is gone: %v", err)
	}
}

// TestWatchClose: closing ends the waiting while the process lives.
func TestWatchClose(t *testing.T) {
	w, err := Watch(1)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	w.Close()
	if w.Ended() {
		t.Error("process 1 has ended")
	}
}
