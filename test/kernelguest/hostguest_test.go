package kernelguest

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/vmtest"
	"github.com/jalon-trace/jalon/test/testkit"
)

const (
	exchange = "/bin/exchange"
	messages = 100
)

// TestHostAndGuest records a host and its guest at the same time, and joins the recordings to one line: a process of the host sends messages
// over a serial line to one of the guest, which sends them back. There are events of four layers: that process, QEMU (in the process, where it
// reads and writes the line; and of the host's kernel), the guest's kernel, and the guest's process.
func TestHostAndGuest(t *testing.T) {
	if os.Geteuid() != 0 || vmtest.Arch != "amd64" {
		t.Skip("it needs root, and a guest of this processor")
	}
	f := files(t)
	text, err := os.ReadFile("testdata/exchange.c")
	if err != nil {
		t.Fatal(err)
	}
	f[exchange] = vmtest.StaticC(t, string(text), "-O1")
	host, dir := f[jalon].Host, t.TempDir()
	qemu := make(chan int, 1)
	cfg := vmtest.Config{
		Kernel: "6.12", Run: "^TestGuest_Exchange$", Files: f, Memory: 1024, Line: filepath.Join(dir, "line"),
		Started: func(pid int) { qemu <- pid },
	}
	wait := vmtest.Begin(t, cfg)
	conn, err := dial(t, cfg.Line)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	recordHost(t, conn, host, f[exchange].Host, dir, <-qemu)
	if err := untar(conn, filepath.Join(dir, "guest")); err != nil {
		t.Fatalf("the guest's recording: %v", err)
	}
	wait()
	checkJoined(t, host, dir)
}

// recordHost records the exchange of messages on the host: the process that sends them, and QEMU.
func recordHost(t *testing.T, conn net.Conn, jalon, prog, dir string, qemu int) {
	t.Helper()
	ready := make([]byte, len("ready\n"))
	if _, err := io.ReadFull(conn, ready); err != nil || string(ready) != "ready\n" {
		t.Fatalf("the guest says %q: %v", ready, err)
	}
	line, err := conn.(*net.UnixConn).File()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(prog, "ask", fmt.Sprint(messages), "3")
	cmd.ExtraFiles = []*os.File{line}
	asker := testkit.StartTold(t, cmd)
	line.Close()
	record := func(name string, pid int, args ...string) *testkit.Process {
		p := testkit.Start(t, append([]string{jalon, "record", "-v", "-o", filepath.Join(dir, name), "-p", fmt.Sprint(pid)}, args...)...)
		return p.AwaitErr("armed after")
	}
	process := record("asker", asker.Pid(), "sent", "answered", "-c", "n")
	machine := record("qemu", qemu, "sendmsg", "recvmsg", "-c", "$rdi", "tracepoint:sched:sched_switch", "-c", "args->next_pid")
	asker.Send(".")
	if asker.Wait(); asker.Status != 0 {
		t.Fatalf("the exchange ended with status %d", asker.Status)
	}
	machine.Signal(syscall.SIGINT)
	for _, p := range []*testkit.Process{process, machine} {
		if p.Wait(); p.Status != 0 {
			t.Fatalf("%v: status %d: %s", p.Cmd.Args, p.Status, p.Errs.String())
		}
	}
}

var statedError = regexp.MustCompile(`±([^;]+);`)

// checkJoined joins the recordings, those of the host first, and checks the one line.
func checkJoined(t *testing.T, jalon, dir string) {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	run := func(args ...string) *testkit.Process {
		p := testkit.Start(t, append([]string{jalon}, args...)...).Wait()
		if p.Status != 0 {
			t.Fatalf("%v: status %d: %s", args, p.Status, p.Errs.String())
		}
		return p
	}
	if p := run("merge", at("asker"), at("qemu"), "-o", at("host")); !strings.Contains(p.Errs.String(), "one machine") {
		t.Errorf("the recordings of the host: %s", p.Errs.String())
	}
	p := run("merge", at("host"), at("guest"), "-o", at("both"), "--forth", "sent,received", "--back", "replied,answered", "--key", "n")
	said := p.Errs.String()
	m := statedError.FindStringSubmatch(said)
	if m == nil || !strings.Contains(said, fmt.Sprintf("%d messages to the second trace and %d back", messages, messages)) {
		t.Fatal(said)
	}
	stated, err := time.ParseDuration(m[1])
	if err != nil {
		t.Fatal(err)
	}
	t.Log(strings.TrimSpace(said))
	list := testkit.ParseEvents(t, strings.NewReader(run("report", at("both"), "-f", "json").Out.String()))
	checkLayers(t, list, stated.Nanoseconds())
	for _, to := range []string{"perfetto", "chrome"} {
		file := at("both." + to)
		run("export", at("both"), "--to", to, "-o", file)
		b, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(b, []byte("guest/exchange")) || !bytes.Contains(b, []byte("sendmsg")) {
			t.Errorf("%s: %d bytes, without events of both: %v", to, len(b), err)
		}
	}
}

// checkLayers checks the order of the events of each message on the joined line: times of the guest may be off by the stated error.
func checkLayers(t *testing.T, list []hit, stated int64) {
	t.Helper()
	times := map[string][]int64{}
	for i := range list {
		h := &list[i]
		place := h.Place
		if strings.HasPrefix(h.Comm, "guest/") && strings.HasPrefix(place, "tracepoint:") {
			place = "guest's " + place
		}
		times[place] = append(times[place], h.Time)
	}
	for place, all := range times {
		if !slices.IsSorted(all) {
			t.Errorf("%s: the events are not in the order of time", place)
		}
		t.Logf("%s: %d events", place, len(all))
	}
	within := func(place string, from, to int64) bool {
		i, _ := slices.BinarySearch(times[place], from)
		return i < len(times[place]) && times[place][i] <= to
	}
	for _, place := range []string{"sent", "received", "replied", "answered"} {
		if len(times[place]) != messages {
			t.Fatalf("%d events of %s", len(times[place]), place)
		}
	}
	inKernel := 0
	for i := range messages {
		sent, received, replied, answered := times["sent"][i], times["received"][i], times["replied"][i], times["answered"][i]
		if sent > received || received > replied || replied > answered {
			t.Fatalf("message %d: %d, %d, %d, %d", i, sent, received, replied, answered)
		}
		if !within("recvmsg", sent, received+stated) || !within("sendmsg", replied-stated, answered) {
			t.Errorf("message %d: QEMU did not read it after %d and write it before %d", i, sent, answered)
		}
		if within("guest's tracepoint:sched:sched_switch", sent-stated, answered+stated) && within("tracepoint:sched:sched_switch", sent, answered) {
			inKernel++
		}
	}
	if inKernel == 0 {
		t.Error("no message has switches of both kernels")
	}
}

// TestGuest_Exchange is the guest's part of TestHostAndGuest.
func TestGuest_Exchange(t *testing.T) {
	if err := syscall.Sethostname([]byte("guest")); err != nil {
		t.Fatal(err)
	}
	tty := rawLine(t)
	dir := filepath.Join(t.TempDir(), "run")
	vmtest.Output(t, jalon, "record", "-q", "-o", dir, "received", "replied", "-c", "n", "tracepoint:sched:sched_switch", "-c", "args->next_pid", "--", exchange, "serve", vmtest.Serial)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close()); err != nil {
		t.Fatal(err)
	}
	t.Logf("the recording has %d bytes", b.Len())
	if _, err := tty.Write(binary.LittleEndian.AppendUint64(nil, uint64(b.Len()))); err != nil {
		t.Fatal(err)
	}
	if _, err := tty.Write(b.Bytes()); err != nil {
		t.Fatal(err)
	}
}

// untar reads a recording from the line: its size, and an archive.
func untar(from io.Reader, dir string) error {
	var size [8]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > 1<<30 {
		return fmt.Errorf("an archive of %d bytes", n)
	}
	r := tar.NewReader(io.LimitReader(from, int64(n)))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.FileInfo().Mode()&fs.ModeType != 0 {
			err = os.MkdirAll(path, 0o700)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, b, 0o600)
			}
		}
		if err != nil {
			return err
		}
	}
}
