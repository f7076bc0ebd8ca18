package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// unchanged runs a program with and without tracing and compares its output and its exit. Without tracing it runs once in an
// environment.
func unchanged(t *testing.T, prog []string, args ...string) *traced {
	t.Helper()
	want := untraced(t, prog)
	r := trace(t, append(append([]string{}, args...), append([]string{"--"}, prog...)...)...)
	equal(t, "output", r.stdout, want.stdout)
	if r.status != want.status {
		t.Errorf("%v: status %d, untraced %d; error output: %s", r.args, r.status, want.status, tail(r.stderr))
	}
	return r
}

// ran has the results of untraced, by command line and environment.
var ran sync.Map

func untraced(t *testing.T, prog []string) *result {
	t.Helper()
	key := strings.Join(append(os.Environ(), prog...), "\x00")
	if r, ok := ran.Load(key); ok {
		return r.(*result)
	}
	r := run(t, prog...)
	ran.Store(key, r)
	return r
}

func TestWildPointers(t *testing.T) {
	const rounds = 700
	for _, flags := range []string{"-O0", "-O2"} {
		prog := compile(t, "gcc", "wild.c", "-g", flags)
		// The possible results of each of the seven pointers of wild.c.
		values := []string{"p->value", "p->next", "p->name"}
		readable := [][]bool{
			{true, true, true}, {}, {}, {}, {}, {}, {true, false, false},
		}
		r := unchanged(t, []string{prog, fmt.Sprint(rounds)}, "visit", "-c", "n, p->value, p->next, p->name/s, *p")
		if len(r.events) != rounds || r.sum.Hits != rounds {
			t.Fatalf("%d events, %+v", len(r.events), r.sum)
		}
		for i := range r.events {
			e := &r.events[i]
			if e.Num(t, "n") != int64(i) {
				t.Fatalf("event %d has n = %d", i, e.Num(t, "n"))
			}
			for k, v := range values {
				ok := len(readable[i%7]) > k && readable[i%7][k]
				_, has := e.Values[v]
				msg := e.Errors[v]
				if ok && (!has || msg != "") {
					t.Errorf("event %d: %s: value %v, error %q", i, v, e.Values[v], msg)
				}
				if !ok && (msg == "" || has && e.Values[v] != nil) {
					t.Errorf("event %d: %s is not readable: value %v, error %q", i, v, e.Values[v], msg)
				}
			}
			if t.Failed() {
				t.FailNow()
			}
		}
		if v := r.events[6].Num(t, "p->value"); v != 99 {
			t.Errorf("value at the end of a page: %d", v)
		}
		if v := r.events[0].Values["p->name"]; v != "good" {
			t.Errorf("string: %v", v)
		}
		for _, tac := range tactics {
			// In a condition a fault is false, and counted.
			r = unchanged(t, []string{prog, fmt.Sprint(rounds)}, "--avoid", tac.bits, "visit if (p->value == 5 || p->value == 99)", "-c", "n")
			if r.sum.Hits != rounds || r.sum.Recorded != 2*rounds/7 || r.sum.Faults != 5*rounds/7 {
				t.Errorf("%s: summary %+v", tac.name, r.sum)
			}
		}
	}
}

func TestSignals(t *testing.T) {
	calls := "1500"
	if full {
		calls = "1000000"
	}
	prog := compile(t, "gcc", "signals.c", "-g", "-O2", "-pthread")
	for _, mode := range []string{"storm", "segv", "block", "trap"} {
		plain := run(t, prog, mode, calls)
		for _, tac := range tactics {
			t.Run(mode+"/"+tac.name, func(t *testing.T) {
				places := []string{"visit if (p->next->value > 3)"}
				if mode == "storm" || mode == "segv" {
					places = append(places, "in_handler if (sig < 0)")
				}
				want := *plain
				r := trace(t, append(append([]string{"--avoid", tac.bits}, places...), "--", prog, mode, calls)...)
				if mode == "block" {
					// The masks were set after arming, without an event for jalon. Whether SIGSEGV is still
					// blocked after jalon's faults is a known limit.
					r.stdout, _, _ = strings.Cut(r.stdout, " blocked")
					want.stdout, _, _ = strings.Cut(want.stdout, " blocked")
				}
				equal(t, "output", r.stdout, want.stdout)
				if r.status != 0 {
					t.Errorf("status %d: %s", r.status, tail(r.stderr))
				}
				if r.sum.Hits == 0 || r.sum.Faults == 0 || r.sum.Recorded != 0 {
					t.Errorf("summary: %+v", r.sum)
				}
			})
		}
	}
}

// A process with SIGSEGV, SIGTRAP and SIGBUS blocked, or with handlers of its own,
// is the same after jalon came and went.
func TestSignalsAttached(t *testing.T) {
	prog := compile(t, "gcc", "signals.c", "-g", "-O2", "-pthread", "-DWAIT")
	for _, tac := range tactics {
		for _, mode := range []string{"segv", "block", "trap"} {
			t.Run(mode+"/"+tac.name, func(t *testing.T) {
				const calls = "3000"
				want := runInput(t, "x", prog, mode, calls)
				cmd := exec.Command(prog, mode, calls)
				in, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				cmd.Stdin = in
				x := startCmd(t, cmd)
				_ = in.Close()
				eventually(t, "the program is ready", func() bool { return strings.Contains(x.Out.String(), "ready\n") })
				j := start(t, jalonArgs("trace", "-f", "none", "-v", "--summary-json", "--avoid", tac.bits, "-p", fmt.Sprint(x.Pid()), "visit if (p->next->value > 3)", "in_handler if (sig < 0)")...)
				eventually(t, "jalon arms", func() bool { return strings.Contains(j.Errs.String(), "armed after") || ended(j) })
				_ = w.Close()
				got := x.wait()
				r := j.wait()
				// Sites with int3 need jalon's SIGTRAP handler, which the program sees if it reads the action.
				got.stdout, _, _ = strings.Cut(got.stdout, " own")
				want.stdout, _, _ = strings.Cut(want.stdout, " own")
				equal(t, "output", got.stdout, want.stdout)
				if got.status != want.status {
					t.Errorf("status %d, want %d", got.status, want.status)
				}
				if sum := summaryOf(t, r); sum.Faults == 0 || (mode != "block") != (sum.False > 0) {
					t.Errorf("summary: %+v", sum)
				}
			})
		}
	}
}

// Children of every kind are not traced and do not notice; the parent's hits are
// counted exactly.
func TestChildren(t *testing.T) {
	rounds := 4
	if full {
		rounds = 100
	}
	prog := compile(t, "gcc", "children.c", "-g", "-O2")
	for _, tac := range tactics {
		t.Run(tac.name, func(t *testing.T) {
			r := unchanged(t, []string{prog, fmt.Sprint(rounds)}, "--avoid", tac.bits, "step", "-c", "n, k")
			if r.sum.Hits != uint64(rounds*100) || r.sum.Lost != 0 {
				t.Errorf("summary: %+v, want %d hits", r.sum, rounds*100)
			}
			// exec ends the tracing but not the program
			r = unchanged(t, []string{prog, "1", "/bin/sh", "-c", "echo after exec; exit 9"}, "--avoid", tac.bits, "step")
			if r.sum.Hits != 100 || !strings.Contains(r.stderr, "exec") {
				t.Errorf("summary: %+v; error output: %s", r.sum, r.stderr)
			}
		})
	}
}

func TestJumpsAndExceptions(t *testing.T) {
	for _, flags := range []string{"-O0", "-O2"} {
		jumps := compile(t, "gcc", "jumps.c", "-g", flags)
		throws := compile(t, "g++", "throws.cc", "-g", flags)
		for _, tac := range tactics {
			r := unchanged(t, []string{jumps, "900"}, "--avoid", tac.bits, "dive", "uprobe:jumps:dive", "-c", "$args, $bt")
			if want := uint64(2 * 900 * 5); flags == "-O0" && r.sum.Hits != want || r.sum.Hits < 1800 { // at -O2 it is a loop
				t.Errorf("jumps %s %s: %+v, want %d", flags, tac.name, r.sum, want)
			}
			r = unchanged(t, []string{throws, "700"}, "--avoid", tac.bits, "deep", "catcher", "Guard::~Guard", "-c", "$args, $bt")
			var depth int
			for i := range 700 {
				depth += i%7 + 1
			}
			// deep and the destructor depth times, catcher 700 times
			if want := uint64(2*depth + 700); r.sum.Hits != want && flags == "-O0" || r.sum.Hits == 0 {
				t.Errorf("throws %s %s: %+v, want %d", flags, tac.name, r.sum, want)
			}
		}
	}
}

// Every line with an instruction has a site at once.
func TestEveryLine(t *testing.T) {
	type prog struct {
		cc, src string
		flags   []string
		args    []string
	}
	for _, p := range []prog{
		{"gcc", "signals.c", []string{"-pthread"}, []string{"storm", "1000"}},
		{"gcc", "signals.c", []string{"-pthread"}, []string{"segv", "500"}},
		{"gcc", "children.c", nil, []string{"2"}},
		{"gcc", "threads.c", []string{"-pthread"}, []string{"4", "2000"}},
		{"gcc", "churn.c", []string{"-pthread"}, []string{"400"}},
		{"gcc", "wild.c", nil, []string{"70"}},
		{"gcc", "jumps.c", nil, []string{"100"}},
		{"g++", "throws.cc", nil, []string{"100"}},
		{"clang", "wild.c", nil, []string{"70"}},
		{"clang", "threads.c", []string{"-pthread"}, []string{"4", "2000"}},
	} {
		for _, o := range []string{"-O0", "-O2"} {
			t.Run(p.cc+p.src+o, func(t *testing.T) {
				bin := compile(t, p.cc, p.src, append([]string{"-g", o}, p.flags...)...)
				lines := probeLines(t, bin, p.src)
				for _, avoid := range []string{"0", "7"} {
					for _, cond := range []string{" if ($sp == 0)", ""} {
						if !full && (avoid == "7" && (cond == "" || o == "-O0") || avoid == "0" && cond != "" && o == "-O0") {
							continue
						}
						var args []string
						for _, n := range lines {
							args = append(args, fmt.Sprintf("%s:%d%s", p.src, n, cond))
						}
						r := unchanged(t, append([]string{bin}, p.args...), append(args, "-c", "$pc", "--avoid", avoid, "-f", "none")...)
						if r.sum.Hits == 0 || r.sum.Sites < len(lines) {
							t.Errorf("%d lines: %+v", len(lines), r.sum)
						}
					}
				}
			})
		}
	}
}

// probeLines are the lines of a file that jalon lists as having code.
func probeLines(t *testing.T, bin, src string) []int {
	t.Helper()
	r := jalon(t, "list", bin+"@"+src)
	var lines []int
	seen := map[int]bool{}
	for _, l := range strings.Split(r.stdout, "\n") {
		var n int
		if _, err := fmt.Sscanf(strings.TrimSpace(l), src+":%d", &n); err == nil && !seen[n] {
			seen[n] = true
			lines = append(lines, n)
		}
	}
	if len(lines) < 5 {
		t.Fatalf("jalon list %s@%s: status %d\n%s%s", bin, src, r.status, r.stdout, r.stderr)
	}
	return lines
}

// Libraries that come and go.
func TestPlugins(t *testing.T) {
	lib := compile(t, "gcc", "plugin.c", "-g", "-O2", "-shared", "-fPIC")
	prog := compile(t, "gcc", "plugins.c", "-g", "-O2")
	for _, tac := range tactics {
		r := unchanged(t, []string{prog, lib, "20"}, "--avoid", tac.bits, "--pending", "plugin_work", "-c", "n")
		if r.sum.Hits != 200 || len(r.events) != 200 {
			t.Errorf("%s: %d events, summary %+v, want 200: %s", tac.name, len(r.events), r.sum, tail(r.stderr))
		}
		for i := range r.events {
			if n := r.events[i].Num(t, "n"); n != int64(i/10+i%10) {
				t.Errorf("event %d: n = %d", i, n)
				break
			}
		}
	}
	r := jalon(t, "trace", "plugin_work", "--", prog, lib, "2")
	if r.status == 0 || !strings.Contains(r.stderr, "plugin_work") {
		t.Errorf("without --pending: status %d, %s", r.status, r.stderr)
	}
}

// The ways to link a program.
func TestKindsOfPrograms(t *testing.T) {
	need(t, "musl-gcc", "strip", "go")
	kinds := []struct {
		name, cc string
		flags    []string
	}{
		{"pie", "gcc", []string{"-g", "-O2", "-pie"}},
		{"no-pie", "gcc", []string{"-g", "-O2", "-no-pie"}},
		{"static", "gcc", []string{"-g", "-O2", "-static"}},
		{"static-pie", "gcc", []string{"-g", "-O2", "-static-pie"}},
		{"musl", "musl-gcc", []string{"-g", "-O2"}},
		{"musl-static", "musl-gcc", []string{"-g", "-O2", "-static"}},
		{"clang", "clang", []string{"-g", "-O2"}},
		{"cet", "gcc", []string{"-g", "-O2", "-fcf-protection=full"}},
		{"m-now", "gcc", []string{"-g", "-O2", "-Wl,-z,now", "-Wl,-z,relro"}},
	}
	for i, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			prog := compile(t, k.cc, "threads.c", append(k.flags, "-pthread")...)
			for n, tac := range tactics {
				if n > 0 && n != 1+i%2 && !full {
					continue
				}
				r := unchanged(t, []string{prog, "4", "500"}, "--buffer", "8M", "--avoid", tac.bits, "work if (i % 2 == 0)", "-c", "i, *job, $bt")
				if r.sum.Hits != 2000 || r.sum.Recorded != 1000 {
					t.Errorf("%s: %+v", tac.name, r.sum)
				}
			}
			// without any symbol: by address
			r := run(t, "nm", prog)
			var addr uint64
			for _, l := range strings.Split(r.stdout, "\n") {
				if f := strings.Fields(l); len(f) == 3 && f[2] == "work" {
					_, _ = fmt.Sscanf(f[0], "%x", &addr)
				}
			}
			stripped := prog + "-stripped"
			if r := run(t, "strip", "--strip-debug", "-o", stripped, prog); r.status != 0 {
				t.Fatal(r.stderr)
			}
			x := unchanged(t, []string{stripped, "4", "500"}, "uprobe:"+stripped+":work if (arg1 % 2 == 0)", "-c", "arg1, $regs")
			if x.sum.Hits != 2000 || x.sum.Recorded != 1000 {
				t.Errorf("stripped of debug information: %+v", x.sum)
			}
			if r := run(t, "strip", "-o", stripped+"2", prog); r.status != 0 {
				t.Fatal(r.stderr)
			}
			f := jalon(t, "trace", "work", "--", stripped+"2", "1", "1")
			if f.status == 0 || !strings.Contains(f.stderr, "work") || !strings.Contains(f.stderr, "^") {
				t.Errorf("a function of a stripped program: status %d, %s", f.status, f.stderr)
			}
			if k.name == "no-pie" && addr != 0 {
				// No bounds of functions are known there except those of .eh_frame.
				f := trace(t, fmt.Sprintf("*0x%x", addr), "--", stripped+"2", "4", "500")
				if f.status == 0 && f.sum.Hits != 2000 {
					t.Errorf("by address in a stripped program: %+v", f.sum)
				}
			}
		})
	}
}

const goProgram = `package main

import (
	"fmt"
	"sync"
)

//go:noinline
func step(n int, s []int) int { return n*3 + s[n%len(s)] }

func main() {
	var wg sync.WaitGroup
	sums := make([]int, 8)
	for g := range sums {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 5000 {
				sums[g] += step(i, []int{1, 2, 3})
				if i%500 == 0 {
					var p *[4]int
					func() {
						defer func() { _ = recover() }()
						p[i%4] = 1
					}()
				}
			}
		}()
	}
	wg.Wait()
	fmt.Println(sums)
}
`

// A Go program moves its stacks, preempts by signals and turns SIGSEGV into panics.
func TestGoProgram(t *testing.T) {
	dir := t.TempDir()
	src, prog := filepath.Join(dir, "main.go"), filepath.Join(dir, "gostep")
	if err := os.WriteFile(src, []byte(goProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", prog, src)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tac := range tactics {
		r := unchanged(t, []string{prog}, "--avoid", tac.bits, "-f", "none", "uprobe:"+prog+":main.step if ($rdi == 99)", "-c", "$regs")
		if r.sum.Hits != 40000 {
			t.Errorf("%s: %+v", tac.name, r.sum)
		}
	}
	// Go's table of functions has the names of a stripped program. lld puts it into a section with other data, where symbols mark it,
	// or only its head. With --avoid, a site whose free stack is not known is refused.
	for _, flags := range [][]string{{"--rename-section=.gopclntab=.data.rel.ro"}, {"--strip-all"}, {"--rename-section=.gopclntab=.data.rel.ro", "--strip-all"}} {
		other := filepath.Join(dir, "other")
		if r := run(t, append(append([]string{"objcopy"}, flags...), prog, other)...); r.status != 0 {
			t.Fatal(r.stderr)
		}
		r := unchanged(t, []string{other}, "--avoid", "3", "-f", "none", "uprobe:"+other+":main.step if ($rdi == 99)", "-c", "$regs")
		if r.sum.Hits != 40000 {
			t.Errorf("%v: %+v", flags, r.sum)
		}
	}
	// Its lines and its call frames are there, too.
	stripped := filepath.Join(dir, "other")
	want := regexp.MustCompile(`(?s)#0 [^\n]*main\.step\S* at \S*main\.go:9\n[^\n]*#1 [^\n]*main\.main\.func1\S* at \S*main\.go:19\n[^\n]*#2 [^\n]*runtime\.goexit\S* at \S*asm_amd64\.s:\d+\n`)
	for _, file := range []string{prog, stripped} {
		r := jalon(t, "trace", "main.go:9 if ($rax == 99)", "-c", "$bt", "--", file)
		if n := len(want.FindAllString(r.stdout, -1)); n != 8 {
			t.Errorf("%s has %d of 8 stacks:\n%s%s", file, n, tail(r.stdout), tail(r.stderr))
		}
	}
}

// Ctrl-C at the terminal reaches both: jalon ends, the program that it started
// runs on.
func TestInterruptLeavesProgram(t *testing.T) {
	for _, tac := range tactics {
		prog := compile(t, "gcc", "checked.c", "-g", "-O2", "-pthread")
		in, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		cmd := exec.Command(jalonBin, "trace", "--avoid", tac.bits, "-f", "none", "--summary-json", "-v", "leaf if (a < 0)", "text", "tight if (n < 0)", "--", prog, "2")
		cmd.Stdin = in
		j, done := startOutlived(t, cmd)
		_ = in.Close()
		eventually(t, "jalon arms", func() bool { return strings.Contains(j.Errs.String(), "armed after") || ended(j) })
		x := &target{running: j, in: w}
		x.goesOn("traced")
		child := childOf(j.Pid())
		j.Signal(syscall.SIGINT)
		eventually(t, "jalon lets the program go", func() bool { return child != 0 && alive(child) && tracerOf(child) == 0 })
		before := strings.Count(j.Out.String(), "on\n")
		if _, err := w.Write([]byte("?")); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the program runs on", func() bool { return strings.Count(j.Out.String(), "on\n") > before || !alive(child) })
		_ = w.Close()
		r := j.wait()
		eventually(t, "the program ends", func() bool { return !alive(child) })
		<-done
		if !strings.HasSuffix(j.Out.String(), "ok\n") {
			t.Errorf("%s: output %q", tac.name, j.Out.String())
		}
		if sum := summaryOf(t, r); sum.Hits == 0 || r.status != 0 {
			t.Errorf("%s: status %d, %+v", tac.name, r.status, sum)
		}
	}
}
