package kernel

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/patch"
)

// selfChecking are programs that check their own results: where another tracer's
// uprobes come, and the functions that jalon traces by code of its own. Each function
// is called once a round.
var selfChecking = []struct {
	src    string
	traced []string // called once a round
	beside string   // of the same page, not traced
}{
	{"../programs/checked.c", []string{"leaf", "loop", "mixed", "tight"}, "text"},
	{"sled.c", []string{"sled"}, "plain"},
}

// avoided are the tactics of package patch that are kept from being used, so that each
// of them is.
var avoided = []struct{ name, bits string }{
	{"jumps", "0"}, {"punned jumps", "3"}, {"int3", "7"},
}

// spot is a place of another tracer's uprobe.
type spot struct {
	name   string
	offset uint64
}

// spotsOf are the first instructions of a function, each a place.
func spotsOf(t testing.TB, path, function string, n int) (list []spot) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := offsetOf(t, path, function)
	for from := at; len(list) < n; {
		in, err := patch.Decode(b[at:], at)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, spot{fmt.Sprintf("%s+%d", function, at-from), at})
		if in.Class.Ends() {
			break
		}
		at = in.Next()
	}
	return list
}

// clean is the code of the functions as the program has it untraced, by offset.
type clean map[uint64][]byte

func codeOf(t testing.TB, pid int, path string, functions ...string) clean {
	t.Helper()
	c := clean{}
	for _, f := range functions {
		at := offsetOf(t, path, f)
		c[at], _ = codeAt(t, pid, path, at, 32)
	}
	return c
}

func (c clean) check(t testing.TB, pid int, path string) {
	t.Helper()
	for at, want := range c {
		got, perms := codeAt(t, pid, path, at, len(want))
		if !bytes.Equal(got, want) || perms != "r-xp" {
			t.Errorf("the code at %#x is %s % x at the end, was r-xp % x", at, perms, got, want)
		}
	}
}

// childOf is the process that another started.
func childOf(t testing.TB, p *process) int {
	t.Helper()
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.Pid()))
	for _, f := range lists {
		b, _ := os.ReadFile(f)
		var pid int
		if n, _ := fmt.Sscan(string(b), &pid); n == 1 {
			return pid
		}
	}
	t.Fatalf("process %d has no child\n%s", p.Pid(), p.Errs.String())
	return 0
}

// places are uprobe: places with a condition that is false.
func places(path string, functions []string) (list []string) {
	for _, f := range functions {
		list = append(list, "uprobe:"+path+":"+f+" if ($rsp == 1)")
	}
	return list
}

// TestLaterUprobe: another tracer adds and removes uprobes in a traced program: at the bytes of the jumps,
// after them, and at other functions of the page. The program computes the right results, and jalon counts
// every hit.
func TestLaterUprobe(t *testing.T) {
	for _, prog := range selfChecking {
		path := compile(t, "gcc", prog.src, "-g", "-O2", "-pthread", "-DCOPY="+t.Name())
		for _, av := range avoided {
			t.Run(filepath.Base(prog.src)+"/"+av.name, func(t *testing.T) {
				args := append([]string{"--avoid", av.bits}, places(path, prog.traced)...)
				tr := begin(t, append(args, "--", path, "3")...).armed()
				goesOn(t, tr.process)
				pid := childOf(t, tr.process)
				var list []spot
				for _, f := range append(prog.traced[:len(prog.traced):len(prog.traced)], prog.beside) {
					list = append(list, spotsOf(t, path, f, 3)...)
				}
				var others []*uprobe
				for _, s := range list {
					if _, perms := codeAt(t, pid, path, s.offset, 1); perms != "rwxp" {
						t.Errorf("%s: the page is %s", s.name, perms)
					}
					u := putUprobe(t, path, s.offset)
					others = append(others, u)
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
				exact(t, tr, uint64(len(prog.traced)))
			})
		}
	}
}

// exact checks that a launched self-checking program ended well and that jalon counted
// perRound hits in every round.
func exact(t testing.TB, tr *trace, perRound uint64) {
	t.Helper()
	var rounds uint64
	for line := range strings.Lines(tr.Errs.String()) {
		fmt.Sscanf(line, "%d rounds", &rounds)
	}
	c := tr.counts()
	tr.check("hits", c.Hits, perRound*rounds)
	if rounds == 0 || !strings.HasSuffix(tr.Out.String(), "ok\n") || c.Outcome != "exited with status 0" {
		t.Errorf("%d rounds, %q, %s", rounds, tr.Out.String(), c.Outcome)
	}
}

// TestUprobeOrders: uprobes that come before or after jalon and go before or after its
// end, at traced functions and beside them.
func TestUprobeOrders(t *testing.T) {
	for _, prog := range selfChecking {
		path := compile(t, "gcc", prog.src, "-g", "-O2", "-pthread", "-DCOPY="+t.Name())
		var list []spot
		for _, f := range append(prog.traced[:1:1], prog.beside) {
			list = append(list, spotsOf(t, path, f, 2)...)
		}
		for _, before := range []bool{true, false} {
			for _, outlives := range []bool{true, false} {
				for i, at := range append(list, spot{name: "everywhere"}) {
					if i > 0 && i < len(list) && !full {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/before %t outlives %t", filepath.Base(prog.src), at.name, before, outlives), func(t *testing.T) {
						spots := list
						if i < len(list) {
							spots = list[i : i+1]
						}
						p := start(t, path, "2")
						goesOn(t, p)
						c := codeOf(t, p.Pid(), path, append(prog.traced[:len(prog.traced):len(prog.traced)], prog.beside)...)
						var others []*uprobe
						put := func() {
							for _, s := range spots {
								others = append(others, putUprobe(t, path, s.offset))
							}
							goesOn(t, p)
						}
						if before {
							put()
						}
						tr := begin(t, append(places(path, prog.traced), "-p", fmt.Sprint(p.Pid()))...).armed()
						goesOn(t, p)
						if !before {
							put()
						}
						if outlives {
							tr.stop()
							goesOn(t, p)
						}
						for _, u := range others {
							u.remove()
						}
						goesOn(t, p)
						if !outlives {
							tr.stop()
							goesOn(t, p)
						}
						c.check(t, p.Pid(), path)
						if n := tr.counts(); n.Hits == 0 || n.Sites != len(prog.traced) {
							t.Errorf("%+v\n%s", n, tr.Errs.String())
						}
						ends(t, p)
					})
				}
			}
		}
	}
}

// TestForkedGuard: a forked child has the program's own code, in pages with their original protection,
// where other tracers can insert and remove uprobes as in any program.
func TestForkedGuard(t *testing.T) {
	path := compile(t, "gcc", "forks.c", "-g", "-O2", "-DCOPY="+t.Name())
	for _, how := range []string{"", "mdwe"} {
		t.Run("code "+how, func(t *testing.T) {
			args := []string{path}
			if how != "" {
				args = []string{compile(t, "gcc", "sealed.c", "-O2"), how, path}
			}
			p := start(t, args...)
			count := 0
			pid := nextChild(t, p, &count)
			c := codeOf(t, pid, path, "leaf")
			tr := begin(t, append(places(path, []string{"leaf"}), "-p", fmt.Sprint(p.Pid()))...).armed()
			at := offsetOf(t, path, "leaf")
			for range 5 {
				pid := nextChild(t, p, &count)
				c.check(t, pid, path)
				u := putUprobe(t, path, at)
				if b, _ := codeAt(t, pid, path, at, 1); b[0] != 0xcc {
					t.Errorf("the uprobe is not in the child: %x", b)
				}
				u.remove()
				c.check(t, pid, path)
			}
			tr.stop()
			c.check(t, p.Pid(), path)
			if n := tr.counts(); n.Hits != 5 {
				t.Errorf("%d hits, want 5\n%s", n.Hits, tr.Errs.String())
			}
			if strings.Contains(p.Out.String(), "bad") {
				t.Error(p.Out.String())
			}
		})
	}
}

// nextChild has forks make a child.
func nextChild(t testing.TB, p *process, count *int) (pid int) {
	t.Helper()
	*count++
	p.Send("")
	says := fmt.Sprintf("child %d is ", *count)
	p.AwaitOut(says)
	_, rest, _ := strings.Cut(p.Out.String(), says)
	if _, err := fmt.Sscan(rest, &pid); err != nil {
		t.Fatalf("%q: %v", p.Out.String(), err)
	}
	return pid
}
