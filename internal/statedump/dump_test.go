package statedump

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// rows is what a dump has of some processes, without the files that are opened for it.
func rows(d *Dump, of func(pid int) bool) (list []string) {
	for _, p := range d.Processes {
		if of(p.Pid) {
			list = append(list, fmt.Sprintf("process %+v", p))
		}
	}
	for _, x := range d.Tasks {
		if of(x.Pid) {
			list = append(list, fmt.Sprintf("thread %+v", x))
		}
	}
	for _, m := range d.Mappings {
		if of(m.Pid) {
			list = append(list, fmt.Sprintf("mapping %+v", m))
		}
	}
	for _, f := range d.Files {
		if of(f.Pid) {
			list = append(list, fmt.Sprintf("file %+v", f))
		}
	}
	slices.Sort(list)
	return list
}

// TestWays: the iterators and /proc have the same of processes that rest.
func TestWays(t *testing.T) {
	resting := resting(t, 5)
	var iterators Reader
	defer iterators.Close()
	if iterators.iterators() == nil {
		t.Skip("the kernel's iterators cannot be used here")
	}
	for _, pid := range []int{0, resting[0]} {
		var all [2][]string
		for i, r := range []*Reader{&iterators, {Proc: true}} {
			d := r.Target(pid)
			r.All(d, pid, pid == 0)
			// The directory of a process may be closed, even for root.
			if !r.Proc && d.Unread != 0 || d.Span.Until <= d.Span.Since || len(d.CPUs) == 0 {
				t.Errorf("%d: %d unread, %+v, %d CPUs", i, d.Unread, d.Span, len(d.CPUs))
			}
			all[i] = rows(d, func(pid int) bool { return slices.Contains(resting, pid) || pid == 2 })
		}
		if !slices.Equal(all[0], all[1]) {
			t.Errorf("by iterators\n%s\nby /proc\n%s", strings.Join(all[0], "\n"), strings.Join(all[1], "\n"))
		}
		if text := strings.Join(all[0], "\n"); strings.Count(text, "process ") < 5 || !strings.Contains(text, "BuildID:") || !strings.Contains(text, "/dev/null") {
			t.Errorf("the rows are\n%s", text)
		}
	}
}

// TestOne: of one process all mappings of files are there, and its command line; of others none.
func TestOne(t *testing.T) {
	pid := resting(t, 1)[0]
	for _, r := range []*Reader{{}, {Proc: true}} {
		d := r.Target(pid)
		r.All(d, pid, false)
		r.Close()
		data := 0
		for _, m := range d.Mappings {
			if m.Pid != pid {
				t.Errorf("%+v", m)
			}
			if strings.Contains(m.Path, "sleep") {
				data++
			}
		}
		if data < 2 {
			t.Errorf("%d mappings of the program: %+v", data, d.Mappings)
		}
		i := slices.IndexFunc(d.Processes, func(p ctf.StateProcess) bool { return p.Pid == pid })
		if i < 0 || d.Processes[i].Command != "sleep 1000000" || d.Processes[i].Parent != os.Getpid() {
			t.Errorf("%d: %+v", i, d.Processes)
		}
	}
}

// BenchmarkDump: a dump of everything, with 500 processes that have 100 mappings of code each. cpu-ms is the time on CPUs, which does not
// depend on what else the machine does.
func BenchmarkDump(b *testing.B) {
	prog := filepath.Join(b.TempDir(), "manymapped")
	if out, err := exec.Command("gcc", "-O1", "-o", prog, "testdata/manymapped.c").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	restingWith(b, 500, prog)
	for _, what := range []struct {
		name string
		pid  int
	}{{"all", 0}, {"one", os.Getpid()}} {
		for _, r := range []*Reader{{}, {Proc: true}} {
			b.Run(what.name+"/"+map[bool]string{false: "iterators", true: "proc"}[r.Proc], func(b *testing.B) {
				defer r.Close()
				r.All(&Dump{}, what.pid, what.pid == 0) // the programs are loaded
				d, from := &Dump{}, onCPU(b)
				for b.Loop() {
					d = &Dump{}
					r.All(d, what.pid, what.pid == 0)
				}
				b.ReportMetric(float64(onCPU(b)-from)/1e6/float64(b.N), "cpu-ms/op")
				b.ReportMetric(float64(len(d.Processes)), "processes")
				b.ReportMetric(float64(len(d.Mappings)), "mappings")
			})
		}
	}
}

// onCPU is the time for which this process was on CPUs, in nanoseconds.
func onCPU(b *testing.B) int64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
