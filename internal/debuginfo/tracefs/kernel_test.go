package tracefs

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// running opens this machine's trace file system, mounting it where it is not.
func running(t *testing.T) *FS {
	t.Helper()
	f, err := Open()
	if err != nil {
		if out, merr := exec.Command("mount", "-t", "tracefs", "tracefs", mounts[0]).CombinedOutput(); merr != nil {
			t.Skipf("needs root and a kernel with tracefs: %v: %s", err, out)
		}
		f, err = Open()
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestAllFormats reads every format of the running kernel and holds the types
// against the sizes that the kernel gives.
func TestAllFormats(t *testing.T) {
	f := running(t)
	start := time.Now()
	names, err := f.Match("*", "*")
	if err != nil {
		t.Fatal(err)
	}
	ftrace, err := f.Events("ftrace")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range ftrace {
		names = append(names, Name{"ftrace", e})
	}
	listed := time.Since(start)
	fields, dynamics, narrow, unknown := 0, 0, 0, 0
	ids := map[int]Name{}
	for _, n := range names {
		ev, err := f.Event(n.System, n.Event)
		if err != nil {
			t.Errorf("%s: %v", n, err)
			continue
		}
		if other, dup := ids[ev.ID]; dup {
			t.Errorf("%s and %s have the number %d", n, other, ev.ID)
		}
		ids[ev.ID] = n
		if ev.Name != n.Event {
			t.Errorf("%s: the file names it %s", n, ev.Name)
		}
		checkRecord(t, ev)
		for _, field := range ev.Fields {
			fields++
			size := sizeOf(field.Type)
			if _, _, ok := ctype.Dynamic(field.Type); ok {
				dynamics++
				continue
			}
			switch {
			case size < field.Size && field.Type.IsInteger():
				narrow++
				if n.System != "syscalls" {
					t.Errorf("%s: %q has %d bytes of %d", n, field.Decl, size, field.Size)
				}
			case size != field.Size:
				t.Errorf("%s: %q has %d bytes of %d", n, field.Decl, size, field.Size)
			case n.System != "syscalls" && field.Type.IsInteger() && field.Type.Strip().Signed != field.Signed:
				// Arguments of system calls are listed as unsigned words, whatever they are.
				t.Errorf("%s: %q: signed is %v", n, field.Decl, field.Signed)
			}
			if field.Type.Strip().Kind == ctype.Invalid {
				unknown++
			}
		}
	}
	if unknown != 0 || len(names) < 500 {
		t.Errorf("%d fields of unknown type in %d events", unknown, len(names))
	}
	t.Logf("%d events listed in %v; read and parsed in %v: %d fields, %d dynamic arrays, %d arguments of system calls narrower than a word",
		len(names), listed, time.Since(start)-listed, fields, dynamics, narrow)
}

func TestSyscallsOfTheKernel(t *testing.T) {
	f := running(t)
	s, err := f.Syscall("openat")
	if err != nil {
		t.Skipf("the kernel was built without CONFIG_FTRACE_SYSCALLS: %v", err)
	}
	var got []string
	for _, a := range s.Args {
		got = append(got, a.Name+" "+describe(a.Type))
	}
	want := "[dfd int filename pointer to char flags int mode umode_t = unsigned short]"
	if s := "[" + strings.Join(got, " ") + "]"; s != want {
		t.Errorf("openat: %s, want %s", s, want)
	}
	for manual := range renamed {
		if _, err := f.Syscall(manual); err != nil {
			t.Errorf("%s: %v", manual, err)
		}
	}
	all, err := f.Syscalls()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if _, err := f.Syscall(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d system calls", len(all))
}

func TestStringsOfTheKernel(t *testing.T) {
	got, err := running(t).Strings()
	if err != nil {
		t.Fatal(err)
	}
	for addr := range got {
		if addr < 1<<63 {
			t.Errorf("%#x is no address of the kernel's", addr)
		}
	}
	t.Logf("%d strings", len(got))
}
