package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// TestChildren: fork, vfork, posix_spawn, system, clone in all ways, with an int3
// in a function that the children call. Copies have it taken out; children that
// share the memory are traced until they leave it.
func TestChildren(t *testing.T) {
	prog := build(t, "children", "-no-pie")
	for _, v := range []struct{ rounds, threads string }{{"5", "1"}, {"2", "2"}} {
		t.Run(v.threads, func(t *testing.T) {
			addr := symbols(prog)["probed"]
			var orig [1]byte
			var tram uint64
			var hits, forks atomic.Int64
			cfg := Config{
				OnTrap: func(_ int, at uint64) (uint64, bool) {
					hits.Add(1)
					return tram, at == addr
				},
				OnFork: func(c *Stopped) {
					forks.Add(1)
					if ths, err := c.Threads(); err != nil || len(ths) != 1 {
						t.Errorf("child: %v, %v", ths, err)
					}
					if r, err := c.Syscall(unix.SYS_GETPID); err != nil && err != ErrGone || err == nil && int(r) != c.Pid() {
						t.Errorf("child's pid %d, %v, want %d", r, err, c.Pid())
					}
					if err := c.WriteMem(addr, orig[:]); err != nil && err != ErrGone {
						t.Errorf("child: %v", err)
					}
				},
			}
			r := start(t, cfg, prog, v.rounds, v.threads)
			stop(t, r.Process, func(s *Stopped) error {
				code := make([]byte, 16) // lea 1(%rdi), %eax; ret
				if err := s.ReadMem(addr, code); err != nil {
					return err
				}
				orig[0] = code[0]
				var err error
				if tram, err = s.AllocNear(addr, 16); err != nil {
					return err
				}
				if err := s.WriteMem(tram, code); err != nil {
					return err
				}
				return s.WriteMem(addr, []byte{memory.Int3})
			})
			must(0, r.Resume(r.Pid()))
			for done := false; !done; {
				if _, err := r.Stopped(func(*Stopped) error { return nil }); err != nil {
					done = errors.Is(err, ErrGone)
					if !done {
						t.Fatal(err)
					}
				}
			}
			if st, out := r.wait(), r.out.all(); st != (ExitStatus{}) || out != "fails 0\n" {
				t.Errorf("%v %q", st, out)
			}
			n := int64(number(v.rounds) * number(v.threads))
			// vfork and clone(VM) call it in shared memory; fork, clone(0), fork+kill and
			// the first of grandchild have copies, and its second is none of ours any more.
			if hits.Load() != 2*n || forks.Load() != 4*n {
				t.Errorf("%d hits and %d forks, want %d and %d", hits.Load(), forks.Load(), 2*n, 4*n)
			}
		})
	}
}

// TestExec: exec by any thread, again and again.
func TestExec(t *testing.T) {
	prog := build(t, "execs")
	for _, ending := range []string{"l", "t", "x"} {
		t.Run(ending, func(t *testing.T) {
			var execs atomic.Int64
			var p atomic.Pointer[Process]
			held := make(chan int, 1)
			cfg := Config{OnExec: func(tid int) bool {
				execs.Add(1)
				held <- tid
				return true
			}}
			r := start(t, cfg, prog, "8", ending)
			p.Store(r.Process)
			must(0, r.Resume(r.Pid()))
			go func() {
				for {
					select {
					case tid := <-held:
						if tid != r.Pid() {
							t.Errorf("thread %d after exec", tid)
						}
						if _, err := r.Stopped(func(s *Stopped) error { exercise(t, s); return nil }); err != nil {
							t.Error(err)
						}
						must(0, r.Resume(tid))
					case <-r.Done():
						return
					}
				}
			}()
			for {
				// On one CPU this loop and the tracer would hand it to and fro, and the
				// goroutine above would hardly ever have it.
				runtime.Gosched()
				if _, err := r.Stopped(func(s *Stopped) error { _, err := s.Threads(); return err }); err != nil {
					if !errors.Is(err, ErrGone) {
						t.Error(err)
					}
					// ErrGone also while all threads are on their way out of an exec.
					select {
					case <-r.Done():
					default:
						continue
					}
					break
				}
			}
			want := fmt.Sprintf("last pid %d\n", r.Pid())
			if st, out := r.wait(), r.out.all(); st.Code != 3 || out != want {
				t.Errorf("%v %q, want %q", st, out, want)
			}
			if execs.Load() != 8 {
				t.Errorf("%d execs", execs.Load())
			}
		})
	}
}

// TestModules: every change of the list of libraries is reported, and the new library
// is mapped while the thread is held.
func TestModules(t *testing.T) {
	for _, libc := range []string{"glibc", "musl", "static"} {
		t.Run(libc, func(t *testing.T) {
			var flags []string
			switch libc {
			case "musl":
				flags = []string{"musl"}
			case "static":
				r := start(t, Config{OnModules: func(int) bool { t.Error("in a static program"); return false }}, build(t, "basic", "-static"))
				if out, st := r.finish(); st.Code != 0 {
					t.Errorf("%v %q", st, out)
				}
				return
			}
			lib := build(t, "plugin", append(flags, "-shared", "-fPIC")...)
			prog := build(t, "loads", flags...)
			const n = 20
			held := make(chan int, 1)
			var moved atomic.Bool
			cfg := Config{
				OnModules: func(tid int) bool { held <- tid; return true },
				OnThread: func(ev ThreadEvent) {
					if ev.Kind == ThreadMoved && ev.FSBase != 0 {
						moved.Store(true)
					}
				},
			}
			r := start(t, cfg, prog, lib, fmt.Sprint(n))
			must(0, r.Resume(r.Pid()))
			with, without := 0, 0
			var mu sync.Mutex
			go func() {
				for {
					select {
					case tid := <-held:
						mu.Lock()
						_, err := r.Stopped(func(s *Stopped) error {
							maps, err := s.Maps()
							found := false
							for _, m := range maps {
								found = found || m.Path == lib
							}
							if found {
								with++
							} else {
								without++
							}
							return err
						})
						mu.Unlock()
						if err != nil {
							t.Error(err)
						}
						must(0, r.Resume(tid))
					case <-r.Done():
						return
					}
				}
			}()
			st, out := r.wait(), r.out.all()
			if st != (ExitStatus{}) || out != fmt.Sprintf("sum %d\n", n*(n-1)) {
				t.Errorf("%v %q", st, out)
			}
			mu.Lock()
			defer mu.Unlock()
			// musl never unmaps a library.
			if with < 1 || libc == "glibc" && (with != n || without < n+1) {
				t.Errorf("reported %d times with the library and %d times without", with, without)
			}
			if !moved.Load() {
				t.Error("the main thread's pointer was never reported")
			}
		})
	}
}

// TestAttachModules: libraries loaded after an attach are noticed too.
func TestAttachModules(t *testing.T) {
	var n atomic.Int64
	f := launchFree(t, build(t, "loads"), build(t, "plugin", "-shared", "-fPIC"), "4000", "wait")
	p := attach(t, f.cmd.Process.Pid, Config{OnModules: func(int) bool { n.Add(1); return false }})
	fmt.Fprintln(f.in)
	for n.Load() < 10 {
		if _, err := p.Stopped(func(*Stopped) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Detach(); err != nil {
		t.Fatal(err)
	}
	seen := n.Load()
	if err := f.cmd.Wait(); err != nil {
		t.Errorf("%v %s", err, f.out.all())
	}
	if n.Load() != seen {
		t.Error("reported after Detach")
	}
}

// TestAttachErrors: what is wrong, and what to do.
func TestAttachErrors(t *testing.T) {
	busy := launchFree(t, build(t, "busy"), "1")
	busy.out.wait(t, "ready")
	pid := busy.cmd.Process.Pid
	tid := 0
	for _, n := range must(sys.ThreadsOf(pid)) {
		if n != pid {
			tid = n
		}
	}
	traced := attach(t, pid, Config{})
	zombie := exec.Command("/bin/true")
	must(0, zombie.Start())
	for sys.ThreadState(zombie.Process.Pid) != 'Z' {
	}
	defer zombie.Wait()
	for _, c := range []struct {
		pid  int
		want string
	}{
		{0x3ffffff, "there is no such process"},
		{os.Getpid(), "jalon itself"},
		{tid, fmt.Sprintf("use -p %d", pid)},
		{pid, fmt.Sprintf("already traced by process %d", os.Getpid())},
		{2, "kernel thread"},
		{zombie.Process.Pid, "zombie"},
	} {
		p, err := Attach(c.pid, Config{})
		if err == nil {
			p.Detach()
			t.Errorf("%d: no error", c.pid)
			continue
		}
		var e *fail.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d: %v, want %q", c.pid, err, c.want)
		}
		t.Log(err)
	}
	must(0, traced.Detach())
	fmt.Fprintln(busy.in)
}

// Test32: programs that are not ours are refused before anything happens to them.
func Test32(t *testing.T) {
	dir := t.TempDir()
	src, prog := dir+"/p.s", dir+"/p"
	// pause() in a loop, as a 32-bit program without libc.
	must(0, os.WriteFile(src, []byte(".globl _start\n_start: mov $29, %eax\nint $0x80\njmp _start\n"), 0o600))
	for _, c := range [][]string{{"as", "--32", "-o", dir + "/p.o", src}, {"ld", "-m", "elf_i386", "-o", prog, dir + "/p.o"}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if p, err := Start([]string{prog}, StartOptions{}, Config{}); err == nil {
		p.Kill()
		t.Error("started")
	} else {
		t.Log(err)
	}
	cmd := exec.Command(prog)
	if err := cmd.Start(); err != nil {
		t.Skipf("this kernel runs no 32-bit programs: %v", err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if p, err := Attach(cmd.Process.Pid, Config{}); err == nil {
		p.Detach()
		t.Error("attached")
	} else {
		t.Log(err)
	}
	// A 64-bit program that becomes one is let go.
	p, err := Start([]string{"/bin/sh", "-c", "exec " + prog}, StartOptions{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	pid := p.Pid()
	must(0, p.Resume(pid))
	if st := p.Wait(); !st.Detached {
		t.Errorf("status %v", st)
	}
	if s := stateOf(pid, "S"); s != 'S' {
		t.Errorf("state %c", s)
	}
	must(0, unix.Kill(pid, unix.SIGKILL))
	must(unix.Wait4(pid, nil, 0, nil))
}

func number(v string) int { n, _ := strconv.Atoi(v); return n }
