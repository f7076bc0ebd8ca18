package kernel

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/jalon-trace/jalon/test/testkit"
)

// checked starts a private copy of the program that checks itself, with so many threads.
func checked(t testing.TB, threads int) (p *process, path string) {
	t.Helper()
	path = compile(t, "gcc", "../programs/checked.c", "-g", "-O2", "-pthread", fmt.Sprintf("-DCOPY=%q", t.Name()))
	p = start(t, path, fmt.Sprint(threads))
	goesOn(t, p)
	return p, path
}

// goesOn waits until every thread of checked has run all its functions once more.
func goesOn(t testing.TB, p *process) {
	t.Helper()
	n := strings.Count(p.Out.String(), "on\n")
	p.Send("")
	p.AwaitOut(strings.Repeat("on\n", n+1))
}

// ends ends checked and looks at its results.
func ends(t testing.TB, p *process) {
	t.Helper()
	if err := p.In.(io.Closer).Close(); err != nil {
		t.Fatal(err)
	}
	p.Wait()
	if p.Status != 0 || !strings.HasSuffix(p.Out.String(), "ok\n") {
		t.Errorf("the traced program: status %d, %q", p.Status, p.Out.String())
	}
}

// TestForeignBreakpoint: another tracer's uprobe is already at the instruction. jalon's site becomes a
// second consumer of it; other sites of the function are patched as usual. The program's memory keeps the
// other tracer's bytes exactly, whichever tracer ends first.
func TestForeignBreakpoint(t *testing.T) {
	for _, first := range []string{"jalon", "other"} {
		t.Run(first+" ends first", func(t *testing.T) {
			p, path := checked(t, 2)
			at := offsetOf(t, path, "leaf")
			clean, _ := codeAt(t, p.Pid(), path, at, 16)
			other := putUprobe(t, path, at)
			tr := begin(t, "uprobe:"+path+":leaf if (arg0 % 1000 == 5)", "uprobe:"+path+":loop if (arg1 != 7)", "-c", "$args", "-p", fmt.Sprint(p.Pid())).armed()
			goesOn(t, p)
			if b, _ := codeAt(t, p.Pid(), path, at, 16); b[0] != 0xcc || !bytes.Equal(b[1:], clean[1:]) {
				t.Errorf("the code under the uprobe is % x, was % x", b, clean)
			}
			if first == "jalon" {
				tr.stop()
				goesOn(t, p)
				other.remove()
			} else {
				other.remove()
				goesOn(t, p)
				tr.stop()
			}
			goesOn(t, p)
			if b, _ := codeAt(t, p.Pid(), path, at, 16); !bytes.Equal(b, clean) {
				t.Errorf("the code is % x at the end, was % x", b, clean)
			}
			if !strings.Contains(tr.Errs.String(), "a uprobe of the kernel") {
				t.Errorf("the site is not shared:\n%s", tr.Errs.String())
			}
			c := tr.counts()
			if c.Hits < 100 || c.Lost != 0 {
				t.Errorf("%+v", c)
			}
			ends(t, p)
		})
	}
}

// TestForeignExact: hits of sites that another tracer's uprobe occupies are counted
// exactly, from the first one on.
func TestForeignExact(t *testing.T) {
	path := compile(t, "gcc", "../programs/checked.c", "-g", "-O2", "-pthread", "-DCOPY="+t.Name())
	putUprobe(t, path, offsetOf(t, path, "leaf"))
	tr := beginCmd(t, func(c *exec.Cmd) { c.Stdin = strings.NewReader("\n\n") },
		"uprobe:"+path+":leaf if (arg1 == 16)", "uprobe:"+path+":mixed if (arg0 == -1)", "--", path, "2").wait()
	var rounds uint64
	for line := range strings.Lines(tr.Errs.String()) {
		fmt.Sscanf(line, "%d rounds", &rounds)
	}
	c := tr.counts()
	tr.check("hits", c.Hits, 2*rounds)
	tr.check("false conditions", c.False, 2*rounds)
	if rounds == 0 || !strings.HasSuffix(tr.Out.String(), "ok\n") {
		t.Errorf("%d rounds, %q", rounds, tr.Out.String())
	}
}

// TestForeignUnderGDB: GDB gets an error if another tracer's breakpoint is at an address, because breakpoints
// and tracepoints there would have no hits.
func TestForeignUnderGDB(t *testing.T) {
	gdb := tool(t, "gdb")
	p, path := checked(t, 2)
	at := offsetOf(t, path, "leaf")
	c := codeOf(t, p.Pid(), path, "leaf", "loop")
	other := putUprobe(t, path, at)
	script := filepath.Join(t.TempDir(), "script")
	text := fmt.Sprintf(`set pagination off
set confirm off
set remotetimeout 60
file %s
target remote | %s gdbserver --attach - %d
trace *leaf
actions
collect $regs
end
tstart
delete
break *leaf
continue
delete
break *loop
continue
delete
detach
`, path, jalonBin, p.Pid())
	for _, command := range []string{"tstart", "continue"} { // the first of each fails
		text = strings.Replace(text, command+"\n", "python\ntry: gdb.execute('"+command+"')\nexcept gdb.error as e: print(e)\nend\n", 1)
	}
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g := start(t, gdb, "-nx", "-batch", "-x", script).Wait()
	testkit.InOrder(t, g.Out.String(), "another tracer's breakpoint", "hit Breakpoint 3, loop")
	testkit.InOrder(t, g.Errs.String(), "Cannot insert breakpoint 2")
	goesOn(t, p)
	other.remove()
	goesOn(t, p)
	c.check(t, p.Pid(), path)
	ends(t, p)
}

// TestMisrunInstructions: no uprobe is used where the kernel would execute a vector instruction as a
// branch; jalon patches these sites itself, and uses uprobes for others.
func TestMisrunInstructions(t *testing.T) {
	if !cpu.X86.HasAVX {
		skip(t, "the processor has no AVX")
	}
	path := compile(t, "gcc", "vector.c", "-O2")
	tr := jalon(t, "trace", "uprobe:"+path+":same", "--all", "-d", "1s")
	if tr.Status == 0 || !strings.Contains(tr.Errs.String(), "takes the vector instruction at same") {
		t.Errorf("status %d: %s", tr.Status, tr.Errs.String())
	}
	p := start(t, path)
	goesOn(t, p)
	for _, args := range [][]string{
		{"uprobe:" + path + ":same", "-p", fmt.Sprint(p.Pid())},
		{"uprobe:" + path + ":twice", "--all", "-p", fmt.Sprint(p.Pid())},
	} {
		tr := begin(t, args...).armed()
		for range 3 {
			goesOn(t, p)
		}
		tr.stop()
		tr.check("hits", tr.counts().Hits, 3)
	}
	ends(t, p)
}

// TestUnsteppedInstructions: no uprobe is used where the kernel's stepping over an instruction would kill
// the program or count wrong; jalon patches these sites itself. (In a sweep of libc redis-server was killed
// by a uprobe at the syscall of umask.)
func TestUnsteppedInstructions(t *testing.T) {
	path := compile(t, "gcc", "unstepped.c", "-O2")
	for name, why := range map[string]string{
		"returns_at": "cannot have a uprobe", "loads_at": "cannot have a uprobe", "flags_at": "cannot have a uprobe",
		"fills_at": "as many hits as it has elements",
	} {
		place := "uprobe:" + path + ":" + name
		tr := jalon(t, "trace", place, "--all", "-d", "1s")
		if tr.Status == 0 || !strings.Contains(tr.Errs.String(), why) {
			t.Errorf("%s: status %d: %s", name, tr.Status, tr.Errs.String())
		}
		p := start(t, path)
		goesOn(t, p)
		own := begin(t, place, "-p", fmt.Sprint(p.Pid())).armed()
		for range 3 {
			goesOn(t, p)
		}
		own.stop()
		own.check("hits", own.counts().Hits, 3)
		ends(t, p)
	}
}

// TestForeignNumbers: a place with another tracer's uprobe, which only the kernel can serve, is refused if it changes a map of numbers that places in the process
// have: the kernel's programs would have another one. What the kernel adds to a map of counts is added up.
func TestForeignNumbers(t *testing.T) {
	path := compile(t, "gcc", "../programs/foreignnumbers.c", "-g", "-O2", "-DCOPY="+t.Name())
	putUprobe(t, path, offsetOf(t, path, "plain"))
	for _, c := range []struct{ do, out, errs string }{
		{"@c = count();", "@c: 2000\n", ""},
		{"@x++;", "", "maps and the values of entries ($elapsed, @entry) are in the process"},
	} {
		p := jalon(t, "run", "-e", fmt.Sprintf("uprobe:%s:plain { %s } uprobe:%s:other { %s }", path, c.do, path, c.do), "-c", path)
		if !strings.Contains(p.Out.String(), c.out) || !strings.Contains(p.Errs.String(), c.errs) || strings.Contains(p.Out.String(), "@x") {
			t.Errorf("%s: %s%s", c.do, p.Out.String(), p.Errs.String())
		}
	}
}
