package inproc

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// TestEnable: of two programs at one address each is disabled and enabled by itself. With a jump the process is not stopped for it
// and its code stays as it is; an int3 is there while one of the two is enabled.
func TestEnable(t *testing.T) {
	for name, avoid := range map[string]uint8{"jump": 0, "int3": 1<<patch.Jump | 1<<patch.JumpMany | 1<<patch.Pun} {
		t.Run(name, func(t *testing.T) {
			d := drive(t)
			pauses := 0
			run := New(Options{Avoid: avoid, OnPause: func(time.Duration) { pauses++ }, Log: func(m string) { t.Log(m) }})
			run.Trace(d.p, nil)
			d.run.Store(run)
			if err := run.Refresh(); err != nil {
				t.Fatal(err)
			}
			a, _ := collecting(t, run, d.work, 7, "a")
			b, _ := collecting(t, run, d.work, 8, "b")
			arm(t, run, a, b)
			before, armed := pauses, code(t, d)
			if pauses == 0 || armed == string(d.code) {
				t.Fatalf("%d stops, code %x", pauses, armed)
			}
			for i, c := range []struct {
				list []*engine.Program
				on   bool
				in   bool // the int3
			}{
				{[]*engine.Program{a}, false, true},
				{[]*engine.Program{a}, false, true},
				{[]*engine.Program{b}, false, false},
				{[]*engine.Program{a}, true, true},
				{[]*engine.Program{a}, false, false},
				{[]*engine.Program{a, b}, true, true},
				{[]*engine.Program{a}, false, true},
			} {
				if err := run.Enable(c.list, c.on); err != nil {
					t.Fatal(err)
				}
				if now := code(t, d); now == armed != (c.in || avoid == 0) || now != armed && now != string(d.code) {
					t.Errorf("change %d: the code is %x", i, now)
				}
			}
			if pauses > before && avoid == 0 {
				t.Errorf("%d stops to disable and enable", pauses-before)
			}
			if mem := run.Rings(); !mem.Off(a.Schema.SiteID) || mem.Off(b.Schema.SiteID) {
				t.Error("the switches are not those of the programs")
			}
			if err := d.p.Resume(d.p.Pid()); err != nil {
				t.Fatal(err)
			}
			d.p.Wait()
			if c := run.Counts(a); c != (engine.Counts{}) {
				t.Errorf("counts of the disabled program: %+v", c)
			}
			if c := run.Counts(b); c.False != 2 || run.Rings().Variable(0) != 1999 {
				t.Errorf("counts of the enabled program: %+v, variable %d", c, run.Rings().Variable(0))
			}
			if err := run.Stop(); err != nil && !errors.Is(err, process.ErrGone) {
				t.Error(err)
			}
			if err := run.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// code reads the start of the function.
func code(t *testing.T, d *driven) string {
	t.Helper()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", d.p.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	b := make([]byte, len(d.code))
	if _, err := mem.ReadAt(b, int64(d.work)); err != nil {
		t.Fatal(err)
	}
	return string(b)
}
