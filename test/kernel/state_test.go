package kernel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctf"
	"github.com/jalon-trace/jalon/test/testkit"
)

// forksOf are the children that a recording has by their fork, with its time.
func forksOf(t *testing.T, dir string) (forks map[int]int64, tr *ctf.Trace) {
	t.Helper()
	tr, err := ctf.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Close)
	forks = map[int]int64{}
	it := tr.Events(ctf.Query{})
	for {
		ev, err := it.Next()
		if errors.Is(err, io.EOF) {
			return forks, tr
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range ev.Schema.Fields {
			if v := ev.Value(i); ev.Schema.Fields[i].Name == "child->pid" && len(v.Data) >= 4 {
				forks[int(v.Data[0])|int(v.Data[1])<<8|int(v.Data[2])<<16|int(v.Data[3])<<24] = ev.TimeNS
			}
		}
	}
}

// spansOf is how many dumps of the state a recording has.
func spansOf(t *testing.T, dir string) int {
	t.Helper()
	tr, err := ctf.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	return len(tr.State.Spans)
}

// TestStateUnderForks: processes that start while the state is read are in the dump or have their fork recorded: none is missing, with
// many forks while dumps are read (JALON_FULL: a thousand).
func TestStateUnderForks(t *testing.T) {
	enough := 50
	if full {
		enough = 1000
	}
	prog := compile(t, "gcc", "manyforks.c", "-O1")
	cmd := exec.Command(prog)
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = in
	x := testkit.StartCmd(t, cmd)
	in.Close()
	x.AwaitOut("ready")
	dir := filepath.Join(t.TempDir(), "run")
	args := []string{jalonBin, "record", "-v", "-o", dir, "--buffer", "16M", "--set", "life"}
	if !full { // without a process, mappings and files of all are read too, which takes longer
		args = append(args, "-p", fmt.Sprint(x.Pid()))
	}
	j := start(t, args...)
	j.AwaitErr("armed after")
	dumps := 1 // of which the forks are counted
	testkit.Eventually(t, "there are enough forks while the state is read", func() bool {
		j.Signal(syscall.SIGUSR1)
		if _, err := os.Stat(filepath.Join(dir, "metadata")); err != nil {
			return false
		}
		if spansOf(t, dir) < dumps {
			return false
		}
		forks, tr := forksOf(t, dir)
		dumps *= 2
		n := 0
		for _, at := range forks {
			for _, s := range tr.State.Spans {
				if s.Since <= at && at <= s.Until {
					n++
					break
				}
			}
		}
		return n >= enough
	})
	w.Close()
	x.Wait()
	if full {
		j.Signal(syscall.SIGINT)
	}
	if p := j.Wait(); p.Status != 0 {
		t.Fatalf("%d: %s", p.Status, p.Errs.String())
	}
	forks, tr := forksOf(t, dir)
	dumped := map[int]bool{}
	for _, p := range tr.State.Processes {
		dumped[p.Pid] = true
	}
	if !tr.State.Dumped || tr.Lost() > 0 || len(tr.State.Interrupts) == 0 {
		t.Fatalf("dumped %t, %d lost, %d interrupts", tr.State.Dumped, tr.Lost(), len(tr.State.Interrupts))
	}
	live, since := 0, false
	lines := strings.Fields(x.Out.String())
	for i, word := range lines[1 : len(lines)-2] {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		_, recorded := forks[pid]
		since = since || recorded
		switch {
		case since && !recorded:
			t.Fatalf("child %d, %d: its fork is not recorded, but that of an older one", i, pid)
		case i < 200 && !recorded && !dumped[pid]:
			t.Fatalf("child %d, %d, lives: it is neither in the dump nor has a fork", i, pid)
		case i < 200 && !recorded:
			live++
		}
	}
	t.Logf("%d children were there before, %d forks, %d dumps", live, len(forks), len(tr.State.Spans))
}

// TestStateOfSmallParts: with small parts only one has the mappings and files of all processes, which could be larger than a part.
func TestStateOfSmallParts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	j := start(t, jalonBin, "record", "-v", "-o", dir, "--size", "64K", "tracepoint:sched:sched_switch")
	j.AwaitErr("armed after")
	states := func() (dumped, whole int) {
		parts, _ := filepath.Glob(filepath.Join(dir, "chunk-*"))
		for _, part := range parts {
			tr, err := ctf.Open(part)
			if err != nil {
				continue // it has just begun
			}
			if tr.State.Dumped {
				dumped++
			}
			if len(tr.State.Mappings) > 0 && len(tr.State.Files) > 0 {
				whole++
			}
			tr.Close()
		}
		return dumped, whole
	}
	testkit.Eventually(t, "three parts have the state", func() bool {
		dumped, _ := states()
		return dumped >= 3
	})
	j.Signal(syscall.SIGINT)
	if p := j.Wait(); p.Status != 0 {
		t.Fatalf("%d: %s", p.Status, p.Errs.String())
	}
	if dumped, whole := states(); whole != 1 {
		t.Errorf("%d of %d states have the mappings and files of all", whole, dumped)
	}
}
