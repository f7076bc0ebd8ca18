package vmtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bootLimit is how long a guest may take until init answers; some seconds suffice
// on an idle machine.
const bootLimit = 6 * time.Minute

// commandLine is the kernel's. Few messages go over the slow console, but warnings
// do; an oops ends the guest, as its tests prove nothing any more. Mitigations cost
// time in emulation and protect nothing here.
const commandLine = "loglevel=5 panic=-1 oops=panic mitigations=off nowatchdog random.trust_cpu=on " + guestVar + "=" + asInit

// machine is a running QEMU.
type machine struct {
	start   time.Time
	results *os.File // our end of the second serial line
	console tail     // what came over the first one
	exited  chan error
	pid     int
	kill    func()
}

// startMachine starts QEMU with the kernel and the first file system.
func startMachine(cfg Config, kernel string, image []byte) (*machine, error) {
	b := boardOf(Arch)
	qemu, err := exec.LookPath(b.qemu)
	if err != nil {
		return nil, fmt.Errorf("starting a guest: %w: install Debian's %s (scripts/deps.sh test does)", err, b.pkg)
	}
	dir, err := os.MkdirTemp("", "jalon-vm-")
	if err != nil {
		return nil, fmt.Errorf("starting a guest: %w", err)
	}
	initrd := filepath.Join(dir, "initrd")
	if err := os.WriteFile(initrd, image, 0o600); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("starting a guest: %w", err)
	}
	ours, theirs, err := socketPair()
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	memory := cfg.Memory
	if memory == 0 {
		memory = 512 + 4*(len(image)>>20) // the archive, its files, and as much for the tests
	}
	m := &machine{start: time.Now(), results: ours, exited: make(chan error, 1)}
	args := b.options("console="+b.console+" "+b.append+" "+commandLine, cfg)
	args = append(args, "-m", strconv.Itoa(memory)+"M", "-kernel", kernel, "-initrd", initrd)
	cmd := exec.Command(qemu, args...)
	cmd.Stdout, cmd.Stderr = &m.console, &m.console
	cmd.ExtraFiles = []*os.File{theirs}
	// No guest outlives its test, even one that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// The signal comes when the thread ends that started the process.
		runtime.LockOSThread()
		err := cmd.Start()
		theirs.Close()
		started <- err
		if err == nil {
			err = cmd.Wait()
		}
		os.RemoveAll(dir)
		m.exited <- err
	}()
	if err := <-started; err != nil {
		ours.Close()
		return nil, fmt.Errorf("starting %s: %w", qemu, err)
	}
	m.pid = cmd.Process.Pid
	m.kill = func() { _ = cmd.Process.Kill() }
	return m, nil
}

func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making the guest's result line: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "results"), os.NewFile(uintptr(fds[1]), "results of guest"), nil
}

// watch reads the results until the guest is gone, and ends it where it must.
func (m *machine) watch(ctx context.Context, cfg Config) *Report {
	r := &Report{}
	frames := make(chan frame)
	go readFrames(m.results, frames)
	end := time.NewTimer(bootLimit + cfg.timeout() + orDuration(cfg.grace, 30*time.Second))
	silence := time.NewTimer(bootLimit)
	defer end.Stop()
	defer silence.Stop()
	stop := func(format string, args ...any) {
		if !r.stopped {
			r.stopped = true
			r.problem(format, args...)
			m.kill()
		}
	}
	done := ctx.Done()
	for frames != nil {
		select {
		case f, ok := <-frames:
			if !ok {
				frames = nil
				break
			}
			if err := r.take(f, time.Since(m.start)); err != nil {
				stop("%v", err)
			}
			if f.kind == frameHello {
				end.Reset(cfg.timeout() + orDuration(cfg.grace, 30*time.Second))
			}
			if r.hello != nil {
				silence.Reset(orDuration(cfg.Silence, 3*time.Minute))
			}
		case <-silence.C:
			if r.hello == nil {
				stop("the guest did not boot in %v", bootLimit)
			} else {
				stop("the guest hangs: no sign of life for %v", orDuration(cfg.Silence, 3*time.Minute))
			}
		case <-end.C:
			stop("the tests do not end: %v over and the test binary's own limit did not stop them", cfg.timeout())
		case <-done:
			done = nil
			stop("the guest was ended: %v", context.Cause(ctx))
		}
	}
	// The line is closed: QEMU is about to end.
	select {
	case r.exit = <-m.exited:
	case <-time.After(10 * time.Second):
		stop("QEMU does not end after its result line was closed")
		r.exit = <-m.exited
	}
	m.results.Close()
	r.Total = time.Since(m.start)
	r.Console = m.console.String()
	return r
}

// frame is what readFrames passes on: a frame, or the error that ended the line.
type frame struct {
	kind    frameKind
	payload []byte
	err     error
}

// readFrames reads frames until the end of the line or the first damage; after
// damage it reads on, since QEMU would wait for a reader.
func readFrames(line io.Reader, to chan<- frame) {
	defer close(to)
	in := bufio.NewReader(line)
	for {
		kind, payload, err := readFrame(in)
		if err == io.EOF || errors.Is(err, syscall.ECONNRESET) {
			return
		}
		to <- frame{kind, payload, err}
		if err != nil {
			_, _ = io.Copy(io.Discard, in)
			return
		}
	}
}

// take notes what a frame says.
func (r *Report) take(f frame, at time.Duration) error {
	if f.err != nil {
		return f.err
	}
	if r.ending != nil {
		return fmt.Errorf("%w: a frame of kind %q after the last one", errFrame, f.kind)
	}
	if f.kind != frameHello && f.kind != frameEnd && r.hello == nil {
		return fmt.Errorf("%w: a frame of kind %q before the first one", errFrame, f.kind)
	}
	switch f.kind {
	case frameBeat:
		return nil
	case frameOutput:
		r.raw = append(r.raw, f.payload...)
		return nil
	case frameHello:
		r.hello, r.Boot = &hello{}, at
		return decode(f, r.hello)
	case frameEnd:
		r.ending = &ending{}
		return decode(f, r.ending)
	}
	return fmt.Errorf("%w: a frame of unknown kind %q", errFrame, f.kind)
}

func decode(f frame, to any) error {
	if err := json.Unmarshal(f.payload, to); err != nil {
		return fmt.Errorf("%w: frame of kind %q: %v", errFrame, f.kind, err)
	}
	return nil
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// tailSize is what is kept: an oops with its registers and stack is some 5 kB.
const tailSize = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ReplaceAll(t.buf, []byte("\r\n"), []byte("\n")))
}
