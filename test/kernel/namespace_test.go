package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// inside runs a command in new PID and mount namespaces, with a /proc of their own.
func inside(c *exec.Cmd) {
	c.Path = "/usr/bin/unshare"
	c.Args = append([]string{"unshare", "-pfm", "--mount-proc"}, c.Args...)
}

// said parses the last line of testdata/inside.c.
func said(t *testing.T, out string) (pid int, threads [2]int, which int) {
	t.Helper()
	_, line, _ := strings.Cut(out, "pid ")
	if n, err := fmt.Sscanf(line, "%d threads %d %d works %d", &pid, &threads[0], &threads[1], &which); n != 4 {
		t.Fatalf("the program said %q: %v", out, err)
	}
	return pid, threads, which
}

// libraries are two with a function of one name, at different addresses.
func libraries(t *testing.T) (prog, one, two string) {
	return compile(t, "gcc", "inside.c", "-O1", "-pthread"),
		compile(t, "gcc", "inside.c", "-O1", "-g", "-shared", "-fPIC", "-DWHICH=1"),
		compile(t, "gcc", "inside.c", "-O1", "-g", "-shared", "-fPIC", "-DWHICH=7")
}

// TestInNamespace: jalon runs in a PID namespace. Nothing is lost, and both engines report threads and
// processes by their numbers in this namespace.
func TestInNamespace(t *testing.T) {
	tool(t, "unshare")
	prog, lib, _ := libraries(t)
	const n = 500
	mark := "tracepoint:syscalls:sys_enter_gettid"
	for _, tt := range []struct {
		name string
		args []string
		hits map[string]uint64 // by place
	}{
		{"kernel engine", []string{"uprobe:" + lib + ":work", "--engine=kernel"}, map[string]uint64{"uprobe:" + lib + ":work": 2*n + 1}},
		{"in the process", []string{"uprobe:" + lib + ":work", "--pending"}, map[string]uint64{"uprobe:" + lib + ":work": 2*n + 1}},
		{"both", []string{"uprobe:" + lib + ":work", mark, "--pending"}, map[string]uint64{"uprobe:" + lib + ":work": 2*n + 1, mark: 2}},
		{"returns, kernel engine", []string{"uretprobe:" + lib + ":work", "--engine=kernel"}, map[string]uint64{"uretprobe:" + lib + ":work": 2*n + 1}},
		{"returns", []string{"uretprobe:" + lib + ":work", "--pending"}, map[string]uint64{"uretprobe:" + lib + ":work": 2*n + 1}},
		{"all processes", []string{"uprobe:" + lib + ":work", "--all"}, map[string]uint64{"uprobe:" + lib + ":work": 2*n + 1}},
		{"by condition", []string{mark + " if ($pid == tid || $pid < 100)"}, map[string]uint64{mark: 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tr := beginCmd(t, inside, append(tt.args, "--", prog, lib, strconv.Itoa(n))...).wait()
			pid, threads, _ := said(t, tr.Out.String())
			got, strange := map[string]uint64{}, 0
			for _, ev := range tr.events() {
				got[ev.Place]++
				if ev.Pid != pid || !slices.Contains(threads[:], ev.Tid) {
					if strange++; strange < 4 {
						t.Errorf("%s: process %d thread %d, not %d and one of %v", ev.Place, ev.Pid, ev.Tid, pid, threads)
					}
				}
			}
			for place, want := range tt.hits {
				if got[place] != want {
					t.Errorf("%d events of %s, want %d\n%s", got[place], place, want, tr.Errs.String())
				}
			}
			if pid > 100 {
				t.Errorf("the program is process %d: no namespace", pid)
			}
		})
	}
}

// TestOtherNamespaces: jalon traces a process in other namespaces by its number outside. A path is resolved
// to the process's file, not to jalon's.
func TestOtherNamespaces(t *testing.T) {
	tool(t, "unshare")
	prog, host, other := libraries(t)
	const n = 200
	dirs := t.TempDir()
	for _, d := range []string{"upper", "work", "lower"} {
		if err := os.Mkdir(filepath.Join(dirs, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := exec.Command("cp", other, filepath.Join(dirs, "lower", filepath.Base(host))).Run(); err != nil {
		t.Fatal(err)
	}
	for _, mount := range []struct{ name, script string }{
		{"bind", "mount --bind " + other + " " + host},
		{"overlay", fmt.Sprintf("mount -t tmpfs none %[1]s/upper && mkdir %[1]s/upper/u %[1]s/upper/w && mount -t overlay none -o lowerdir=%[1]s/lower,upperdir=%[1]s/upper/u,workdir=%[1]s/upper/w %[2]s", dirs, filepath.Dir(host))},
	} {
		for _, engine := range []string{"kernel", "auto"} {
			t.Run(mount.name+" "+engine, func(t *testing.T) {
				script := mount.script + ` && exec "$@"`
				target := start(t, "unshare", "-pfm", "--mount-proc", "sh", "-c", script, "sh", prog, host, strconv.Itoa(n), "wait")
				target.AwaitOut("ready")
				pid := child(t, target.Pid())
				tr := begin(t, "uprobe:"+host+":work", "--engine="+engine, "-c", "n, $bt", "-p", strconv.Itoa(pid)).armed()
				target.Send("go")
				target.Wait()
				tr.wait()
				within, _, which := said(t, target.Out.String())
				if which != 7 || within > 100 {
					t.Fatalf("library %d, process %d: the namespaces are not what they should be", which, within)
				}
				tr.check("events", uint64(len(tr.events())), 2*n+1)
				tids := map[int]bool{}
				for _, ev := range tr.events() {
					tids[ev.Tid] = true
					if ev.Pid != pid || ev.Function != "work" {
						t.Fatalf("process %d, function %s, want %d and work", ev.Pid, ev.Function, pid)
					}
				}
				if len(tids) != 2 || !tids[pid] {
					t.Errorf("threads %v, want two, with %d", tids, pid)
				}
			})
		}
	}
}

// child is the one child of a process.
func child(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Fatal(err)
	}
	c, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatalf("process %d has the children %q", pid, b)
	}
	return c
}

// TestForeignProc: jalon refuses to start with the /proc of another PID namespace.
func TestForeignProc(t *testing.T) {
	tool(t, "unshare")
	prog, lib, _ := libraries(t)
	for _, engine := range []string{"kernel", "auto"} {
		tr := beginCmd(t, func(c *exec.Cmd) {
			c.Path, c.Args = "/usr/bin/unshare", append([]string{"unshare", "-pf"}, c.Args...)
		}, "uprobe:"+lib+":work", "--engine="+engine, "--", prog, lib, "1").wait()
		if text := tr.Errs.String(); tr.Status == 0 || !strings.Contains(text, "/proc belongs to another PID namespace") || tr.Out.String() != "" {
			t.Errorf("status %d, output %q:\n%s", tr.Status, tr.Out.String(), text)
		}
	}
}
