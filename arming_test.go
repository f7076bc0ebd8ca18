package jalon_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jalon-trace/jalon"
)

// TestArmedTogether: hits at places of the kernel count from when all places are armed, not while the others are still being
// attached.
func TestArmedTogether(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("places of the kernel need root")
	}
	cat := exec.Command("cat")
	in, err := cat.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cat.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cat.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cat.Wait()
	}()
	call := func() { // makes cat write once
		if _, err := in.Write([]byte{'.'}); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
			t.Error(err)
		}
	}
	const places = 70 // progress is shown at each 64th
	var list []string
	for i := range places {
		side := []string{"enter", "exit"}[i%2] // the kernel allows 64 programs at one
		list = append(list, fmt.Sprintf("tracepoint:syscalls:sys_%s_write if ($task->tgid == %d)", side, cat.Process.Pid+i<<20))
	}
	tps, err := jalon.Parse(list, nil)
	if err != nil {
		t.Fatal(err)
	}
	early := 0
	tr, err := jalon.Start(t.Context(), jalon.System(), jalon.Options{
		Tracepoints: tps,
		Progress: func(string, int, int) {
			early++
			call()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tr.Close() }()
	const after = 3
	for range after {
		call()
	}
	tr.Stop()
	res, err := tr.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if early == 0 {
		t.Error("no call was made while the places were being attached")
	}
	if got := res.Sites[0].Recorded; got != after {
		t.Errorf("%d records for %d calls; %d were made before", got, after, early)
	}
}

// TestAddedShowsDeadRegister: a place may use a register that the program does not read again. A place that is added later and
// shows the register has its value, and the first one still has its hits.
func TestAddedShowsDeadRegister(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "deadregs")
	if out, err := exec.Command("gcc", "-O2", "-o", prog, "test/programs/deadregs.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tr := start(t, jalon.Command(prog, "long"), one("shown+13", "", "$rax", "$rdi", "$rsi", "$rsp", "$rbx", "$rbp"))
	for ev := range tr.Events() {
		pid := ev.PID
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		break
	}
	for _, place := range []string{"shown+19", "shown+21"} {
		if _, err := tr.Add(t.Context(), jalon.Tracepoint{Place: place, Collect: []string{"$r15"}}); err != nil {
			t.Fatal(err)
		}
	}
	shown := 0
	for ev := range tr.Events() {
		if ev.Schema.Place != "shown+19" {
			continue
		}
		if v, ok := ev.Value(0).Uint64(); !ok || v < 0x1234 || v > 0x1238 {
			t.Fatalf("r15 is %#x", v)
		}
		if shown++; shown == 20 {
			break
		}
	}
	if shown < 20 {
		t.Fatalf("%d events", shown)
	}
	next(t, tr, "$rax")
}
