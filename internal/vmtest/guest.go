package vmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// mounts are the file systems of a guest, in the order in which they are mounted.
// Those that may be missing in a kernel are named in the problem they cause.
var mounts = []struct{ kind, at string }{
	{"devtmpfs", "/dev"},
	{"proc", "/proc"},
	{"sysfs", "/sys"},
	{"tmpfs", "/tmp"},
	{"tmpfs", "/run"},
	{"tracefs", "/sys/kernel/tracing"},
	{"debugfs", "/sys/kernel/debug"},
	{"bpf", "/sys/fs/bpf"},
	{"cgroup2", "/sys/fs/cgroup"},
}

// resultLine is the device of the serial line that carries the frames.
var resultLine = boardOf(runtime.GOARCH).lines[0]

// initMain is PID 1. It also prints errors on the console, because the result line may be broken.
func initMain() {
	problem := mountAll()
	line, err := openLine()
	if err != nil {
		powerOff(fmt.Errorf("%v; %w", problem, err))
	}
	out := &frameWriter{w: line}
	end := ending{Status: -1}
	if problem == nil {
		if problem = network(); problem == nil {
			problem = out.send(frameHello, mustJSON(sayHello()))
		}
	}
	if problem == nil {
		go beat(out)
		end, problem = runTests(out)
	}
	if problem != nil {
		end.Problem = problem.Error()
	}
	err = out.send(frameEnd, mustJSON(end))
	// TCSBRK with an argument waits until everything has been sent.
	err = errors.Join(err, unix.IoctlSetInt(int(line.Fd()), unix.TCSBRK, 1))
	powerOff(errors.Join(problem, err))
}

// powerOff ends the machine.
func powerOff(problem error) {
	if problem != nil {
		fmt.Println("vmtest: init:", problem)
	}
	unix.Sync()
	err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	// Init's end makes the kernel panic, which ends QEMU.
	panic(fmt.Sprint("powering off: ", err))
}

func mountAll() error {
	var errs []error
	for _, m := range mounts {
		err := os.MkdirAll(m.at, 0o755)
		if err == nil {
			err = unix.Mount(m.kind, m.at, m.kind, 0, "")
		}
		// devtmpfs may have been mounted by the kernel, tracefs by debugfs.
		if err != nil && err != unix.EBUSY {
			errs = append(errs, fmt.Errorf("mounting %s on %s: %w", m.kind, m.at, err))
		}
	}
	return errors.Join(errs...)
}

// openLine opens the result line so that bytes go through it as they are.
func openLine() (*os.File, error) {
	fd, err := unix.Open(resultLine, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", resultLine, err)
	}
	tio, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("reading the settings of %s: %w", resultLine, err)
	}
	tio.Iflag, tio.Oflag, tio.Lflag = 0, 0, 0
	tio.Cflag = unix.CS8 | unix.CREAD | unix.CLOCAL | unix.B115200
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, tio); err != nil {
		return nil, fmt.Errorf("setting %s: %w", resultLine, err)
	}
	return os.NewFile(uintptr(fd), resultLine), nil
}

// network sets up the loopback interface and names the machine.
func network() error {
	if err := unix.Sethostname([]byte("guest")); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("making a socket: %w", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("setting up the loopback interface: %w", err)
	}
	return nil
}

func sayHello() hello {
	var h hello
	if b, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		h.Release = strings.TrimSpace(string(b))
	}
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err == nil {
		h.Uptime = float64(ts.Nano()) / 1e9
	}
	return h
}

// beat prints a line every second while the machine runs.
func beat(out *frameWriter) {
	for range time.Tick(time.Second) {
		_ = out.send(frameBeat, nil) // a broken line shows when the end is sent
	}
}

// runTests starts the test binary, forwards its output and waits for its end. It is a new process, because this
// one was started without /proc and the other file systems, and libraries have already tried to use them.
func runTests(out *frameWriter) (ending, error) {
	end := ending{Status: -1}
	var todo plan
	if b, err := os.ReadFile(planPath); err != nil {
		return end, err
	} else if err := json.Unmarshal(b, &todo); err != nil {
		return end, fmt.Errorf("%s: %w", planPath, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return end, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return end, err
	}
	env := []string{guestVar + "=" + asTest, "PATH=/bin:/sbin:/usr/bin:/usr/sbin", "HOME=/root", "TMPDIR=/tmp"}
	proc, err := os.StartProcess(initPath, append([]string{initPath}, todo.Args...), &os.ProcAttr{
		Dir: "/", Env: append(env, todo.Env...), Files: []*os.File{null, w, w},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return end, fmt.Errorf("starting the test binary: %w", err)
	}
	null.Close()
	w.Close()
	done := make(chan error, 1)
	go func() { done <- passOn(r, out) }()
	status := reap(proc.Pid)
	if status.Exited() {
		end.Status = status.ExitStatus()
	} else {
		end.Signal = unix.SignalName(status.Signal())
	}
	// Processes that the tests left behind may keep the pipe open: without them it ends behind the last byte.
	if err := unix.Kill(-1, unix.SIGKILL); err != nil && err != unix.ESRCH {
		return end, fmt.Errorf("ending what the tests left behind: %w", err)
	}
	return end, <-done
}

// reap waits for the process and, as PID 1 must, for every other that ends until then.
func reap(pid int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		if err == nil && got == pid {
			return status
		}
		if err != nil && err != syscall.EINTR {
			panic("BUG: the test binary is no child of init: " + err.Error())
		}
	}
}

// passOn forwards output until all writers are closed. If a test crashes the machine, its earlier output must
// already be sent, or the test could not be identified. So this thread has a real-time priority: there is one
// processor, and the test binary does not return from its write before this thread and the line's interrupts
// have finished.
func passOn(r *os.File, out *frameWriter) error {
	runtime.LockOSThread()
	attr := unix.SchedAttr{
		Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1,
		Flags: unix.SCHED_FLAG_RESET_ON_FORK, // no other thread gets it
	}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return fmt.Errorf("raising the priority of the thread that passes output on: %w", err)
	}
	defer r.Close()
	fd := int(r.Fd())
	if err := unix.SetNonblock(fd, false); err != nil { // no detour by the runtime's poller
		return fmt.Errorf("reading the tests' output: %w", err)
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Read(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if n <= 0 || err != nil {
			return err
		}
		if err := out.send(frameOutput, buf[:n]); err != nil {
			return fmt.Errorf("sending the tests' output: %w", err)
		}
	}
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return b
}
