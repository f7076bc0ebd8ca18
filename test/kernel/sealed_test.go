package kernel

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// sealed starts a program whose code must never be writable.
func sealed(t *testing.T, how string, args ...string) *process {
	t.Helper()
	p := start(t, append([]string{compile(t, "gcc", "sealed.c", "-O2"), how}, args...)...)
	p.Send("")
	select {
	case <-p.Ended:
		if p.Status == 77 {
			skip(t, "the kernel has no "+how)
		}
		t.Fatalf("status %d: %s", p.Status, p.Errs.String())
	case <-p.Out.Has("on\n"):
	}
	return p
}

// spotsIn are places of uprobes in all functions of a self-checking program.
func spotsIn(t testing.TB, path string, functions []string, beside string) (list []spot) {
	for _, f := range append(functions[:len(functions):len(functions)], beside) {
		list = append(list, spotsOf(t, path, f, 2)...)
	}
	return list
}

// TestSealedCode: where code must not be writable, copies lie over the pages, and the
// program has its own mapping again at the end. Uprobes that come meanwhile are hit from
// then on.
func TestSealedCode(t *testing.T) {
	for _, prog := range selfChecking {
		path := compile(t, "gcc", prog.src, "-g", "-O2", "-pthread", "-DCOPY="+t.Name())
		t.Run(prog.src, func(t *testing.T) {
			p := sealed(t, "mdwe", path, "2")
			c := codeOf(t, p.Pid(), path, append(prog.traced[:len(prog.traced):len(prog.traced)], prog.beside)...)
			for range 2 { // a second session finds no traces of the first
				tr := begin(t, append(places(path, prog.traced), "-p", fmt.Sprint(p.Pid()))...).armed()
				goesOn(t, p)
				if !strings.Contains(tr.Errs.String(), "a copy covers them") {
					t.Errorf("no copy:\n%s", tr.Errs.String())
				}
				var others []*uprobe
				for _, s := range spotsIn(t, path, prog.traced, prog.beside) {
					others = append(others, putUprobe(t, path, s.offset))
				}
				goesOn(t, p)
				tr.stop()
				goesOn(t, p)
				for at := range c {
					if b, perms := codeAt(t, p.Pid(), path, at, 1); b[0] != 0xcc && b[0] != 0xe8 || perms != "r-xp" {
						t.Errorf("the uprobe at %#x is not in the program: %x, %s", at, b, perms)
					}
				}
				for _, u := range others {
					u.remove()
				}
				goesOn(t, p)
				c.check(t, p.Pid(), path)
				if n := tr.counts(); n.Hits == 0 || n.Sites != len(prog.traced) {
					t.Errorf("%+v\n%s", n, tr.Errs.String())
				}
			}
			ends(t, p)
		})
	}
}

// TestSealedUprobes: there, a page with another tracer's breakpoint is left as it is:
// no jump is written into it, and the breakpoint can be removed at any time.
func TestSealedUprobes(t *testing.T) {
	prog := selfChecking[0]
	path := compile(t, "gcc", prog.src, "-g", "-O2", "-pthread", "-DCOPY="+t.Name())
	p := sealed(t, "mdwe", path, "2")
	c := codeOf(t, p.Pid(), path, append(prog.traced[:len(prog.traced):len(prog.traced)], prog.beside)...)
	before := putUprobe(t, path, offsetOf(t, path, prog.beside))
	tr := begin(t, append(places(path, prog.traced), "-p", fmt.Sprint(p.Pid()))...).armed()
	goesOn(t, p)
	if !strings.Contains(tr.Errs.String(), "no jumps are written there") {
		t.Errorf("no word of it:\n%s", tr.Errs.String())
	}
	others := []*uprobe{before}
	for _, s := range spotsIn(t, path, prog.traced, prog.beside) {
		others = append(others, putUprobe(t, path, s.offset))
	}
	goesOn(t, p)
	for _, u := range others {
		u.remove()
		goesOn(t, p)
	}
	tr.stop()
	goesOn(t, p)
	c.check(t, p.Pid(), path)
	if n := tr.counts(); n.Hits == 0 || n.Sites != len(prog.traced) {
		t.Errorf("%+v\n%s", n, tr.Errs.String())
	}
	ends(t, p)
}

// TestSealedByFilter: a seccomp filter that program and jalon are under refuses writable
// code. Every hit is counted.
func TestSealedByFilter(t *testing.T) {
	prog := selfChecking[0]
	path := compile(t, "gcc", prog.src, "-g", "-O2", "-pthread", "-DCOPY="+t.Name())
	wrapper := compile(t, "gcc", "sealed.c", "-O2")
	tr := beginCmd(t, func(c *exec.Cmd) {
		c.Args = append([]string{wrapper, "seccomp"}, c.Args...)
		c.Path = wrapper
	}, append(places(path, prog.traced), "--", path, "2")...)
	tr.armed()
	goesOn(t, tr.process)
	var others []*uprobe
	for _, s := range spotsIn(t, path, prog.traced, prog.beside) {
		others = append(others, putUprobe(t, path, s.offset))
	}
	goesOn(t, tr.process)
	for _, u := range others {
		u.remove()
	}
	goesOn(t, tr.process)
	if err := tr.In.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	tr.wait()
	if !strings.Contains(tr.Errs.String(), "a copy covers them") {
		t.Errorf("no copy:\n%s", tr.Errs.String())
	}
	exact(t, tr, uint64(len(prog.traced)))
}

// TestKilledWhileGuarded: jalon is killed and its jumps stay. Uprobes that come then, and
// go, do no harm; neither does the next session.
func TestKilledWhileGuarded(t *testing.T) {
	for _, how := range []string{"", "mdwe"} {
		prog := selfChecking[0]
		path := compile(t, "gcc", prog.src, "-g", "-O2", "-pthread", "-DCOPY="+t.Name())
		t.Run("code "+how, func(t *testing.T) {
			var p *process
			if how == "" {
				p = start(t, path, "2")
				goesOn(t, p)
			} else {
				p = sealed(t, how, path, "2")
			}
			tr := begin(t, append(places(path, prog.traced), "-p", fmt.Sprint(p.Pid()))...).armed()
			goesOn(t, p)
			tr.Signal(syscall.SIGKILL)
			<-tr.Ended
			goesOn(t, p)
			var others []*uprobe
			for _, s := range spotsIn(t, path, prog.traced, prog.beside) {
				others = append(others, putUprobe(t, path, s.offset))
			}
			goesOn(t, p)
			again := begin(t, append(places(path, prog.traced), "-p", fmt.Sprint(p.Pid()))...).armed()
			goesOn(t, p)
			again.stop()
			if n := again.counts(); n.Hits == 0 {
				t.Errorf("the second session has no hits:\n%s", again.Errs.String())
			}
			for _, u := range others {
				u.remove()
			}
			goesOn(t, p)
			ends(t, p)
		})
	}
}

// TestCheckProcess: `jalon check -p` lists changes to a program's code.
func TestCheckProcess(t *testing.T) {
	path := compile(t, "gcc", "sled.c", "-g", "-O2", "-pthread", "-DCOPY="+t.Name())
	for _, how := range []string{"", "mdwe"} {
		t.Run("code "+how, func(t *testing.T) {
			var p *process
			if how == "" {
				p = start(t, path, "2")
				goesOn(t, p)
			} else {
				p = sealed(t, how, path, "2")
			}
			said := func() string {
				out := jalon(t, "check", "-p", fmt.Sprint(p.Pid())).Out.String()
				_, out, _ = strings.Cut(out, fmt.Sprintf("process %d", p.Pid()))
				return out
			}
			if s := said(); strings.Count(s, "none") != 4 || strings.Contains(s, "no ") && !strings.Contains(s, "yes  no ") {
				t.Errorf("untouched:\n%s", s)
			}
			tr := begin(t, append(places(path, []string{"plain"}), "-p", fmt.Sprint(p.Pid()))...).armed()
			pages := "writable pages of code             1"
			if how != "" {
				pages = "copied pages of code               1"
			}
			now := said()
			for _, want := range []string{pages, "(plain) of " + path, fmt.Sprintf("process %d is", tr.Pid())} {
				if !strings.Contains(now, want) {
					t.Errorf("no %q:\n%s", want, now)
				}
			}
			tr.stop()
			putUprobe(t, path, offsetOf(t, path, "sled"))
			goesOn(t, p)
			if s := said(); !strings.Contains(s, "(sled) of "+path) || strings.Count(s, "none") != 3 {
				t.Errorf("a uprobe:\n%s", s)
			}
			ends(t, p)
		})
	}
	if c := jalon(t, "check", "-p", "4194305"); c.Status == 0 || !strings.Contains(c.Errs.String(), "there is no process") {
		t.Errorf("status %d: %s", c.Status, c.Errs.String())
	}
}
