package kernel

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
	for _, build := range []string{"gcc -O2", "clang -O2", "gcc -O0"} {
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
			for _, place := range places {
				cond := " if (fd == 2)"
				if strings.HasPrefix(place, "raw") {
					cond = " if (id == 1 && regs->di == 2)"
				}
				tr := run(t, place+cond, "-c", "$ubt", "-n", fmt.Sprint(len(want)), "--", bin)
				var got []string
				for _, e := range tr.events() {
					got = append(got, strings.Join(upTo(calls(e, "$ubt"), "main"), " "))
				}
				differ := 0
				for i := range min(len(want), len(got)) {
					if !sameStack(got[i], want[i]) {
						if differ++; differ < 4 {
							t.Errorf("%s, stack %d: %s\nGDB: %s", place, i, got[i], want[i])
						}
					}
				}
				if len(got) != len(want) {
					t.Errorf("%s: %d stacks, GDB has %d\n%s", place, len(got), len(want), tr.Errs.String())
				}
				t.Logf("%s: %d stacks, %d differ", place, len(got), differ)
			}
			places = places[:1]
		})
	}
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
