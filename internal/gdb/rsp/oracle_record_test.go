package rsp

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long one session of GDB may take.
const patience = 5 * time.Minute

// message is what one side said.
type message struct {
	fromGDB bool
	kind    FrameKind
	payload []byte
}

// recorder is a proxy between GDB and gdbserver that keeps every frame.
type recorder struct {
	t      *testing.T
	server string // gdbserver's address

	mu       sync.Mutex
	messages []message
	bad      int // frames that did not decode
	skipped  uint64
}

// listen serves GDB until the test ends and returns the address for it.
func (rec *recorder) listen() string {
	l, err := Listen(":0")
	if err != nil {
		rec.t.Fatal(err)
	}
	rec.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			gdb, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", rec.server)
			if err != nil {
				gdb.Close()
				continue
			}
			go func() { rec.copy(server, gdb.(net.Conn), true); server.Close() }()
			rec.copy(gdb.(net.Conn), server, false)
			gdb.Close()
			server.Close()
		}
	}()
	return l.Addr()
}

func (rec *recorder) copy(to, from net.Conn, fromGDB bool) {
	dec := &Decoder{Limit: 1 << 20, Runs: !fromGDB}
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		rec.mu.Lock()
		dec.Feed(buf[:n], func(f Frame) {
			switch f.Kind {
			case FrameAck, FrameNak:
			case FrameBad, FrameTooLong:
				rec.bad++
			default:
				rec.messages = append(rec.messages, message{fromGDB, f.Kind, bytes.Clone(f.Payload)})
			}
		})
		rec.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			rec.mu.Lock()
			rec.skipped += dec.Skipped
			rec.mu.Unlock()
			return
		}
	}
}

// build compiles testdata/session.c into the test's directory. The session that
// traces links gdbserver's in-process agent, which fast tracepoints need, and is no
// PIE, as the agent's jump pads have to be near. The others go without: gdbserver
// 13.1 dies when a program with the agent calls exec.
func build(t *testing.T, dir string, agent bool) string {
	t.Helper()
	bin := filepath.Join(dir, "session")
	args := []string{"-g", "-O1", "-no-pie", "-o", bin, "testdata/session.c", "-lpthread"}
	if agent {
		args = append(args, "-Wl,--no-as-needed", "-l:libinproctrace.so")
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("build testdata/session.c: %v\n%s", err, out)
	}
	return bin
}

var listening = regexp.MustCompile(`Listening on port (\d+)`)

// startServer starts gdbserver and returns its address. It is ended with the test.
func startServer(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	cmd := exec.CommandContext(ctx, "gdbserver", args...)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start gdbserver: %v", err)
	}
	lines := bufio.NewScanner(errs)
	addr := ""
	for addr == "" && lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			addr = "127.0.0.1:" + m[1]
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		for lines.Scan() {
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-drained
		_ = cmd.Wait() // killed, or gone by itself
	})
	if addr == "" {
		t.Fatalf("gdbserver %v does not listen", args)
	}
	return addr
}

// drive runs a script in GDB, each line a command that may fail by itself, and
// returns what GDB prints.
func drive(t *testing.T, script string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "gdb", append([]string{"-l", "60", "-nx", "-q"}, args...)...)
	cmd.Stdin = strings.NewReader("set confirm off\nset pagination off\nset width 0\nset debuginfod enabled off\n" + script)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TERM=dumb")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("GDB hangs; so far:\n%s", out)
	}
	if err != nil {
		t.Fatalf("GDB: %v\n%s", err, out)
	}
	return string(out)
}

// sleeper starts a process to attach to, until the test ends.
func sleeper(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// record runs one script of testdata against gdbserver.
func record(t *testing.T, name string, serverArgs ...string) (*recorder, string, string) {
	t.Helper()
	dir := t.TempDir()
	bin := build(t, dir, name == "trace")
	text, err := os.ReadFile("testdata/" + name + ".gdb")
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, a := range serverArgs {
		args = append(args, strings.ReplaceAll(a, "PROGRAM", bin))
	}
	rec := &recorder{t: t, server: startServer(t, args...)}
	script := strings.NewReplacer("ADDRESS", rec.listen(), "DIR", dir, "PROGRAM", bin,
		"SLEEPER", strconv.Itoa(sleeper(t))).Replace(string(text))
	out := drive(t, script, bin)
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.bad > 0 || rec.skipped > 0 {
		t.Errorf("%s: %d bad frames, %d bytes outside frames", name, rec.bad, rec.skipped)
	}
	return rec, out, dir
}
