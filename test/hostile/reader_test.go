package hostile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/test/testkit"
)

// unread is an output whose reader does not read. A test writes to one end, and reads from the other after
// jalon has ended.
type unread struct {
	read, write *os.File
	path        string // for -o; "": it is standard output
}

func unreadPipe(t *testing.T) unread {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return unread{read: r, write: w}
}

func unreadFIFO(t *testing.T) unread {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return unread{r, f, path}
}

// unreadTerminal is one whose output is not shown.
func unreadTerminal(t *testing.T) unread {
	m, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(m.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(m.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	s, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return unread{read: m, write: s}
}

// lines counts jalon's output after jalon has closed its end.
func (u unread) lines(t *testing.T) uint64 {
	u.write.Close()
	_ = u.read.SetReadDeadline(time.Time{})
	text, err := io.ReadAll(u.read)
	if err != nil && !strings.Contains(err.Error(), "input/output error") { // a terminal's end
		t.Fatal(err)
	}
	return uint64(bytes.Count(text, []byte("\n")))
}

// spin is a program that calls work without end.
func spin(t *testing.T) string {
	prog := filepath.Join(dir, "spin")
	write(t, prog+".c", `#include <unistd.h>
volatile int n;
__attribute__((noinline)) int work(int i) { n += i; return n * 3 + 1; }
int main(void) { for (int i = 0;; i++) { work(i); if (!(i & 255)) usleep(50); } }`)
	gcc(t, "-O1", "-g", "-o", prog, prog+".c")
	return prog
}

// TestReaderStops: if the reader of the output stops reading, jalon still ends the trace and detaches from
// the program. Recorded events are written or counted. The output is read after jalon has ended: Wait fails
// if jalon waits for its reader.
func TestReaderStops(t *testing.T) {
	prog := spin(t)
	stop := func(sig syscall.Signal) func(*testkit.Process) {
		return func(p *testkit.Process) { p.Signal(sig) }
	}
	for _, c := range []struct {
		name string
		out  func(*testing.T) unread
		args []string
		end  func(*testkit.Process) // nil: jalon ends without a signal
		both bool                   // standard error goes to the output, too
	}{
		{"time", unreadPipe, []string{"-d", "300ms"}, nil, false},
		{"SIGTERM", unreadPipe, nil, stop(syscall.SIGTERM), false},
		{"SIGINT", unreadPipe, nil, stop(syscall.SIGINT), false},
		{"FIFO", unreadFIFO, []string{"-d", "300ms", "-f", "json"}, nil, false},
		{"terminal", unreadTerminal, []string{"-d", "300ms"}, nil, false},
		{"messages", unreadPipe, []string{"-d", "300ms", "-v"}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // each waits for two seconds
			target := testkit.Start(t, prog)
			u := c.out(t)
			defer u.read.Close()
			defer u.write.Close()
			args := append([]string{"trace", "work", "-c", "i", "--summary-json", "-p", fmt.Sprint(target.Pid())}, c.args...)
			if u.path != "" {
				args = append(args, "-o", u.path)
			}
			cmd := exec.Command(jalon, args...)
			if u.path == "" {
				cmd.Stdout = u.write
			}
			if c.both {
				cmd.Stderr = u.write
			}
			p := testkit.StartCmd(t, cmd)
			if c.end != nil {
				testkit.Eventually(t, "a full output", func() bool { return u.full(t) })
				c.end(p)
			}
			p.Wait()
			if p.Status != 0 {
				t.Fatalf("status %d: %s", p.Status, p.Errs.String())
			}
			if tracer := testkit.TracerOf(target.Pid()); tracer != 0 || !testkit.Alive(target.Pid()) {
				t.Errorf("the program is traced by %d, alive: %v", tracer, testkit.Alive(target.Pid()))
			}
			got := u.lines(t)
			if c.both {
				return // its summary is where the events are
			}
			sum := testkit.TotalsOf(t, c.name, p.Errs.String())
			if sum.Unshown == 0 || got+sum.Unshown != sum.Recorded {
				t.Errorf("%d lines written, %d events not shown, %d recorded", got, sum.Unshown, sum.Recorded)
			}
		})
	}
}

// full reports that the output is full. (The capacity of a pipe in bytes depends on the sizes of the
// writes.)
func (u unread) full(t *testing.T) bool {
	ready := []unix.PollFd{{Fd: int32(u.write.Fd()), Events: unix.POLLOUT}}
	if _, err := unix.Poll(ready, 0); err != nil && err != unix.EINTR {
		t.Fatal(err)
	}
	return ready[0].Revents&unix.POLLOUT == 0
}

// TestReaderOfSome: when the requested number of events is reached, jalon detaches from the program; the
// reader, such as a pager, gets all events whenever it reads.
func TestReaderOfSome(t *testing.T) {
	const wanted = 20000
	target := testkit.Start(t, spin(t))
	u := unreadPipe(t)
	defer u.read.Close()
	cmd := exec.Command(jalon, "trace", "work", "-c", "i", "--summary-json", "-n", fmt.Sprint(wanted), "-p", fmt.Sprint(target.Pid()))
	cmd.Stdout = u.write
	p := testkit.StartCmd(t, cmd)
	testkit.Eventually(t, "a full output", func() bool { return u.full(t) })
	testkit.Eventually(t, "the program's release", func() bool { return testkit.TracerOf(target.Pid()) == 0 })
	lines := u.lines(t)
	sum := testkit.TotalsOf(t, "some", p.Wait().Errs.String())
	if lines != wanted || sum.Unshown != 0 || !testkit.Alive(target.Pid()) {
		t.Errorf("%d lines of %d, %+v", lines, wanted, sum)
	}
}

// TestReaderWaits: without a request to end, jalon waits for its reader, which receives everything.
func TestReaderWaits(t *testing.T) {
	prog := filepath.Join(dir, "counted")
	write(t, prog+".c", `__attribute__((noinline)) int work(int n) { __asm__ volatile(""); return n + 1; }
int main(void) { int n = 0; while (n < 30000) n = work(n); return 0; }`)
	gcc(t, "-O1", "-g", "-o", prog, prog+".c")
	u := unreadPipe(t)
	defer u.read.Close()
	cmd := exec.Command(jalon, "trace", "work", "-c", "n", "--summary-json", "--", prog)
	cmd.Stdout = u.write
	p := testkit.StartCmd(t, cmd)
	testkit.Eventually(t, "a full output", func() bool { return u.full(t) })
	u.write.Close()
	testkit.Eventually(t, "the end of the program", func() bool {
		out, err := exec.Command("pgrep", "-P", fmt.Sprint(p.Pid())).Output()
		return err != nil && len(out) == 0
	})
	lines := uint64(0)
	for sc := bufio.NewScanner(u.read); sc.Scan(); lines++ {
	}
	sum := testkit.TotalsOf(t, "counted", p.Wait().Errs.String())
	if lines != 30000 || sum.Unshown != 0 || sum.Lost != 0 {
		t.Errorf("%d lines of 30000, %+v", lines, sum)
	}
}
