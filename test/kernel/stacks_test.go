package kernel

import (
	"fmt"
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
		// syscall() keeps no frame pointer: its caller is not there, those above are.
		if len(user) < 2 || user[0] != "syscall" || user[1] != "main" {
			t.Errorf("user frames %v", user)
		}
	}
}
