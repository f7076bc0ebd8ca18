package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

// TestMain also is the second jalon of tests that need one to die.
func TestMain(m *testing.M) {
	if role := os.Getenv("PROCESS_TEST_ROLE"); role != "" {
		go endWith(os.Getppid())
		roles[role]()
		os.Exit(0)
	}
	fds := openFiles()
	code := m.Run()
	if code == 0 {
		code = checkLeaks(fds)
	}
	os.RemoveAll(binDir)
	os.Exit(code)
}

// endWith ends this process when its parent has ended, as by the limit of time of the tests.
func endWith(parent int) {
	for range time.Tick(time.Second) {
		if os.Getppid() != parent {
			os.Exit(1)
		}
	}
}

var roles = map[string]func(){}

func openFiles() map[string]string {
	out := map[string]string{}
	ents, _ := os.ReadDir("/proc/self/fd")
	for _, e := range ents {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			out[e.Name()] = to
		}
	}
	return out
}

// checkLeaks looks for descriptors, traced threads and goroutines left behind.
func checkLeaks(before map[string]string) int {
	var fds []string
	for range 1000 {
		if fds = leaked(before); len(fds) == 0 && !strings.Contains(stacks(), "process.launch") {
			return 0
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
	fmt.Fprintf(os.Stderr, "leaked descriptors %q; if a tracer goroutine is left:\n%s\n", fds, stacks())
	return 1
}

// leaked are the files that are open now and were not before. Goroutines that have read to the end of a pipe close it a moment later.
func leaked(before map[string]string) (fds []string) {
	for fd, to := range openFiles() {
		if _, ok := before[fd]; !ok && !strings.Contains(to, "anon_inode") && !strings.HasPrefix(to, "/proc/") {
			fds = append(fds, fd+": "+to)
		}
	}
	return fds
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

var (
	binDir  string
	binOnce sync.Once
)

// build compiles a C program of testdata; flags make a variant.
func build(t *testing.T, name string, flags ...string) string {
	t.Helper()
	binOnce.Do(func() {
		dir, err := os.MkdirTemp("", "process-test")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		binDir = dir
	})
	cc := "gcc"
	if len(flags) > 0 && flags[0] == "musl" {
		cc, flags = "musl-gcc", flags[1:]
	}
	variant := cc + strings.Join(flags, "")
	out := filepath.Join(binDir, name+"-"+strings.NewReplacer("/", "_", " ", "_").Replace(variant))
	if _, err := os.Stat(out); err == nil {
		return out
	}
	args := append([]string{"-O1", "-g", "-w", "-pthread", "-o", out, filepath.Join("testdata", name+".c")}, flags...)
	if msg, err := exec.Command(cc, append(args, "-ldl")...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", cc, name, err, msg)
	}
	return out
}

// run is a program under test with its output collected.
type run struct {
	*Process
	t   *testing.T
	out *output
	in  *os.File
}

// output collects what a program writes and lets one wait for a text.
type output struct {
	mu   sync.Mutex
	cond *sync.Cond
	buf  bytes.Buffer
	eof  bool
	done chan struct{}
	t    testing.TB
	name string   // of the pipe, as /proc/PID/fd has it
	from *os.File // the end that is read
}

func newOutput(t *testing.T) (*output, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := &output{t: t, done: make(chan struct{}), from: r}
	if o.name, err = os.Readlink(fmt.Sprintf("/proc/self/fd/%d", w.Fd())); err != nil {
		t.Fatal(err)
	}
	o.cond = sync.NewCond(&o.mu)
	go func() {
		defer close(o.done)
		defer r.Close()
		b := make([]byte, 4096)
		for {
			n, err := r.Read(b)
			o.mu.Lock()
			o.buf.Write(b[:n])
			o.eof = err != nil
			o.cond.Broadcast()
			o.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return o, w
}

// wait waits until the program has written text.
func (o *output) wait(t *testing.T, text string) {
	t.Helper()
	if !o.has(text) {
		t.Fatalf("output ended without %q:\n%s", text, o.all())
	}
}

// has waits until the program has written text, or has ended without it.
func (o *output) has(text string) bool {
	late := time.AfterFunc(testPatience, func() { _ = o.from.SetReadDeadline(time.Now()) })
	defer late.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for !strings.Contains(o.buf.String(), text) {
		if o.eof {
			return false
		}
		o.cond.Wait()
	}
	return true
}

// testPatience is how long anything may take that a test waits for, on a busy machine.
const testPatience = 5 * time.Minute

// end waits for the end of the output, which every process that has the pipe keeps open:
// one that a test has left behind is killed.
func (o *output) end() {
	o.t.Helper()
	select {
	case <-o.done:
		return
	case <-time.After(testPatience):
	}
	for _, pid := range o.holders() {
		o.t.Errorf("process %d was left behind\n%s", pid, describe(pid))
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	select {
	case <-o.done:
	case <-time.After(testPatience):
		o.t.Error("the output does not end")
		_ = o.from.SetReadDeadline(time.Now())
		<-o.done
	}
}

// holders are the processes that have the pipe, but for this one.
func (o *output) holders() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		fds, _ := filepath.Glob(dir + "/fd/*")
		if pid != os.Getpid() && slices.ContainsFunc(fds, func(fd string) bool {
			to, err := os.Readlink(fd)
			return err == nil && to == o.name
		}) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// all is the whole output.
func (o *output) all() string {
	o.t.Helper()
	o.end()
	return o.buf.String()
}

// start starts a program under trace; it is held at its first instruction.
func start(t *testing.T, cfg Config, argv ...string) *run {
	t.Helper()
	r := &run{t: t}
	o, w := newOutput(t)
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	defer w.Close()
	r.out, r.in = o, in
	p, err := Start(argv, StartOptions{Stdin: stdin, Stdout: w, Stderr: w}, cfg)
	if err != nil {
		in.Close()
		t.Fatal(err)
	}
	r.Process = p
	t.Cleanup(func() { r.end() })
	return r
}

func (r *run) end() {
	r.in.Close()
	select {
	case <-r.Done():
	default:
		if err := r.Kill(); err != nil {
			r.t.Errorf("kill: %v", err)
		}
	}
	r.out.end()
}

// finish lets a held program run to its end.
func (r *run) finish() (string, ExitStatus) {
	r.t.Helper()
	if err := r.Resume(r.Pid()); err != nil {
		r.t.Fatal(err)
	}
	st := r.wait()
	return r.out.all(), st
}

// wait is Wait with a limit, so that a hang shows its goroutines.
func (r *run) wait() ExitStatus {
	r.t.Helper()
	select {
	case <-r.Done():
	case <-time.After(testPatience):
		r.t.Fatalf("the program does not end\n%s", describe(r.Pid()))
	}
	return r.Wait()
}

// describe shows what the threads of a process do.
func describe(pid int) string {
	var b strings.Builder
	tids, _ := sys.ThreadsOf(pid)
	for _, tid := range tids {
		st, err := sys.ReadStatus(tid)
		if err != nil {
			continue
		}
		call, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", tid))
		fmt.Fprintf(&b, "%d %s state %c tracer %d %s", tid, st.Name, st.State, st.Tracer, call)
	}
	return b.String()
}

// native runs a program without trace.
func native(t *testing.T, argv ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// free is a program that runs untraced, to be attached to.
type free struct {
	cmd *exec.Cmd
	out *output
	in  io.WriteCloser
}

func launchFree(t *testing.T, argv ...string) *free {
	t.Helper()
	o, w := newOutput(t)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = w, w
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		o.end()
	})
	return &free{cmd, o, in}
}

func attach(t *testing.T, pid int, cfg Config) *Process {
	t.Helper()
	p, err := Attach(pid, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Detach() })
	return p
}

func stop(t *testing.T, p *Process, f func(*Stopped) error) time.Duration {
	t.Helper()
	pause, err := p.Stopped(f)
	if err != nil {
		t.Fatal(err)
	}
	return pause
}

func mustSyscall(t *testing.T, s *Stopped, nr uint64, args ...uint64) uint64 {
	t.Helper()
	r, err := s.Syscall(nr, args...)
	if err != nil {
		t.Fatalf("syscall %d: %v", nr, err)
	}
	return r
}
