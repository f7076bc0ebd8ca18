package process

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/ring"
)

// symbols of a program that is not position-independent: addresses as they are.
func symbols(path string) map[string]uint64 {
	f := must(elf.Open(path))
	defer f.Close()
	out := map[string]uint64{}
	for _, s := range must(f.Symbols()) {
		out[s.Name] = s.Value
	}
	return out
}

// patcher puts an int3 at site() of testdata/sites.c and guards load().
type patcher struct {
	sym  map[string]uint64
	tram uint64 // a copy of site's instructions
	dead uint64 // the same for the orphan: traps when the dead man's switch is not set
	orig [1]byte
	// ahead are the threads that had executed the first instruction, of one byte, and no more when the int3 was written. One that has
	// not run since is still there.
	ahead map[int]bool
}

func newPatcher(prog string) *patcher { return &patcher{sym: symbols(prog)} }

func (k *patcher) config() Config {
	return Config{
		OnTrap: func(_ int, addr uint64) (uint64, bool) { return k.tram, addr == k.sym["site"] && k.tram != 0 },
		OnFault: func(_, _ int, pc uint64) (uint64, bool) {
			return k.sym["load_fix"], pc == k.sym["load"]
		},
	}
}

// install writes the trampolines and the int3. control is the address of the dead
// man's word, 0 for none.
func (k *patcher) install(s *Stopped, control uint64) error {
	var site [8]byte
	if err := s.ReadMem(k.sym["site"], site[:]); err != nil {
		return err
	}
	ths, err := s.Threads()
	if err != nil {
		return err
	}
	k.ahead = map[int]bool{}
	for _, th := range ths {
		k.ahead[th.TID] = th.Regs.PC() == k.sym["site"]+1
	}
	at, err := s.AllocNear(k.sym["site"], 4096)
	if err != nil {
		return err
	}
	k.tram, k.dead, k.orig = at, at+64, [1]byte{site[0]}
	if err := s.WriteMem(k.tram, site[:]); err != nil {
		return err
	}
	code := append([]byte{0x48, 0xb8}, binary.LittleEndian.AppendUint64(nil, control)...) // mov $control, %rax
	code = append(code, 0xf7, 0x00, 0, 0, 0, 0x40)                                        // testl $1<<30, (%rax)
	code = append(code, 0x75, 0x02, 0x0f, 0x0b)                                           // jne 1f; ud2; 1:
	if err := s.WriteMem(k.dead, append(code, site[:]...)); err != nil {
		return err
	}
	return s.WriteMem(k.sym["site"], []byte{memory.Int3})
}

func (k *patcher) remove(s *Stopped) error {
	ths, err := s.Threads()
	if err != nil {
		return err
	}
	for _, th := range ths {
		if pc := th.Regs.PC(); pc == k.sym["site"]+1 && !k.ahead[th.TID] {
			return fmt.Errorf("thread %d is stopped after the int3", th.TID)
		} else if pc-k.tram < 64 {
			if err := s.SetPC(th.TID, k.sym["site"]+pc-k.tram); err != nil {
				return err
			}
		}
	}
	if err := s.WriteMem(k.sym["site"], k.orig[:]); err != nil {
		return err
	}
	return s.Free(k.tram, 4096)
}

// TestSites: int3 sites and guarded loads in many threads; nothing of it shows in
// signal masks, actions, or the program's own SIGSEGV and SIGTRAP handling.
func TestSites(t *testing.T) {
	prog := build(t, "sites", "-no-pie")
	t.Setenv("WILD", "1")
	for _, v := range []string{"d1", "i1", "c1", "b1", "B1", "d4", "i4", "c4", "b4", "B4"} {
		t.Run(v, func(t *testing.T) {
			k := newPatcher(prog)
			r := start(t, k.config(), prog, v[1:], "60", v[:1])
			must(0, r.Resume(r.Pid()))
			r.out.wait(t, "ready")
			stop(t, r.Process, func(s *Stopped) error { return k.install(s, 0) })
			fmt.Fprintln(r.in)
			if st, out := r.wait(), r.out.all(); st != (ExitStatus{}) || out != "ready\nfails 0\n" {
				t.Errorf("%v %q", st, out)
			}
		})
	}
}

// TestInstallRemove puts an int3 in and takes it out while threads hit it.
func TestInstallRemove(t *testing.T) {
	prog := build(t, "sites", "-no-pie")
	k := newPatcher(prog)
	r := start(t, k.config(), prog, "4", "20000", "d")
	must(0, r.Resume(r.Pid()))
	r.out.wait(t, "ready")
	fmt.Fprintln(r.in)
	n, longest := 0, time.Duration(0)
	for {
		pause, err := r.Stopped(func(s *Stopped) error { return k.install(s, 0) })
		longest = max(longest, pause)
		if err == nil {
			pause, err = r.Stopped(k.remove)
			longest = max(longest, pause)
		}
		if err == ErrGone {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	t.Logf("%d times, the longest pause %v", n, longest)
	if st, out := r.wait(), r.out.all(); st != (ExitStatus{}) || out != "ready\nfails 0\n" {
		t.Errorf("%v %q", st, out)
	}
}

// The machine code in the sources is what the assembler makes of its source.
func TestMachineCode(t *testing.T) {
	for _, c := range []struct {
		name string
		got  []byte
		data int
	}{
		{"testdata/traphandler.S", trapBlob(sigaction{}, nil)[:trapData], trapData},
		{"inject/testdata/recoverystub.S", inject.Stub()[:inject.StubData], inject.StubData},
	} {
		dir := t.TempDir()
		for _, cmd := range [][]string{
			{"as", "-o", dir + "/h.o", c.name},
			{"objcopy", "-O", "binary", "-j", ".text", dir + "/h.o", dir + "/h"},
		} {
			if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		want := must(os.ReadFile(dir + "/h"))[:c.data]
		n := len(c.got) // the padding before the data may differ
		for n > 0 && c.got[n-1] == 0 {
			n--
		}
		if n < c.data-8 || string(c.got[:n]) != string(want[:n]) {
			t.Errorf("%s: the code is\n%x, want\n%x", c.name, c.got, want)
		}
	}
}

func init() { roles["orphan"] = orphan }

// orphan is a jalon that attaches, installs all, says so, and waits for its death.
func orphan() {
	var pid int
	fmt.Sscan(os.Getenv("PROCESS_TEST_PID"), &pid)
	k := newPatcher(os.Getenv("PROCESS_TEST_PROG"))
	p := must(Attach(pid, k.config()))
	g := must(ring.NewGeometry(1, 4096, 1))
	var control uint64
	must(p.Stopped(func(s *Stopped) error {
		base, f, err := s.MapShared("deadman", g)
		if err != nil {
			return err
		}
		sh := must(ring.Map(int(f.Fd()), g))
		control = base + ring.ControlDeadman
		if err := p.ArmDeadman(sh.Deadman()); err != nil {
			return err
		}
		if err := k.install(s, control); err != nil {
			return err
		}
		// With company, for the search. While jalon lives, threads go to another
		// trampoline, and may be just on their way there.
		sites := []TrapSite{{k.tram - 1, k.dead}}
		for i := range uint64(10) {
			sites = append(sites, TrapSite{k.sym["site"] - 50 + 10*i, k.dead})
		}
		return s.InstallTrapHandler(sites)
	}))
	fmt.Printf("armed %d %d\n", control, p.tid)
	os.Stdin.Read(make([]byte, 1))
	if os.Getenv("PROCESS_TEST_LEAVE") != "" { // leave politely
		must(p.Stopped(func(s *Stopped) error {
			if err := s.RemoveTrapHandler(); err != nil {
				return err
			}
			return k.remove(s)
		}))
		must(0, p.Detach())
	}
}

// TestDeadman: jalon dies by SIGKILL while threads hit an int3. The kernel sets
// the dead man's bit, threads in the middle of a stop and later ones go on by the
// handler, and every result is right.
func TestDeadman(t *testing.T) {
	prog := build(t, "sites", "-no-pie")
	for _, mode := range []string{"d", "i", "c", "leave"} {
		t.Run(mode, func(t *testing.T) {
			leave := ""
			if mode == "leave" {
				leave, mode = "yes", "c"
			}
			f := launchFree(t, prog, "4", "20000", mode)
			f.out.wait(t, "ready")
			pid := f.cmd.Process.Pid
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(os.Environ(), "PROCESS_TEST_ROLE=orphan", "PROCESS_TEST_PROG="+prog,
				fmt.Sprintf("PROCESS_TEST_PID=%d", pid), "PROCESS_TEST_LEAVE="+leave)
			cmd.Stderr = os.Stderr
			in, out := must(cmd.StdinPipe()), must(cmd.StdoutPipe())
			must(0, cmd.Start())
			var control int64
			var tracer uint32
			must(fmt.Fscanf(out, "armed %d %d\n", &control, &tracer))
			mem := must(os.Open(fmt.Sprintf("/proc/%d/mem", pid)))
			defer mem.Close()
			word := func() uint32 {
				var b [4]byte
				must(mem.ReadAt(b[:], control))
				return binary.LittleEndian.Uint32(b[:])
			}
			if w := word(); w != tracer {
				t.Errorf("the word is %#x, want the tracer's id %#x", w, tracer)
			}
			fmt.Fprintln(f.in) // the threads start, and hit
			if leave != "" {
				fmt.Fprintln(in)
			} else {
				must(0, cmd.Process.Kill())
			}
			_ = cmd.Wait()
			if w := word(); w != ring.OwnerDied && leave == "" {
				t.Errorf("the word is %#x after jalon's death", w)
			}
			err := f.cmd.Wait()
			if got := f.out.all(); err != nil || got != "ready\nfails 0\n" {
				t.Errorf("%v %q", err, got)
			}
		})
	}
}

func init() { roles["watcher"] = watcher }

// watcher is a jalon that only watches the loading of libraries.
func watcher() {
	var pid int
	fmt.Sscan(os.Getenv("PROCESS_TEST_PID"), &pid)
	n := 0
	must(Attach(pid, Config{OnModules: func(int) bool {
		if n++; n == 5 {
			fmt.Println("watching")
		}
		return false
	}}))
	fmt.Println("attached")
	os.Stdin.Read(make([]byte, 1))
}

// TestDeadWatcher: the breakpoint in ld.so does no harm when jalon is killed.
func TestDeadWatcher(t *testing.T) {
	f := launchFree(t, build(t, "loads"), build(t, "plugin", "-shared", "-fPIC"), "4000", "wait")
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "PROCESS_TEST_ROLE=watcher", fmt.Sprintf("PROCESS_TEST_PID=%d", f.cmd.Process.Pid))
	cmd.Stderr = os.Stderr
	in, out := must(cmd.StdinPipe()), must(cmd.StdoutPipe())
	defer in.Close()
	must(0, cmd.Start())
	must(fmt.Fscanf(out, "attached\n"))
	fmt.Fprintln(f.in)
	must(fmt.Fscanf(out, "watching\n"))
	must(0, cmd.Process.Kill())
	_ = cmd.Wait()
	err := f.cmd.Wait()
	if got := f.out.all(); err != nil || got != fmt.Sprintf("sum %d\n", 4000*3999) {
		t.Errorf("%v %q", err, got)
	}
}

func init() { roles["injector"] = injectForever }

// injectForever is a jalon that runs system calls in every thread without end.
func injectForever() {
	var pid int
	fmt.Sscan(os.Getenv("PROCESS_TEST_PID"), &pid)
	p, err := Attach(pid, Config{})
	if err != nil {
		return // the program has ended
	}
	stopAll := func() {
		must(p.Stopped(func(s *Stopped) error {
			for _, k := range s.tasks() {
				if _, err := p.injector.Run(k, p.space, unix.SYS_GETTID); err != nil {
					return err
				}
				list := []Call{SystemCall(unix.SYS_GETTID), SystemCall(unix.SYS_GETPID), SystemCall(unix.SYS_CLOSE, ^uint64(0))}
				if _, err := p.injector.RunList(k, p.space, append(list, list...)); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	stopAll()
	fmt.Println("injecting")
	for {
		stopAll()
	}
}

// TestDeadInjector: jalon is killed in the middle of injected system calls, again
// and again; the threads, sleeping in all kinds of calls, go on where they were.
func TestDeadInjector(t *testing.T) {
	f := launchFree(t, build(t, "blocked"), "2500", "restarted")
	f.out.wait(t, "ready")
	for i := range 40 {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), "PROCESS_TEST_ROLE=injector", fmt.Sprintf("PROCESS_TEST_PID=%d", f.cmd.Process.Pid))
		cmd.Stderr = os.Stderr
		out := must(cmd.StdoutPipe())
		must(0, cmd.Start())
		if _, err := fmt.Fscanf(out, "injecting\n"); err != nil {
			break // the program has ended
		}
		time.Sleep(time.Duration(i%7) * 300 * time.Microsecond) // any moment will do
		must(0, cmd.Process.Kill())
		_ = cmd.Wait()
	}
	err := f.cmd.Wait()
	if got := f.out.all(); err != nil || got != "ready\ndone\n" {
		t.Errorf("%v %q", err, got)
	}
}

// TestOwnTrapAfterDeath: the handler gives the program's own traps what they had.
func TestOwnTrapAfterDeath(t *testing.T) {
	for _, sig := range []string{"5"} {
		prog := build(t, "basic")
		want, _ := native(t, prog, "signal", sig)
		r := start(t, Config{}, prog, "signal", sig)
		stop(t, r.Process, func(s *Stopped) error { return s.InstallTrapHandler(nil) })
		got, st := r.finish()
		if st.Signal != unix.SIGTRAP || got != want {
			t.Errorf("%v %q, want SIGTRAP %q", st, got, want)
		}
	}
}
