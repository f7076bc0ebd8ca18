package inproc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/patch"
)

// TestListedTactics: the tactics that `jalon list --tactics` derives from the file are those that arming
// chooses from the memory of a process, at the functions of whole libraries and at addresses inside them.
func TestListedTactics(t *testing.T) {
	progs := []string{"/usr/bin/lua5.4", "/usr/bin/sqlite3"}
	every := uint64(10)
	if os.Getenv("JALON_FULL") != "" {
		progs = append(progs, "/usr/bin/python3", "/usr/bin/redis-server")
		every = 1
	}
	for _, prog := range progs {
		pid := waiting(t, prog)
		maps, err := InspectProcess(pid, dwarf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, in := range maps {
			if !strings.Contains(in.Path, "vdso") {
				compareTactics(t, pid, in, every)
			}
		}
	}
}

// waiting starts a program, which waits for input when its libraries are loaded.
func waiting(t *testing.T, prog string) int {
	cmd := exec.Command(prog, map[string][]string{
		"lua5.4": {"-"}, "python3": {"-c", "import ssl, sqlite3; input()"}, "redis-server": {"--port", "0", "--save", "", "--unixsocket", filepath.Join(t.TempDir(), "s")},
	}[filepath.Base(prog)]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		in.Close()
	})
	for limit := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Millisecond) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", cmd.Process.Pid))
		call, _, _ := strings.Cut(string(b), " ")
		if strings.HasPrefix(string(b), "0 0x0 ") || call == "232" || call == "281" { // read of standard input; epoll_wait
			return cmd.Process.Pid
		}
		if time.Now().After(limit) {
			t.Fatalf("%s does not wait for input: %s", prog, b)
		}
	}
}

// compareTactics plans every n-th function, and an instruction in it, by the file and by the memory of the
// process.
func compareTactics(t *testing.T, pid int, live *Inspected, every uint64) {
	t.Helper()
	mem, err := openMem(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	read := func(addr uint64, n int) ([]byte, error) {
		b := make([]byte, n)
		_, err := io.ReadFull(io.NewSectionReader(mem, int64(addr), int64(n)), b)
		return b, err
	}
	file, err := InspectFile(live.File(), dwarf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	count := map[patch.Tactic]int{}
	sites := 0
	for i, f := range file.Info.Functions("*") {
		if f.Ranges == nil || uint64(i)%every != 0 {
			continue
		}
		places := []uint64{f.Lo}
		if p, err := file.mod.planAt(f.Lo, file.mod.fromFile); err == nil {
			for range 3 {
				last := p.Insts[len(p.Insts)-1]
				at := last.Next() - file.mod.bias
				if p, err = file.mod.planAt(at, file.mod.fromFile); err != nil || at >= f.Hi {
					break
				}
				places = append(places, at)
			}
		}
		for _, at := range places {
			a, errA := file.mod.planAt(at, file.mod.fromFile)
			b, errB := live.mod.planAt(at, read)
			sites++
			if errA == nil && errB == nil {
				count[b.Tactic]++
				if a.Tactic == b.Tactic && len(a.Insts) == len(b.Insts) {
					continue
				}
				t.Errorf("%s: %s+%d: listed as %v %v, armed as %v %v", live.Path, f.Name, at-f.Lo, a.Tactic, a.Refused, b.Tactic, b.Refused)
			} else if (errA == nil) != (errB == nil) {
				t.Errorf("%s: %s+%d: listed: %v, armed: %v", live.Path, f.Name, at-f.Lo, errA, errB)
			}
		}
	}
	t.Logf("%s: %d sites: %v", filepath.Base(live.Path), sites, count)
}
