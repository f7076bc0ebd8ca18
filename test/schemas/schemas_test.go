// Package schemas tests that a session's records can be printed from its encoded schemas only, as on
// another machine.
package schemas

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/drain"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/session"
	"github.com/jalon-trace/jalon/internal/tracepoint"
	"github.com/jalon-trace/jalon/test/testkit"
)

// traveller prints each event by its schema, and keeps it. When the session has ended, schemas and names
// are encoded and decoded, and each event is printed again by the result, as on another machine that has
// only the recording.
type traveller struct {
	t      *testing.T
	names  event.Remember
	events []event.Event
	want   []string
	known  map[*event.Schema]int
	file   event.File
}

func (v *traveller) print(ev *event.Event, symbol func(uint64) string, names event.KernelNames) string {
	var b bytes.Buffer
	x := format.NewText(&b, format.TextOptions{Printer: format.Printer{Symbol: symbol}, Time: format.MonotoneTime, Kernel: names})
	j := format.NewJSON(&b, format.JSONOptions{Symbol: symbol, Kernel: names})
	if err := errors.Join(x.Event(ev), x.Flush(), j.Event(ev), j.Flush()); err != nil {
		v.t.Error(err)
	}
	return b.String()
}

func (v *traveller) Event(ev *event.Event) error {
	c := *ev
	c.Raw = bytes.Clone(ev.Raw)
	v.want = append(v.want, v.print(&c, v.names.Symbol, &v.names))
	if _, ok := v.known[ev.Schema]; !ok {
		v.known[ev.Schema] = len(v.file.Schemas)
		v.file.Schemas = append(v.file.Schemas, ev.Schema)
	}
	v.events = append(v.events, c)
	return nil
}

func (v *traveller) Flush() error { return nil }

// arrived decodes the encoded data and compares. It returns the size of the file.
func (v *traveller) arrived() int {
	v.t.Helper()
	v.file.Names = v.names.Names
	var b bytes.Buffer
	if err := v.file.Encode(&b); err != nil {
		v.t.Fatal(err)
	}
	size := b.Len()
	far, err := event.Decode(&b)
	if err != nil {
		v.t.Fatal(err)
	}
	for i := range v.events {
		ev := v.events[i]
		ev.Schema = far.Schemas[v.known[ev.Schema]]
		if got := v.print(&ev, far.Names.Symbol, &far.Names); got != v.want[i] {
			v.t.Errorf("event %d of %d:\n got %.1500s\nwant %.1500s", i, len(v.events), got, v.want[i])
			return size
		}
	}
	return size
}

// travels runs a session to its end and checks its events.
func travels(t *testing.T, places []string, collect string, max uint64, start func(session.Options) (*session.Session, error)) {
	t.Helper()
	v := &traveller{t: t, known: map[*event.Schema]int{}}
	tps, err := tracepoint.FromArgs(places, []string{collect})
	if err != nil {
		t.Fatal(err)
	}
	for i := range tps {
		tps[i].Number = i + 1
	}
	s, err := start(session.Options{
		Tracepoints: tps, BufferSize: 1 << 20, StringLimit: 64, RepeatLimit: 32, StackLimit: 1024, MaxEvents: max, Started: time.Now(),
		NewSink: func(s *session.Session) drain.Sink {
			v.names = event.Remember{From: s.Symbol, Kernel: s}
			return v
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if _, err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if len(v.events) == 0 {
		t.Fatal("no event was seen")
	}
	size := v.arrived()
	t.Logf("%d events of %d schemas, %d bytes encoded, %d names", len(v.events), len(v.file.Schemas), size,
		len(v.names.Symbols)+len(v.names.Names.Kernel)+len(v.names.Strings))
}

// TestSchemasTravel: values of programs in several languages are printed from encoded schemas as from those
// of the session.
func TestSchemasTravel(t *testing.T) {
	cPlaces := []string{"main", "scalars", "floats", "structs", "pointers", "in_registers", "many", "vla", "kinds", "shapes"}
	path := func(name string) string {
		p, err := filepath.Abs(filepath.Join("../programs", name))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		name   string
		places []string
		cmd    []string // builds the program; -o is added
	}{
		{"c", cPlaces, []string{"gcc", "-g", "-O0", path("vars.c"), "-lm"}},
		{"c optimised", cPlaces, []string{"gcc", "-g", "-O2", path("vars.c"), "-lm"}},
		{"c++", []string{"main", "show*"}, []string{"g++", "-g", path("names.cc")}},
		{"rust", []string{"look"}, []string{"rustc", "-g", path("enums.rs")}},
		{"go", []string{"main.work"}, []string{"go", "build", "-gcflags=all=-N -l"}},
		{"fortran", []string{"work"}, []string{"gfortran", "-g", path("arrays.f90")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			testkit.Need(t, c.cmd[0])
			prog := filepath.Join(t.TempDir(), "prog")
			cmd := exec.Command(c.cmd[0], append(c.cmd[1:], "-o", prog)...)
			cmd.Dir = t.TempDir()
			if c.cmd[0] == "go" {
				cmd.Dir = path("golang")
				cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
			}
			if b, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", cmd.Args, err, b)
			}
			null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			travels(t, c.places, "$args, $locals, $regs, $bt, $tid, $comm", 200, func(o session.Options) (*session.Session, error) {
				return session.Launch([]string{prog}, session.IO{In: null, Out: null, Err: null}, o)
			})
		})
	}
}

// TestKernelTravels: the kernel's own text of static tracepoints, with enumerators,
// symbols and strings, and structures of the kernel.
func TestKernelTravels(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("tracing the kernel needs root")
	}
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skip("this kernel does not describe its types")
	}
	for _, c := range []struct {
		places  []string
		collect string
	}{
		{[]string{"tracepoint:sched:sched_switch", "tracepoint:sched:sched_wakeup"}, "$_sdata, $bt, $cpu"},
		{[]string{"tracepoint:timer:*", "tracepoint:irq:softirq_entry", "tracepoint:rcu:rcu_utilization"}, "$_sdata"},
		{[]string{"tracepoint:syscalls:sys_enter_openat", "tracepoint:syscalls:sys_exit_openat", "tracepoint:raw_syscalls:sys_enter"}, "$_sdata"},
		{[]string{"tracepoint:kmem:kmalloc", "tracepoint:kmem:mm_page_alloc"}, "$_sdata"},
		{[]string{"tracepoint:sched:sched_switch"}, "*next, next->comm, prev->se.vruntime"},
	} {
		t.Run(c.places[0], func(t *testing.T) {
			release, err := testkit.HoldKernel(false)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			stop := busy(t)
			defer stop()
			travels(t, c.places, c.collect, 100, func(o session.Options) (*session.Session, error) { return session.Watch(0, o) })
		})
	}
}

// busy opens files and sleeps until stop is called, so that there are events.
func busy(t *testing.T) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
			_, _ = os.ReadFile("/proc/self/maps")
		}
	}()
	return func() { close(done); <-ended }
}
