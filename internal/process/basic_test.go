package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/ring"
)

// TestRunThrough: a traced program ends as an untraced one, with the same output.
func TestRunThrough(t *testing.T) {
	prog := build(t, "basic")
	for _, args := range [][]string{
		{"exit", "0"},
		{"exit", "42"},
		{"signal", "15"},
		{"signal", "9"},
		{"signal", "11"},
		{"signal", "5"},
		{"signal", "6"},
		{"signal", "17"},
		{"signal", "2"},
		{"signal", "34"},
	} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			argv := append([]string{prog}, args...)
			want, werr := native(t, argv...)
			r := start(t, Config{}, argv...)
			got, st := r.finish()
			if got != want {
				t.Errorf("output %q, want %q", got, want)
			}
			if wst := nativeStatus(werr); st != wst {
				t.Errorf("status %v, want %v", st, wst)
			}
		})
	}
}

// nativeStatus is the end of a program that os/exec ran.
func nativeStatus(err error) (st ExitStatus) {
	if e, ok := err.(*exec.ExitError); ok {
		ws := e.Sys().(syscall.WaitStatus)
		st.Code, st.Core = ws.ExitStatus(), ws.CoreDump()
		if ws.Signaled() {
			st.Code, st.Signal = 0, ws.Signal()
		}
	}
	return st
}

func TestStartErrors(t *testing.T) {
	for _, argv := range [][]string{{}, {"/nonexistent/program"}, {"no-such-program-here"}, {"/etc/passwd"}} {
		p, err := Start(argv, StartOptions{}, Config{})
		if err == nil {
			p.Kill()
			t.Errorf("%q: no error", argv)
			continue
		}
		t.Log(err)
	}
}

// TestStoppedAtStart uses everything that Stopped offers, before the first
// instruction, and lets the program run afterwards.
func TestStoppedAtStart(t *testing.T) {
	for _, flags := range [][]string{nil, {"-static"}, {"-no-pie"}, {"-static-pie"}, {"musl"}, {"musl", "-static"}} {
		t.Run(fmt.Sprint(flags), func(t *testing.T) {
			r := start(t, Config{}, build(t, "basic", flags...), "exit", "7")
			pause := stop(t, r.Process, func(s *Stopped) error { exercise(t, s); return nil })
			t.Logf("pause %v", pause)
			if out, st := r.finish(); st.Code != 7 || out != "hello from 3 arguments\n" {
				t.Errorf("%v %q", st, out)
			}
		})
	}
}

// exercise allocates, writes, maps and frees in a stopped process.
func exercise(t *testing.T, s *Stopped) {
	t.Helper()
	ths, err := s.Threads()
	if err != nil {
		t.Fatal(err)
	}
	fds := descriptors(s.Pid())
	if pid := mustSyscall(t, s, unix.SYS_GETPID); int(pid) != s.Pid() {
		t.Errorf("getpid = %d, want %d", pid, s.Pid())
	}
	if _, err := s.Syscall(unix.SYS_CLOSE, 9999); err != unix.EBADF {
		t.Errorf("close(9999): %v", err)
	}
	maps, err := s.Maps()
	if err != nil {
		t.Fatal(err)
	}
	var text uint64
	for _, m := range maps {
		if m.Prot&unix.PROT_EXEC != 0 && m.Inode != 0 {
			text = m.Start
			break
		}
	}
	at, err := s.AllocNear(text, 10000)
	if err != nil {
		t.Fatal(err)
	}
	if d := int64(at - text); d > memory.Reach || d < -memory.Reach {
		t.Errorf("%#x is too far from %#x", at, text)
	}
	want := bytes.Repeat([]byte("jalon"), 2000)
	for _, where := range []uint64{at, text} {
		old := make([]byte, len(want))
		if err := s.ReadMem(where, old); err != nil {
			t.Fatal(err)
		}
		if err := s.WriteMem(where, want); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if err := s.ReadMem(where, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("memory at %#x differs: %v", where, err)
		}
		if err := s.WriteMem(where, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Free(at, 10000); err != nil {
		t.Error(err)
	}
	if err := s.ReadMem(at, make([]byte, 8)); err == nil {
		t.Error("freed memory can be read")
	}
	checkShared(t, s)
	if n := descriptors(s.Pid()); n != fds {
		t.Errorf("the process has %d descriptors, had %d", n, fds)
	}
	after, err := s.Threads()
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(after) != fmt.Sprint(ths) {
		t.Errorf("registers changed:\n%+v\n%+v", ths, after)
	}
}

func checkShared(t *testing.T, s *Stopped) {
	t.Helper()
	g, err := ring.NewGeometry(3, 8192, 5)
	if err != nil {
		t.Fatal(err)
	}
	base, f, err := s.MapShared("jalon-test", g)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sh, err := ring.Map(int(f.Fd()), g)
	if err != nil {
		t.Fatal(err)
	}
	defer sh.Close()
	*sh.Deadman() = 0x12345678
	var b [8]byte
	if err := s.ReadMem(base+ring.ControlDeadman, b[:]); err != nil || !bytes.Equal(b[:4], []byte{0x78, 0x56, 0x34, 0x12}) {
		t.Errorf("the control word is %x, %v", b, err)
	}
	for cpu := range g.Rings() {
		data := base + g.RingOffset(cpu) + ring.RingData
		if err := s.WriteMem(data+8, []byte{1, 2, 3, byte(cpu)}); err != nil {
			t.Fatal(err)
		}
		if err := s.ReadMem(data+8192+8, b[:4]); err != nil || !bytes.Equal(b[:4], []byte{1, 2, 3, byte(cpu)}) {
			t.Errorf("ring %d: its second mapping has %x, %v", cpu, b[:4], err)
		}
	}
	if err := s.Free(base, g.MemSize()); err != nil {
		t.Error(err)
	}
}

func descriptors(pid int) int {
	ents, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(ents)
}
