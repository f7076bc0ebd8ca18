package bpf

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cilium/ebpf/asm"
)

// startWaiting starts this test program as a process that does nothing until the test ends, and returns its
// number.
func startWaiting(t *testing.T) int {
	t.Helper()
	cmd, _ := startChild(t, "")
	return cmd.Process.Pid
}

// startChild starts attachAndWait and returns when it is ready.
func startChild(t *testing.T, name string, args ...string) (*exec.Cmd, func()) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", append([]string{"-attach-and-wait", name}, args...)...)
	in, err := cmd.StdinPipe()
	check(t, err)
	outPipe, err := cmd.StdoutPipe()
	check(t, err)
	cmd.Stderr = os.Stderr
	check(t, cmd.Start())
	ended := false
	end := func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			_ = in.Close()
		}
	}
	t.Cleanup(end)
	line, err := bufio.NewReader(outPipe).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("the child printed %q: %v", line, err)
	}
	return cmd, end
}

// attachAndWait is the child: it attaches one of each kind under a name and waits until it is killed or its
// standard input ends.
func attachAndWait() {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
	}
	var held []any
	if name := os.Args[2]; name != "" {
		n, err := strconv.Atoi(os.Args[4])
		fail(err)
		k, err := Open()
		fail(err)
		b, err := k.NewBuffer(name, 1<<20)
		fail(err)
		for _, target := range append(oneOfEach(&code{path: os.Args[3], n: n}), kprobesOf(k)...) {
			uses := asm.Instructions{asm.LoadMapValue(asm.R1, 0, 0).WithReference(name), asm.Mov.Imm(asm.R0, target.Kind.Return()), asm.Return()}
			l, err := k.Load(Program{Name: name, Insns: uses, Kind: target.Kind, Target: target, Buffers: []*Buffer{b}})
			fail(err)
			lk, err := l.Attach(target)
			fail(err)
			held = append(held, b, l, lk)
		}
	}
	fmt.Println("ready")
	_, _ = os.Stdin.Read(make([]byte, 1))
	runtime.KeepAlive(held)
	os.Exit(0)
}

// kprobesOf returns places of kprobes and fentry if the kernel has them.
func kprobesOf(k *Kernel) []Target {
	var targets []Target
	if k.Features().Kprobe.OK {
		targets = append(targets, Target{Kind: Kprobe, Symbol: "vfs_read"}, Target{Kind: Kretprobe, Symbol: "vfs_read"})
	}
	if k.Fentry().OK {
		targets = append(targets, Target{Kind: Fentry, Symbol: "vfs_read"}, Target{Kind: Fexit, Symbol: "vfs_read"})
	}
	return targets
}

// TestKill kills a process that has attached one of each kind; nothing of it may remain in the kernel.
func TestKill(t *testing.T) {
	k := openKernel(t)
	c := newCode(t, 4)
	tracefs := func() string {
		var all strings.Builder
		for _, f := range []string{"kprobe_events", "uprobe_events", "dynamic_events"} {
			b, _ := os.ReadFile(filepath.Join(k.Features().Tracefs, f))
			all.Write(b)
		}
		return all.String()
	}
	before := tracefs()
	name := fmt.Sprintf("jk%d", os.Getpid())
	_, kill := startChild(t, name, c.path, "4")
	progs, links := objects(t, name)
	if least := len(oneOfEach(c)); progs < least || links < least {
		t.Fatalf("%d programs and %d links while the child lives, want %d at least", progs, links, least)
	}
	if n := maps(name); n != 1 {
		t.Errorf("%d maps while the child lives, want 1", n)
	}
	if during := tracefs(); during != before {
		t.Errorf("tracefs has new probes:\n%s\nbefore:\n%s", during, before)
	}
	if c.first(0) != breakpoint {
		t.Errorf("no breakpoint at the uprobe while the child lives: %#x", c.first(0))
	}
	kill()
	waitFor(t, "programs, links and maps to go", func() bool {
		progs, links := objects(t, name)
		return progs == 0 && links == 0 && maps(name) == 0
	})
	waitFor(t, "the breakpoint to go", func() bool { c.call(0); return c.first(0) == function[0] })
	if after := tracefs(); after != before {
		t.Errorf("tracefs has new probes:\n%s\nbefore:\n%s", after, before)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// startAndEnd returns the number of a process that has ended.
func startAndEnd(t *testing.T) int {
	t.Helper()
	cmd, end := startChild(t, "")
	end()
	return cmd.Process.Pid
}

// symbolAddress looks a symbol up in /proc/kallsyms.
func symbolAddress(t *testing.T, name string) uint64 {
	t.Helper()
	f, err := os.Open("/proc/kallsyms")
	check(t, err)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if fields := strings.Fields(s.Text()); len(fields) >= 3 && fields[2] == name {
			addr, err := strconv.ParseUint(fields[0], 16, 64)
			check(t, err)
			return addr
		}
	}
	t.Fatalf("no symbol %s", name)
	return 0
}

// runChild runs this test program with one argument, as a user without any capability, and returns its
// output.
func runChild(t *testing.T, arg string) string {
	t.Helper()
	// The user must be able to read the program.
	exe, err := os.ReadFile("/proc/self/exe")
	check(t, err)
	dir, err := os.MkdirTemp("", "jalon")
	check(t, err)
	defer os.RemoveAll(dir)
	check(t, os.Chmod(dir, 0o755))
	path := filepath.Join(dir, "test")
	check(t, os.WriteFile(path, exe, 0o755))
	cmd := exec.Command(path, arg)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text)
}

// unprivileged is the child's main function.
func unprivileged() {
	k, err := Open()
	if err != nil {
		fmt.Println(err)
		os.Exit(0)
	}
	f := k.Features().Permission
	fmt.Printf("fact: %s; %s\n", f.Text, f.Remedy)
	_, err = k.Load(Program{Name: "none", Insns: empty(), Kind: RawTracepoint})
	fmt.Println(strings.Replace(fmt.Sprint(err), "load the program none", "load", 1))
	_, err = k.NewBuffer("none", 4096)
	fmt.Println(strings.Replace(fmt.Sprint(err), "make the kernel's buffer of 4096 bytes", "buffer", 1))
	os.Exit(0)
}
