package kernel

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// keyed is a script that counts the stacks of a program's system calls.
type keyed struct {
	*process
	t testing.TB
}

// keyedBy runs a script until a program has done its work.
func keyedBy(t testing.TB, p *process, more []string, script string) *keyed {
	t.Helper()
	k := &keyed{start(t, append([]string{jalonBin, "run", "--maps", "-e", "begin { printf(\"on\\n\"); } " + script}, more...)...), t}
	k.AwaitOut("on\n")
	k.AwaitErr("@ in the kernel: ")
	fmt.Fprintln(p.In)
	p.AwaitOut("done")
	return k
}

// counted ends the script and returns the count of each stack that ends in main or its thread's function: its functions that begin with a
// prefix, innermost first. sum is that of all.
func (k *keyed) counted(prefix string) (of map[string]int, sum int) {
	k.t.Helper()
	k.Signal(2)
	k.Wait()
	of = map[string]int{}
	for _, m := range regexp.MustCompile(`(?s)@\w*\[([^\]]*(?:\[[^\]]*\][^\]]*)*)\]: (\d+)\n`).FindAllStringSubmatch(k.Out.String(), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			k.t.Fatal(err)
		}
		var names []string
		for _, line := range strings.Split(m[1], "\n") {
			if name, _, _ := strings.Cut(strings.TrimSpace(line), "+"); strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		of[strings.Join(names, " ")] += n
		sum += n
	}
	if k.Status != 0 || strings.Contains(k.Errs.String(), "lost") || strings.Contains(k.Errs.String(), "Lost") {
		k.t.Errorf("status %d\n%s", k.Status, k.Errs.String())
	}
	return of, sum
}

const keyedCall = "tracepoint:syscalls:sys_enter_getppid"

// TestUserStackKeys: stacks of programs are keys of maps that the kernel's programs update: two threads at full rate lose nothing, and each stack
// has its count.
func TestUserStackKeys(t *testing.T) {
	bin := compile(t, "gcc", "keyedstacks.c", "-g", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread")
	each := 40_000
	if full {
		each = 500_000
	}
	for _, script := range []string{
		keyedCall + " /pid == PID/ { @[ustack] = count(); }",
		keyedCall + " /pid == PID/ { @[ustack, comm] = count(); }",
		keyedCall + " /pid == PID/ { @[ustack(20), pid, cpu < 9999] = sum(1); }",
		"rawtracepoint:sys_enter /pid == PID && args.id == 110/ { @[kstack(2), ustack] = count(); }",
	} {
		p := start(t, bin, "2", fmt.Sprint(each))
		pid := fmt.Sprint(p.Pid())
		k := keyedBy(t, p, []string{"-p", pid}, strings.ReplaceAll(script, "PID", pid))
		of, sum := k.counted("chain")
		for n := range 8 {
			var chain []string
			for i := range n + 1 {
				chain = append(chain, fmt.Sprintf("chain%d", i))
			}
			if got := of[strings.Join(chain, " ")]; got != 2*each/8 {
				t.Errorf("%s: %v has %d, want %d", script, chain, got, 2*each/8)
			}
		}
		if sum != 2*each || len(of) != 8 {
			t.Errorf("%s: %d hits of %d stacks, want %d\n%s%s", script, sum, len(of), 2*each, k.Out.String(), k.Errs.String())
		}
		if t.Failed() {
			return
		}
	}
}

// TestUserStackKeysAgree: the keys are the stacks that records have, which TestUserStacks compares with GDB's.
func TestUserStackKeysAgree(t *testing.T) {
	bin := compile(t, "gcc", "userstack.c", "-g", "-fomit-frame-pointer", "-O2")
	const place = "tracepoint:syscalls:sys_enter_write"
	p := start(t, bin, "wait")
	tr := begin(t, place+" if (fd == 2)", "-c", "$ubt", "-p", fmt.Sprint(p.Pid()), "-n", "18")
	tr.armed()
	fmt.Fprintln(p.In)
	tr.wait()
	want := map[string]int{}
	for _, e := range tr.events() {
		want[strings.Join(calls(e, "$ubt"), " ")]++
	}
	p = start(t, bin, "wait")
	k := start(t, jalonBin, "run", "--maps", "-e", "begin { printf(\"on\\n\"); } "+place+" /args.fd == 2 && pid == "+fmt.Sprint(p.Pid())+"/ { @[ustack(perf)] = count(); @all = count(); } interval:ms:20 { printf(\"%d hits\\n\", @all); }", "-p", fmt.Sprint(p.Pid()))
	k.AwaitOut("on\n").AwaitErr("@ in the kernel: ")
	fmt.Fprintln(p.In)
	k.AwaitOut(fmt.Sprintf("%d hits", len(tr.events())))
	k.Signal(2)
	k.Wait()
	got := map[string]int{}
	for _, m := range regexp.MustCompile(`(?s)@\[\n(.*?)\n\]: (\d+)\n`).FindAllStringSubmatch(k.Out.String(), -1) {
		n, _ := strconv.Atoi(m[2])
		var names []string
		for _, line := range strings.Split(m[1], "\n") {
			if f := strings.Fields(line); len(f) > 1 && !strings.HasSuffix(line, "(inlined)") {
				name, _, plus := strings.Cut(f[1], "+")
				if !plus || strings.HasPrefix(name, "0x") {
					name = "?"
				}
				names = append(names, name)
			}
		}
		got[strings.Join(names, " ")] += n
	}
	if len(want) < 10 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("keys:\n%v\nrecords:\n%v\n%s", got, want, k.Errs.String())
	}
}

// TestUserStackKeysOfProcesses: stacks of several processes are different keys; those of processes that have ended have their names, and no
// hit is missing, with or without tables.
func TestUserStackKeysOfProcesses(t *testing.T) {
	bin := compile(t, "gcc", "keyedstacks.c", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread")
	const processes, each = 12, 4000
	p := start(t, bin, fmt.Sprint(processes), fmt.Sprint(each), "fork")
	k := keyedBy(t, p, nil, keyedCall+" /comm == \"keyedstacks\" || strncmp(comm, \"keyed\", 5) == 0/ { @[ustack, pid] = count(); }")
	of, sum := k.counted("chain")
	named, pids := 0, map[string]int{}
	for names, n := range of {
		if strings.Contains(names, "chain") {
			named += n
		}
	}
	for _, m := range regexp.MustCompile(`, (\d+)\]: (\d+)\n`).FindAllStringSubmatch(k.Out.String(), -1) {
		n, _ := strconv.Atoi(m[2])
		pids[m[1]] += n
	}
	// By frame pointers the caller of a function of the C library is missing: chain0, which is all of one of eight stacks.
	if sum != processes*each || named < sum*7/8 || len(pids) != processes {
		t.Errorf("%d hits, want %d; %d have names; by process %v\n%s%s", sum, processes*each, named, pids, k.Out.String(), k.Errs.String())
	}
	for pid, n := range pids {
		if n != each {
			t.Errorf("process %s has %d hits, want %d", pid, n, each)
		}
	}
}

// TestCountByStack: --count by the stack of the program is computed in the kernel.
func TestCountByStack(t *testing.T) {
	bin := compile(t, "gcc", "keyedstacks.c", "-g", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread")
	const each = 20_000
	p := start(t, bin, "2", fmt.Sprint(each))
	k := testkit.Start(t, jalonBin, "trace", "-v", keyedCall, "--count", "$ubt", "-p", fmt.Sprint(p.Pid()))
	k.AwaitErr("armed after")
	fmt.Fprintln(p.In)
	p.AwaitOut("done")
	k.Signal(2)
	k.Wait()
	n := 0
	for _, m := range regexp.MustCompile(`\]: (\d+)\n`).FindAllStringSubmatch(k.Out.String(), -1) {
		if m[1] == fmt.Sprint(2*each/8) {
			n++
		}
	}
	if n != 8 || strings.Count(k.Out.String(), "chain7+") != 1 {
		t.Errorf("%d stacks with their counts, want 8\n%s%s", n, k.Out.String(), k.Errs.String())
	}
}
