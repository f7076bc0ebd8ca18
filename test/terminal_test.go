package test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/test/testkit"
)

// terminal is a pseudo-terminal with jalon in its foreground; running is the shell.
type terminal struct {
	*running
	master *os.File
	seen   testkit.Output
}

// atTerminal starts jalon with a terminal of its own as all its streams.
func atTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	zero, n := 0, uint32(0)
	for req, arg := range map[uintptr]unsafe.Pointer{unix.TIOCSPTLCK: unsafe.Pointer(&zero), unix.TIOCGPTN: unsafe.Pointer(&n)} {
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, master.Fd(), req, uintptr(arg)); e != 0 {
			t.Fatal(e)
		}
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	// A shell leads the session: when its leader ends, the kernel ends the foreground.
	cmd := exec.Command("bash", append([]string{"-c", `trap : INT; "$@"; echo "status $?."; exec sleep 1000`, "bash", jalonBin}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	x := &terminal{running: startCmd(t, cmd), master: master}
	go func() { _, _ = io.Copy(&x.seen, master) }() // EIO: the last process has closed the terminal
	return x
}

// until waits for a text at the terminal.
func (x *terminal) until(text string) {
	x.T.Helper()
	defer func() {
		if !strings.Contains(x.seen.String(), text) {
			x.T.Logf("the terminal: %s", tail(x.seen.String()))
		}
	}()
	eventually(x.T, text, func() bool { return strings.Contains(x.seen.String(), text) })
}

// press types Ctrl-C.
func (x *terminal) press() {
	x.T.Helper()
	if _, err := io.WriteString(x.master, "\x03"); err != nil {
		x.T.Fatal(err)
	}
}

var runsOn = regexp.MustCompile(`typist \(pid (\d+)\) runs on`)

// leftRunning returns the program that jalon reports as still running, and checks that it runs.
func (x *terminal) leftRunning() {
	x.T.Helper()
	eventually(x.T, "jalon says what runs on: "+tail(x.seen.String()), func() bool { return runsOn.MatchString(x.seen.String()) })
	pid, _ := strconv.Atoi(runsOn.FindStringSubmatch(x.seen.String())[1])
	if !alive(pid) || tracerOf(pid) != 0 {
		x.T.Errorf("alive %v, traced by %d", alive(pid), tracerOf(pid))
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// starve leaves a process almost no time: it runs only when its CPU is idle, and a loop keeps that busy.
func starve(t *testing.T, pid int) {
	t.Helper()
	var cpus, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !cpus.IsSet(cpu) {
		cpu++
	}
	one.Set(cpu)
	loop := start(t, "sh", "-c", "while :; do :; done")
	for _, p := range []int{pid, loop.Pid()} {
		if err := unix.SchedSetaffinity(p, &one); err != nil {
			t.Fatal(err)
		}
	}
	idle := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
	if err := unix.SchedSetAttr(pid, &idle, 0); err != nil {
		t.Fatal(err)
	}
}

// TestTerminal: Ctrl-C reaches the program that jalon has started, which is traced to its end; jalon
// reports a program that still runs.
func TestTerminal(t *testing.T) {
	prog := compile(t, "gcc", "typist.c", "-g", "-O1")
	places := []string{"trace", "work if (n < 2)", "cleanup", "-c", "n", "--time", "start"}
	begin := func(t *testing.T, mode string, more ...string) *terminal {
		x := atTerminal(t, append(append(append([]string{}, places...), more...), "--", prog, mode)...)
		x.until("at work")
		return x
	}
	t.Run("live", func(t *testing.T) { // maps replace each other on the screen; the text in them does not steer it
		t.Parallel()
		x := atTerminal(t, "run", "--live", "20ms", "-e", `begin { @x["a\x1b]0;owned\x07"] = 1; } interval:ms:300 { exit(); }`)
		x.until("status 0.")
		if s := x.seen.String(); strings.Contains(s, "\x1b]") || !strings.Contains(s, "\x1b[H\x1b[2J@x[a") || !strings.Contains(s, `\x1b]0;owned\x07`) {
			t.Errorf("%q", s)
		}
	})
	t.Run("die", func(t *testing.T) {
		t.Parallel()
		x := begin(t, "die")
		x.press()
		x.until("killed by SIGINT")
		if x.until("status 130."); runsOn.MatchString(x.seen.String()) {
			t.Errorf("what has ended runs on: %s", x.seen.String())
		}
	})
	t.Run("handle", func(t *testing.T) {
		t.Parallel()
		x := begin(t, "handle")
		x.press()
		x.until("exited with status 3")
		if x.until("status 3."); !regexp.MustCompile(`cleanup +n=`).MatchString(x.seen.String()) {
			t.Errorf("the end is not traced: %s", x.seen.String())
		}
	})
	t.Run("handle, starved", func(t *testing.T) {
		t.Parallel()
		x := begin(t, "handle")
		var pid int
		eventually(t, "jalon has a child", func() bool { pid = childOf(childOf(x.Pid())); return pid != 0 })
		starve(t, pid)
		x.press()
		x.until("exited with status 3")
		if x.until("status 3."); !regexp.MustCompile(`cleanup +n=`).MatchString(x.seen.String()) {
			t.Errorf("the end is not traced: %s", x.seen.String())
		}
	})
	t.Run("ignore", func(t *testing.T) {
		t.Parallel()
		x := begin(t, "ignore")
		x.press()
		x.until("continues and is traced; press Ctrl-C again to end the tracing")
		x.press()
		x.leftRunning()
	})
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run("kill "+sig.String(), func(t *testing.T) {
			t.Parallel()
			x := begin(t, "die")
			if err := syscall.Kill(childOf(x.Pid()), sig); err != nil {
				t.Fatal(err)
			}
			x.until("status 0.")
			x.leftRunning()
		})
	}
	for _, limit := range [][]string{{"-n", "1"}, {"-d", "100ms"}} {
		t.Run(limit[0], func(t *testing.T) {
			t.Parallel()
			x := begin(t, "die", limit...)
			x.until("status 0.")
			x.leftRunning()
		})
	}
	t.Run("kernel engine", func(t *testing.T) {
		t.Parallel()
		if os.Geteuid() != 0 {
			t.Skip("the kernel engine needs root")
		}
		x := atTerminal(t, "trace", "-f", "none", "syscall:clock_nanosleep", "--", prog, "die")
		x.until("at work")
		x.press()
		x.until("killed by SIGINT")
		x.until("status 130.")
	})
}
