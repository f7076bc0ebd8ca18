package format

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/event"
)

func TestFolded(t *testing.T) {
	var b bytes.Buffer
	s := OutputNamed("folded").New(&b, &Trace{Unwind: func(_ *event.Event, v *event.Value) []Frame {
		if v.Field.Kind == event.KernelFrames {
			return []Frame{{Function: "vfs_read"}, {Function: "ksys;read"}}
		}
		return []Frame{{Function: "f\x1b"}, {PC: 0x10}, {Function: "main"}}
	}})
	for range 2 {
		for _, ev := range kernelEvents() {
			if err := s.Event(ev); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.(interface{ End() error }).End(); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "prog;cut 2\nprog;ksys:read;vfs_read 2\nprog;main;0x10;f\\x1b;ksys:read;vfs_read 2\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// TestOutputs holds what every output must have.
func TestOutputs(t *testing.T) {
	names, help := OutputHelp()
	if !strings.HasPrefix(names, "text,json,") {
		t.Errorf("the outputs are %s", names)
	}
	for _, o := range Outputs() {
		var b bytes.Buffer
		s := o.New(&b, &Trace{})
		for _, ev := range kernelEvents() {
			if err := s.Event(ev); err != nil {
				t.Errorf("%s: %v", o.Name, err)
			}
		}
		if err := s.Flush(); err != nil || OutputNamed(o.Name) != o || !strings.Contains(help, o.Name+" ("+o.Doc+")") {
			t.Errorf("%s: %v, %s", o.Name, err, help)
		}
	}
}
