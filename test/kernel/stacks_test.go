package kernel

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// functions lists the functions of a stack, innermost first; "?" has no name.
func functions(e event, key string) (out []string) {
	frames, _ := e.Values[key].([]any)
	for _, f := range frames {
		m, _ := f.(map[string]any)
		name, _ := m["function"].(string)
		if name == "" {
			name = "?"
		}
		out = append(out, name)
	}
	return out
}

// calls lists the functions of a stack that are not inlined.
func calls(e event, key string) (out []string) {
	frames, _ := e.Values[key].([]any)
	for i, name := range functions(e, key) {
		if m, _ := frames[i].(map[string]any); m["inlined"] != true {
			out = append(out, name)
		}
	}
	return out
}

// TestStacks: a stack at a uprobe equals that of the in-process engine at the same place, by call frame
// information, whether or not the process still runs when it is shown.
func TestStacks(t *testing.T) {
	bin := demo(t, "-O2")
	var want [][]string
	for _, e := range run(t, "leaf if (n % 3 == 0)", "-c", "$bt", "--", bin, "10").events() {
		want = append(want, upTo(functions(e, "$bt"), "main"))
	}
	if len(want) != 4 || fmt.Sprint(want[3]) != "[leaf middle main]" {
		t.Fatalf("in-process: %v", want)
	}
	// For one program its files are known from the start. With all processes it has usually ended.
	for _, args := range [][]string{
		{"leaf if (n % 3 == 0)", "--engine", "kernel", "-c", "$bt", "--", bin, "10"},
		{"uprobe:" + bin + ":leaf if (n % 3 == 0)", "--all", "-c", "$bt", "--", "/bin/sh", "-c", bin + " 10; exit 0"},
	} {
		tr := run(t, args...)
		events := tr.events()
		if len(events) != len(want) {
			t.Fatalf("%v: %d events\n%s", args, len(events), tr.Errs.String())
		}
		for i, e := range events {
			if got := upTo(functions(e, "$bt"), "main"); fmt.Sprint(got) != fmt.Sprint(want[i]) {
				t.Errorf("%v: event %d: %v, want %v", args, i, got, want[i])
			}
		}
	}
	// After a return the caller is innermost.
	tr := run(t, "uretprobe:"+bin+":leaf", "--engine", "kernel", "-c", "$bt", "--", bin, "3")
	for _, e := range tr.events() {
		if got := functions(e, "$bt"); len(got) < 2 || got[0] != "middle" || got[1] != "main" {
			t.Errorf("after the return: %v", got)
		}
	}
}

// upTo cuts a stack after a function, because the callers of main depend on the library.
func upTo(stack []string, function string) []string {
	for i, f := range stack {
		if f == function {
			return stack[:i+1]
		}
	}
	return stack
}

// TestKernelStacks: the kernel's frames at a tracepoint are its own, without those of
// tracing; a program's beside them.
func TestKernelStacks(t *testing.T) {
	child := start(t, demo(t, "-O0"), "1000000000")
	tr := run(t, "syscall:getpriority", "rawtracepoint:sys_enter if (id == 140)", "-c", "$bt, $ubt", "-p", fmt.Sprint(child.Pid()), "-n", "20")
	events := tr.events()
	if len(events) != 20 {
		t.Fatalf("%d events\n%s", len(events), tr.Errs.String())
	}
	for _, e := range events {
		kernel, user := functions(e, "$bt"), functions(e, "$ubt")
		for _, f := range kernel {
			if strings.HasPrefix(f, "bpf_") || strings.Contains(f, "bpf_trace_run") {
				t.Errorf("a frame of tracing: %v", kernel)
			}
		}
		if len(kernel) == 0 || !strings.HasPrefix(kernel[len(kernel)-1], "entry_SYSCALL_64") {
			t.Errorf("kernel frames %v", kernel)
		}
		if got := fmt.Sprint(upTo(user, "main")); got != "[syscall middle main]" {
			t.Errorf("user frames %v", user)
		}
	}
}

// TestUserStacks: $ubt at places in the kernel is GDB's stack, in code without frame pointers, through libraries and a signal's frame.
func TestUserStacks(t *testing.T) {
	places := []string{"syscall:write", "rawtracepoint:sys_enter", "tracepoint:syscalls:sys_enter_write"}
	builds := []string{"gcc -O2", "clang -O2", "gcc -O0"}
	if !full {
		builds = builds[:2]
	}
	for _, build := range builds {
		t.Run(build, func(t *testing.T) {
			cc, flags, _ := strings.Cut(build, " ")
			bin := compile(t, cc, "userstack.c", "-g", "-fomit-frame-pointer", flags)
			script := filepath.Join(t.TempDir(), "gdb")
			text := "set pagination off\nset confirm off\nset disable-randomization off\ncatch syscall write\nrun < /dev/null\npython\nwhile gdb.selected_inferior().threads():\n" +
				"  f = gdb.newest_frame()\n  if int(f.read_register('rdi')) == 2 and int(f.read_register('rax')) == -38:\n    names = []\n    while f:\n      if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME): names.append(f.name() or '?')\n" +
				"      if f.name() == 'main': break\n      f = f.older()\n    gdb.write('STACK ' + ' '.join(names) + '\\n')\n  gdb.execute('continue')\nend\n"
			if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, _ := exec.Command(tool(t, "gdb"), "-nx", "-batch", "-x", script, bin).CombinedOutput()
			var want []string
			for _, m := range regexp.MustCompile(`(?m)^STACK (.*)$`).FindAllStringSubmatch(string(out), -1) {
				want = append(want, strings.ReplaceAll(m[1], "<signal handler called>", "?"))
			}
			if len(want) < 15 {
				t.Fatalf("GDB has %d stacks:\n%s", len(want), out)
			}
			stacksOf := func(tr *trace) (list []string) {
				for _, e := range tr.events() {
					list = append(list, strings.Join(upTo(calls(e, "$ubt"), "main"), " "))
				}
				return list
			}
			for _, place := range places {
				cond := " if (fd == 2)"
				if strings.HasPrefix(place, "raw") {
					cond = " if (id == 1 && regs->di == 2)"
				}
				limit := []string{"-c", "$ubt", "-n", fmt.Sprint(len(want))}
				compareStacks(t, place, stacksOf(run(t, append(append([]string{place + cond}, limit...), "--", bin)...)), want)
				// Of a process that runs already all stacks are followed at the hit.
				cmd := exec.Command(bin, "wait")
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				p := startCmd(t, cmd)
				tr := begin(t, append(append([]string{place + cond}, limit...), "-p", fmt.Sprint(p.Pid()))...)
				tr.armed()
				fmt.Fprintln(in)
				tr.wait()
				compareStacks(t, place+" -p", stacksOf(tr), want)
				if followed, copied := followedStacks(tr); followed != len(want) || copied != 0 {
					t.Errorf("%s: %d stacks were followed at the hit, %d copied", place, followed, copied)
				}
				in.Close()
			}
			places = places[:1]
		})
	}
}

// compareStacks compares lists of stacks, each the names of its functions.
func compareStacks(t *testing.T, what string, got, want []string) {
	t.Helper()
	differ := 0
	for i := range min(len(want), len(got)) {
		if !sameStack(got[i], want[i]) {
			if differ++; differ < 4 {
				t.Errorf("%s, stack %d: %s\nGDB: %s", what, i, got[i], want[i])
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d stacks, GDB has %d", what, len(got), len(want))
	}
	t.Logf("%s: %d stacks, %d differ", what, len(got), differ)
}

// followedStacks is how many stacks were followed at the hit, and how many were copied.
func followedStacks(tr *trace) (followed, copied int) {
	if m := regexp.MustCompile(`(\d+) followed at the hit, (\d+) copied`).FindStringSubmatch(tr.Errs.String()); m != nil {
		followed, _ = strconv.Atoi(m[1])
		copied, _ = strconv.Atoi(m[2])
	}
	return followed, copied
}

// TestStacksOfUnloaded: after a library was unloaded, and another one of equal size loaded, mostly to the same address, no stack is followed by
// the old tables.
func TestStacksOfUnloaded(t *testing.T) {
	bin := compile(t, "gcc", "swapped.c", "-g", "-O2", "-fomit-frame-pointer", "-ldl")
	args := []string{bin}
	for _, room := range []string{"256", "1024"} {
		args = append(args, compile(t, "gcc", "swapped.c", "-g", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC", "-DROOM="+room))
	}
	for _, all := range []bool{false, true} {
		p := start(t, args...)
		scope := []string{"-p", fmt.Sprint(p.Pid())}
		if all {
			scope = []string{"--all"}
		}
		const turns = 12
		tr := begin(t, append([]string{"tracepoint:syscalls:sys_enter_getpriority if (pid == " + fmt.Sprint(p.Pid()) + ")", "-c", "$ubt, who", "-n", fmt.Sprint(100 * turns)}, scope...)...)
		tr.armed()
		for turn := range turns {
			for half := range 2 {
				fmt.Fprintln(p.In)
				tr.await(100*turn + 50*(half+1)) // frames are named by the mappings when they are shown
			}
			fmt.Fprintln(p.In)
		}
		wrong, libs := 0, map[string]int{}
		for _, e := range tr.wait().events() {
			libs[fmt.Sprint(e.Values["who"])]++
			if got := calls(e, "$ubt"); strings.Join(upTo(got, "main"), " ") != "syscall inner outer main" {
				if wrong++; wrong < 4 {
					t.Errorf("%v: %v", scope, e.Values)
				}
			}
		}
		followed, copied := followedStacks(tr)
		t.Logf("%v: %d stacks are wrong, libraries %v; %d were followed at the hit, %d copied", scope, wrong, libs, followed, copied)
		if len(libs) != 2 || followed < 100 || followed+copied != 100*turns {
			t.Errorf("%v: libraries %v, %d stacks were followed at the hit, %d copied\n%s", scope, libs, followed, copied, tr.Errs.String())
		}
	}
}

// await waits until a number of events is in the file.
func (tr *trace) await(n int) {
	tr.T.Helper()
	testkit.Eventually(tr.T, fmt.Sprintf("%d events", n), func() bool {
		b, _ := os.ReadFile(tr.file)
		return bytes.Count(b, []byte{'\n'}) >= n
	})
}

// sameStack compares functions: the C library's have several names.
func sameStack(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		own := regexp.MustCompile(`^(leaf|recursive|compare|on_signal|main)$`)
		if (own.MatchString(x[i]) || own.MatchString(y[i])) && x[i] != y[i] {
			return false
		}
	}
	return true
}

// TestStacksOfEnded: a stack goes through libraries up to main in processes that have ended before anything of them is read: the
// program itself, forked ones, and programs that others execute.
func TestStacksOfEnded(t *testing.T) {
	bin := compile(t, "gcc", "sorted.c", "-g", "-O2")
	for name, args := range map[string][]string{
		"program":       {"order", "--engine", "kernel", "-c", "$bt", "--", bin, "again"},
		"all processes": {"uprobe:" + bin + ":order", "--all", "-c", "$bt", "--", "/bin/sh", "-c", bin + " again; exit 0"},
		"system call":   {"tracepoint:syscalls:sys_enter_wait4", "-c", "$ubt", "--", bin, "again"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := run(t, args...)
			events, key := tr.events(), "$bt"
			if name == "system call" {
				key = "$ubt"
			}
			least := 8 // four sorts, twice
			if key == "$ubt" {
				least = 6
			}
			if len(events) < least {
				t.Errorf("%d events\n%s", len(events), tr.Errs.String())
			}
			for i, e := range events {
				if got := upTo(functions(e, key), "main"); len(got) < 2 || got[len(got)-1] != "main" {
					t.Errorf("event %d: %v", i, functions(e, key))
				}
			}
		})
	}
}
