package process

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestOwnPriority: programs that one thread starts, one after the other, have jalon's priority,
// not that of the tracer's thread.
func TestOwnPriority(t *testing.T) {
	threads := make(chan func())
	defer close(threads)
	go func() {
		runtime.LockOSThread()
		for f := range threads {
			f()
		}
	}()
	const niceField = 19 - 3 // behind the name
	for range 2 {
		out, err := os.CreateTemp(t.TempDir(), "out")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = out.Close() })
		p, err := Start([]string{"cat", "/proc/self/stat"}, StartOptions{Stdout: out, Stderr: os.Stderr}, Config{Go: func(f func()) { threads <- f }})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Resume(p.Pid()); err != nil {
			t.Fatal(err)
		}
		if st := p.Wait(); st.Code != 0 || st.Signal != 0 {
			t.Fatalf("%v", st)
		}
		b, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(got); len(f) <= niceField || f[niceField] != strconv.Itoa(own) {
			t.Errorf("the nice value is not jalon's, %d: %s", own, got)
		}
	}
}
