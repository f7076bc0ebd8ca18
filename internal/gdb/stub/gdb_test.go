package stub

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// running lets a fake run by itself: a thread that is stepped moves one byte; one
// that is resumed meets the first breakpoint of its process, or its process ends.
type running struct{ *fake }

func (f running) Resume(list []Resumption) error {
	err := f.fake.Resume(list)
	for _, r := range list {
		t := f.thread(r.Thread)
		if t == nil {
			continue // another one has ended the process
		}
		if r.Step {
			f.setReg(t, "rip", f.reg(t, "rip")+1)
			f.happen(Stop{Kind: StopStep, Thread: r.Thread})
			continue
		}
		if r.Thread.TID != r.Thread.PID {
			continue // it runs and runs
		}
		hit := false
		for key := range f.procs[r.Thread.PID].breaks {
			f.setReg(t, "rip", key.addr)
			f.happen(Stop{Kind: StopBreakpoint, Thread: r.Thread, Addr: key.addr})
			hit = true
			break
		}
		if !hit {
			f.exit(Stop{Kind: StopExited, Thread: ThreadID{PID: r.Thread.PID}, Code: 3})
		}
	}
	return err
}

func (f *fake) reg(t *fakeThread, name string) uint64 {
	for _, r := range f.desc.Registers {
		if r.Name == name {
			var v uint64
			for i := 7; i >= 0; i-- {
				v = v<<8 | uint64(t.regs[r.Offset+i])
			}
			return v
		}
	}
	return 0
}

// TestGDB: GDB works with it as with any stub, over a connection that it leaves and
// makes again.
func TestGDB(t *testing.T) {
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Fatal("GDB is what this is for: install gdb: ", err)
	}
	for _, mode := range []string{"off", "on"} {
		t.Run("non-stop "+mode, func(t *testing.T) { converse(t, gdb, mode) })
	}
}

func converse(t *testing.T, gdb, nonStop string) {
	f := newFake(Caps{})
	threads := 2
	if nonStop == "on" {
		threads = 1 // the stop of another ends GDB's wait for that of the first
	}
	pid := f.start(threads)
	e := &fakeExperiment{size: f.desc.Size, frame: -1}
	f.lossOK = func() bool { return true } // reports are not noted here
	target := running{f}
	m := New(target, e, Config{First: []Stop{{Kind: StopHalted, Thread: ThreadID{pid, pid}}}})
	place := filepath.Join(t.TempDir(), "gdb.sock")
	l, err := rsp.Listen("unix:" + place)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		status, err := Serve(ctx, l, target, m)
		if status != 0 {
			t.Errorf("status %d", status)
		}
		ended <- err
	}()
	script := filepath.Join(t.TempDir(), "script")
	commands := []string{
		"set non-stop " + nonStop, "target remote " + place,
		"print/x $rip", "x/4xb 0x400000", "set var *(char *)0x400001 = 0x55", "x/2xb 0x400000",
		"break *0x400010", "continue", "stepi", "print/x $rip", "continue", "print $_thread",
		"set var $rax = 0x123456789a", "print/x $rax", fmt.Sprintf("thread %d", threads), "info threads", "thread 1",
		"monitor list", "disconnect", "target remote " + place, "print/x $rax",
		"find /b 0x400000, +0x100, 0x55, 0x0e", "delete", "continue",
	}
	if err := os.WriteFile(script, []byte(strings.Join(commands, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, gdb, "-l", "60", "-nx", "-q", "-batch", "-x", script)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("gdb: %v", err)
	}
	select {
	case err := <-ended: // there is no process any more
		if err != nil {
			t.Errorf("serve: %v", err)
		}
	case <-ctx.Done():
		t.Error("the server goes on")
	}
	for _, want := range []string{
		"$1 = 0x400040", "0x400000:\t0x00\t0x07\t0x0e\t0x15", "0x400000:\t0x00\t0x55",
		"Breakpoint 1, 0x0000000000400010 in ?? ()", "$2 = 0x400011", "$3 = 1", "$4 = 0x123456789a",
		fmt.Sprintf("* %d ", threads), fmt.Sprintf("the thread %d", pid+threads-1), "nothing\n", "$5 = 0x123456789a", "0x400001\n1 pattern found.",
		"exited with code 03]",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q", want)
		}
	}
	for _, s := range f.complaints {
		t.Errorf("the target was asked wrongly: %s", s)
	}
	if t.Failed() {
		t.Logf("gdb said:\n%s", out)
	}
}
