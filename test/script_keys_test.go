package test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// keyShapes is a script with stacks, structures, enumerators and texts in keys of numbers and counts.
const keyShapes = `uprobe:PROG:inner { @all[ustack]++; @top[ustack(1)]++; @two[ustack(2)] += 3; @least[ustack] -= 1; @enum[r->c]++; @struct[r->at]++;
@both[r->at, r->c] = count(); @text[str(r->name)]++; @last[ustack(1)] = n; @n++; @by[pid] = count(); }`

// sumsOf are the sums and the numbers of elements of the maps that a script has printed, by name.
func sumsOf(t *testing.T, out string) map[string][2]int {
	t.Helper()
	sums, name := map[string][2]int{}, ""
	begins, value := regexp.MustCompile(`^(@\w+)`), regexp.MustCompile(`^(?:@.*|)(?:\]|@\w+): (-?\d+)$`)
	for _, l := range strings.Split(out, "\n") {
		if m := begins.FindString(l); m != "" {
			name = m
		}
		if m := value.FindStringSubmatch(l); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			sums[name] = [2]int{sums[name][0] + n, sums[name][1] + 1}
		}
	}
	return sums
}

// TestKeyShapes: numbers and counts under stacks, structures, enumerators and texts are exact, in the process, in the kernel and in both.
func TestKeyShapes(t *testing.T) {
	prog := compile(t, "gcc", "keyshapes.c", "-g", "-O1", "-fno-omit-frame-pointer")
	script := strings.ReplaceAll(keyShapes, "PROG", prog)
	const n = 1000
	want := map[string][2]int{"@all": {n, 2}, "@top": {n, 1}, "@two": {3 * n, 2}, "@least": {-n, 2}, "@enum": {n, 3}, "@struct": {n, 30}, "@both": {n, 30}, "@text": {n, 3}, "@last": {n - 1, 1}, "@n": {n, 1}, "@by": {n, 1}}
	r := jalon(t, "run", "-q", "-e", script, "-c", prog+" 1000")
	if got := sumsOf(t, r.stdout); r.status != 0 || len(got) != len(want) || strings.Contains(r.stdout+r.stderr, "ost ") {
		t.Errorf("status %d: %v\n%s%s", r.status, got, r.stdout, r.stderr)
	} else {
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s: the sum of the elements, and their number: %v, want %v", name, got[name], want[name])
			}
		}
	}
	if os.Getuid() != 0 {
		return
	}
	r = jalon(t, "run", "-q", "-e", script+` tracepoint:syscalls:sys_enter_getpgid /pid == cpid/ { @all[ustack]++; @enum[args.pid] += 2; @n++; }`, "-c", prog+" 1000")
	if got := sumsOf(t, r.stdout); r.status != 0 || got["@all"][0] != 2*n || got["@enum"] != [2]int{3 * n, 4} || got["@n"][0] != 2*n || got["@top"] != want["@top"] {
		t.Errorf("with a place in the kernel, status %d: %v\n%s%s", r.status, got, r.stdout, r.stderr)
	}
}

// TestMapsOfProcesses: several processes have one map, in the kernel, whose numbers are those of all; by number, jalon traces one of them.
func TestMapsOfProcesses(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("programs of the kernel need root")
	}
	prog := compile(t, "gcc", "keyshapes.c", "-g", "-O1", "-fno-omit-frame-pointer")
	j := start(t, jalonBin, "run", "-e", strings.ReplaceAll(`uprobe:PROG:inner { @n++; @c = count(); @by[pid] = count(); @enum[((struct req *)arg0)->c]++; @at[ustack(1)]++; @t[tid, arg1] = 1; delete(@t, (tid, arg1)); }`, "PROG", prog))
	eventually(t, "jalon has attached", func() bool { return strings.Contains(j.Errs.String(), "Attached") || ended(j) })
	var list []*exec.Cmd
	for _, n := range []string{"3000", "2000", "4000"} {
		cmd := exec.Command(prog, n)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		list = append(list, cmd)
	}
	for _, cmd := range list {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	j.Signal(unix.SIGINT)
	r := j.wait()
	got := sumsOf(t, r.stdout)
	for name, want := range map[string][2]int{"@n": {9000, 1}, "@c": {9000, 1}, "@by": {9000, 3}, "@enum": {9000, 3}} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v\n%s%s", name, got[name], want, r.stdout, r.stderr)
		}
	}
	if got["@at"][0] != 9000 || got["@t"][1] != 0 || strings.Contains(r.stderr, "lost") {
		t.Errorf("@at %v, @t %v\n%s%s", got["@at"], got["@t"], r.stdout, r.stderr)
	}
	if r := jalon(t, "run", "-e", "uprobe:"+prog+":inner { @n++; }", "-p", "1,2"); r.status == 0 || !strings.Contains(r.stderr, "not the number of a process") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
}
