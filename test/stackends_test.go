package test

import (
	"regexp"
	"strings"
	"testing"
)

// TestStackEnds: scripts say where a stack is not known any more, except where the script wants no more of it.
func TestStackEnds(t *testing.T) {
	prog := compile(t, "gcc", "unaligned.c", "-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-omit-frame-pointer")
	r := jalon(t, "run", "-q", "-e", "uprobe:"+prog+`:inner { print(len(ustack)); @whole[ustack] = count(); @one[ustack(1)] = count(); @raw[ustack(raw)] = count(); exit(); }`, "-c", prog)
	if r.status != 0 || !strings.HasPrefix(r.stdout, "1\n") {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	for _, want := range []string{
		"@whole[\n    inner+0\n    [the stack goes on: no call frame information for this code]\n]: 1\n",
		"@one[\n    inner+0\n]: 1\n",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no\n%s\nin\n%s", want, r.stdout)
		}
	}
	if _, raw, _ := strings.Cut(r.stdout, "@raw["); strings.Count(raw, "\n") < 3 || strings.Contains(strings.SplitN(raw, "]:", 2)[0], "goes on") {
		t.Errorf("the raw stack:\n%s", raw)
	}
}

// TestFirstStacks: the stacks of a program that jalon starts are followed by call frame information from its first own instruction on, also
// of one that ends within a millisecond.
func TestFirstStacks(t *testing.T) {
	prog := compile(t, "gcc", "unaligned.c", "-O2", "-fomit-frame-pointer")
	const at = "tracepoint:syscalls:sys_enter_getpriority"
	stack := regexp.MustCompile(`@\[\n    inner\+\d+\n    middle\+\d+\n    outer\+\d+\n    main\+\d+\n\]: 300\n`)
	for _, own := range []string{"", " uprobe:" + prog + ":main { @main = count(); }"} { // with code in the process it is traced by ptrace
		r := jalon(t, "run", "-q", "-e", at+" /args.which == 77777/ { @[ustack(4)] = count(); }"+own, "--", prog, "quick")
		if r.status != 0 || !stack.MatchString(r.stdout) || strings.Contains(r.stderr, "frame pointers") {
			t.Errorf("%s: status %d\n%s%s", own, r.status, r.stdout, r.stderr)
		}
	}
	// At a place that lies at the first own instruction the program is not held; its code is known all the same.
	r := jalon(t, "trace", "--all", "uprobe:"+prog+":_start", at+" if (args->which == 77777)", "-c", "$ubt", "--", prog, "quick")
	if n := strings.Count(r.stdout, " main+"); r.status != 0 || n != 300 || strings.Contains(r.stdout, "??") {
		t.Errorf("status %d, %d stacks that reach main\n%.1000s%s", r.status, n, r.stdout, r.stderr)
	}
}

// TestMadeCode: stacks are followed through code made at run time by frame pointers, and say so.
func TestMadeCode(t *testing.T) {
	prog := compile(t, "gcc", "madecode.c", "-O2", "-fomit-frame-pointer")
	const at = "tracepoint:syscalls:sys_enter_getpriority"
	const note = "by frame pointers: this code was made at run time"
	r := jalon(t, "run", "-q", "-e", at+" /args.which == 77777/ { @[ustack] = count(); @two[ustack(2)] = count(); @four[ustack(4)] = count(); }", "--", prog)
	const upTo = `\[\n    inner\+\d+\n    middle\+\d+\n`
	for _, want := range []string{"@" + upTo + `    0x[0-9a-f]+\n    \[` + note + `\]\n    main\+\d+\n`, `@two` + upTo + `\]`, `@four` + upTo + `    0x[0-9a-f]+\n    \[` + note + `\]\n    main\+\d+\n\]`} {
		if !regexp.MustCompile(want).MatchString(r.stdout) {
			t.Errorf("no %s\nstatus %d\n%s%s", want, r.status, r.stdout, r.stderr)
		}
	}
	r = jalon(t, "trace", at+" if (args->which == 77777)", "-c", "$ubt", "--", prog)
	whole := regexp.MustCompile(`#0 .* inner\+.*\n.*#1 .* middle\+.*\n.*#2 .*\n    \(` + note + `\)\n.*#3 .* main\+`)
	if n := len(whole.FindAllString(r.stdout, -1)); r.status != 0 || n < 250 {
		t.Errorf("status %d, %d whole stacks\n%.2000s%s", r.status, n, r.stdout, r.stderr)
	}
}
