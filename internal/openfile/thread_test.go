package openfile

import (
	"fmt"
	"os"
	"testing"
)

// TestEndedThread: a path through a thread that does not exist is resolved through another thread.
func TestEndedThread(t *testing.T) {
	want, err := os.Stat("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	const none = 1<<22 + 1 // above the largest number
	for _, path := range []string{fmt.Sprintf("/proc/%d/task/%d/exe", os.Getpid(), none), fmt.Sprintf("/proc/%d/task/%d/root%s", os.Getpid(), none, own)} {
		f, err := Regular(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got, err := f.Stat(); err != nil || !os.SameFile(want, got) {
			t.Errorf("%s: %v, %v", path, got, err)
		}
		_ = f.Close()
	}
	for _, path := range []string{fmt.Sprintf("/proc/%d/task/%d/environ", os.Getpid(), none), fmt.Sprintf("/proc/%d/task/1/exe", none), fmt.Sprintf("/proc/%d/task/%d/root/nosuchfile", os.Getpid(), os.Getpid())} {
		if _, err := Regular(path); err == nil {
			t.Errorf("%s is there", path)
		}
	}
}
