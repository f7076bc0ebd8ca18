package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
)

// TestUnprivileged runs the tests that matter most as nobody, on its own children.
func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: every test here is unprivileged already")
	}
	const nobody = 65534
	dir, err := os.MkdirTemp("", "nobody")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	must(0, os.Chown(dir, nobody, nobody))
	exe := dir + "/test"
	self := must(os.ReadFile("/proc/self/exe"))
	must(0, os.WriteFile(exe, self, 0o755))
	cmd := exec.Command(exe, "-test.run", "^(TestRunThrough|TestStoppedAtStart|TestSites|TestChildren|TestExec|TestModules|TestGroupStop|TestDeadman|TestSandbox|TestAttachForeign)$")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// TestAttachForeign: a process of another user is refused with the reason.
func TestAttachForeign(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may trace all; TestUnprivileged runs this test as nobody")
	}
	p, err := Attach(1, Config{})
	if err == nil {
		p.Detach()
		t.Fatal("attached to process 1")
	}
	var e *fail.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "belongs to root") || !strings.Contains(e.Remedy, "CAP_SYS_PTRACE") {
		t.Error(err)
	}
}

// TestSandbox: a call that a seccomp filter would kill the program for is not
// made, or made while the filter rests; it is in force again afterwards.
func TestSandbox(t *testing.T) {
	for _, key := range []string{"x", "k"} {
		r := start(t, Config{}, build(t, "sandbox"))
		must(0, r.Resume(r.Pid()))
		r.out.wait(t, "ready")
		_, err := r.Stopped(func(s *Stopped) error {
			_, f, err := s.Memfd("forbidden")
			if err == nil {
				f.Close()
			}
			return err
		})
		var e *fail.Error
		if err != nil && (!errors.As(err, &e) || !strings.Contains(err.Error(), "seccomp")) {
			t.Error(err)
		}
		if err == nil && os.Getuid() != 0 {
			t.Error("no error without privilege")
		}
		fmt.Fprint(r.in, key)
		st, out := r.wait(), r.out.all()
		if key == "x" && (st.Signal != 0 || out != "ready\nread 1\n") || key == "k" && st.Signal != unix.SIGSYS {
			t.Errorf("%v %q", st, out)
		}
	}
}

func init() { roles["terminal"] = terminal }

// terminal is a jalon at a terminal of its own.
func terminal() {
	signal.Notify(make(chan os.Signal, 10), unix.SIGINT) // ignored, the program would ignore it as well
	typed := 0
	p := must(Start([]string{os.Getenv("PROCESS_TEST_PROG"), "echo"},
		StartOptions{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}, Config{OnTyped: func() { typed++ }}))
	must(0, p.Resume(p.Pid()))
	fmt.Printf("pid %d\n", p.Pid())
	fmt.Printf("%v, %d typed\n", p.Wait(), typed)
}

// TestTTYInterrupt: Ctrl-C at the terminal reaches the program, and is distinguished from
// `kill -INT`.
func TestTTYInterrupt(t *testing.T) {
	for _, typed := range []bool{true, false} {
		t.Run(fmt.Sprintf("typed %v", typed), func(t *testing.T) { ttyInterrupt(t, typed) })
	}
}

func ttyInterrupt(t *testing.T, typed bool) {
	master := must(os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0))
	defer master.Close()
	var n uint32
	zero := 0
	for _, c := range []struct {
		req uintptr
		arg unsafe.Pointer
	}{{unix.TIOCSPTLCK, unsafe.Pointer(&zero)}, {unix.TIOCGPTN, unsafe.Pointer(&n)}} {
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, master.Fd(), c.req, uintptr(c.arg)); e != 0 {
			t.Fatal(e)
		}
	}
	tty := must(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "PROCESS_TEST_ROLE=terminal", "PROCESS_TEST_PROG="+build(t, "basic"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must(0, cmd.Start())
	defer tty.Close() // until the end: what is written last is lost once nothing has it open
	late := time.AfterFunc(testPatience, func() { _ = cmd.Process.Kill(); _ = tty.Close() })
	defer late.Stop()
	var seen strings.Builder
	until := func(text string) {
		t.Helper()
		b := make([]byte, 1000)
		for !strings.Contains(seen.String(), text) {
			k, err := master.Read(b)
			seen.Write(b[:k])
			if err != nil {
				t.Fatalf("%v: %q", err, seen.String())
			}
		}
	}
	until("hello")
	until("pid ")
	until("\r\n")
	must(io.WriteString(master, "still here\n"))
	until("still here\r\nstill here")
	if typed {
		must(io.WriteString(master, "\x03"))
		until("killed by SIGINT, 1 typed")
	} else {
		pid := 0
		_, rest, _ := strings.Cut(seen.String(), "pid ")
		must(fmt.Sscan(rest, &pid))
		must(0, unix.Kill(pid, unix.SIGINT))
		until("killed by SIGINT, 0 typed")
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestOwnSIGSYS: a SIGSYS that is on its way to the program's handler when the world is stopped reaches it, whatever
// calls are injected meanwhile.
func TestOwnSIGSYS(t *testing.T) {
	for _, by := range []string{"trap", "dispatch"} {
		t.Run(by, func(t *testing.T) {
			r := start(t, Config{}, build(t, "ownsys"), by)
			must(0, r.Resume(r.Pid()))
			r.out.wait(t, "ready")
			made, refused := 0, 0
			for range 400 {
				_, err := r.Stopped(func(s *Stopped) error {
					_, err := s.Syscall(unix.SYS_GETUID)
					return err
				})
				var e *fail.Error
				switch {
				case err == nil:
					made++
				case by == "dispatch" && errors.As(err, &e) && strings.Contains(err.Error(), "USER_DISPATCH"):
					refused++
				case by == "trap" && errors.As(err, &e) && strings.Contains(err.Error(), "seccomp") && os.Getuid() != 0:
					refused++
				default:
					t.Fatal(err)
				}
			}
			t.Logf("%d calls, %d refused", made, refused)
			fmt.Fprint(r.in, "x")
			if st, out := r.wait(), r.out.all(); st.Code != 0 || out != "ready\nlost 0\n" {
				t.Errorf("%v %q; %d calls, %d refused", st, out, made, refused)
			}
			// With dispatch, the state in which the program is found depends on the processor and the load.
			if made == 0 && by == "trap" && os.Getuid() == 0 {
				t.Errorf("no call was made, %d were refused", refused)
			}
		})
	}
}
