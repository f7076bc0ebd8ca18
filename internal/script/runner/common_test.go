package runner

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// commons has threads that call mark and then the kernel: rounds of 3 at once, each n times. mark gets a number of the thread and a count.
const commons = `
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static long calls;
__attribute__((noinline)) long mark(long thread, long i) { __asm__ volatile("" ::: "memory"); return thread + i; }
static void *run(void *p) {
	for (long i = 1; i <= calls; i++) {
		mark((long)p, i);
		syscall(SYS_getpgid, i & 63);
	}
	return 0;
}
int main(int argc, char **argv) {
	long rounds = atol(argv[1]);
	calls = atol(argv[2]);
	char c;
	if (argc > 3 && write(1, "+", 1) != read(0, &c, 1)) return 1;
	for (long r = 0; r < rounds; r++) {
		pthread_t t[3];
		for (long i = 0; i < 3; i++) pthread_create(&t[i], 0, run, (void *)(3 * r + i));
		for (long i = 0; i < 3; i++) pthread_join(t[i], 0);
	}
	return 0;
}
`

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("programs of the kernel need root")
	}
}

// numbersOf are the lines of maps, by name: their last numbers, in order.
func numbersOf(t *testing.T, out string) map[string][]uint64 {
	t.Helper()
	lines := map[string][]uint64{}
	for _, l := range regexp.MustCompile(`(?m)^(@\w*)(?:\[[^]]*\])?: (\d+)$`).FindAllStringSubmatch(out, -1) {
		n, err := strconv.ParseUint(l[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		lines[l[1]] = append(lines[l[1]], n)
	}
	return lines
}

func sumOf(list []uint64) (sum uint64) {
	for _, n := range list {
		sum += n
	}
	return sum
}

// whereOf collects the lines that Options.Maps gets.
type whereOf struct {
	mu   sync.Mutex
	text string
}

func (w *whereOf) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text += text + "\n"
}

const inCommon = " in memory that the process and the kernel have in common"

// TestCommonByThread: hits in the process and in the kernel read what the other has written under the thread, at once, also when threads end and
// others get their thread pointers; and the result is what jalon makes of records.
func TestCommonByThread(t *testing.T) {
	needRoot(t)
	path := compileC(t, "commons", commons, "-pthread")
	const rounds, calls = 8, 500
	src := strings.ReplaceAll(`uprobe:PROG:mark { if (@back[tid] != arg1 - 1) { @wrong = count(); } @t[tid] = arg1; @from[tid, "mark"] = arg0; }
	tracepoint:syscalls:sys_enter_getpgid /@t[tid]/ {
		@sum = sum(@t[tid]); @pairs[(@t[tid] & 63) == args.pid] = count(); @back[tid] = @t[tid]; delete(@t, tid); @n++;
	}`, "PROG", path)
	for _, inJalon := range []bool{false, true} {
		w := &whereOf{}
		got, m := runScript(t, src, Options{Argv: []string{path, fmt.Sprint(rounds), fmt.Sprint(calls)}, InJalon: inJalon, Maps: w.add})
		lines := numbersOf(t, got)
		if n := sumOf(lines["@sum"]); n != 3*rounds*calls*(calls+1)/2 {
			t.Errorf("the sum is %d\n%s", n, got)
		}
		if strings.Contains(got, "@wrong") || !strings.Contains(got, fmt.Sprintf("@pairs[true]: %d\n", 3*rounds*calls)) || strings.Contains(got, "@t[") || sumOf(lines["@n"]) != 3*rounds*calls {
			t.Errorf("in jalon %t:\n%s", inJalon, got)
		}
		if len(lines["@from"]) != 3*rounds || len(lines["@back"]) != 3*rounds {
			t.Errorf("%d and %d threads\n%s", len(lines["@from"]), len(lines["@back"]), got)
		}
		if !inJalon && (strings.Count(w.text, inCommon) != 2 || m.SiteMaps() != 7) {
			t.Errorf("%d maps at the sites:\n%s", m.SiteMaps(), w.text)
		}
	}
}

// TestCommonSums: sums of both engines on the same elements are exact, also where interrupts' probes add to them on the CPU of the process.
func TestCommonSums(t *testing.T) {
	needRoot(t)
	path := compileC(t, "commons", commons, "-pthread")
	const rounds, calls = 1, 200_000
	src := strings.ReplaceAll(`uprobe:PROG:mark { @k[arg1 & 63]++; @all += arg1; @each[tid] += 2; }
	tracepoint:syscalls:sys_enter_getpgid { @k[args.pid]++; @all += args.pid; @each[tid]++; @called = sum(args.pid); @calls[pid == cpid] = count(); }
	profile:us:100 { @k[cpu]++; @all++; @ticks = count(); @each[tid]++; }
	software:cpu-clock:100000 { @k[cpu]++; @all++; @ticks = count(); @each[tid]++; }`, "PROG", path)
	lost, w := uint64(0), &whereOf{}
	got, _ := runScript(t, src, Options{Argv: []string{path, fmt.Sprint(rounds), fmt.Sprint(calls)}, Maps: w.add, Warn: lostOf(&lost)})
	lines := numbersOf(t, got)
	ticks, syscalls := sumOf(lines["@ticks"]), sumOf(lines["@calls"])
	marks := uint64(3 * rounds * calls)
	if n := sumOf(lines["@k"]); n+lost != marks+syscalls+ticks || ticks == 0 {
		t.Errorf("@k: %d and %d lost, want %d + %d + %d", n, lost, marks, syscalls, ticks)
	}
	if n := sumOf(lines["@all"]); n != marks/calls*calls*(calls+1)/2+sumOf(lines["@called"])+ticks {
		t.Errorf("@all: %d of %d ticks\n%s", n, ticks, got)
	}
	if n := sumOf(lines["@each"]); n != 2*marks+syscalls+ticks {
		t.Errorf("@each: %d, want %d", n, 2*marks+syscalls+ticks)
	}
	if strings.Count(w.text, inCommon) != 3 {
		t.Error(w.text)
	}
}

// TestCommonTime: times of the process and of the kernel can be compared.
func TestCommonTime(t *testing.T) {
	needRoot(t)
	path := compileC(t, "commons", commons, "-pthread")
	src := strings.ReplaceAll(`uprobe:PROG:mark { @t[tid] = nsecs; }
	tracepoint:syscalls:sys_enter_getpgid /@t[tid]/ { @lat = hist(nsecs - @t[tid]); @min = min((int64)(nsecs - @t[tid])); @n = count(); delete(@t, tid); }`, "PROG", path)
	got, _ := runScript(t, src, Options{Argv: []string{path, "1", "20000"}})
	lines := numbersOf(t, got)
	if len(lines["@min"]) != 1 || lines["@min"][0] > 1e6 || sumOf(lines["@n"]) != 60000 {
		t.Errorf("the shortest time is not between 0 and 1 ms, or hits are missing:\n%s", got)
	}
}

// TestCommonReuse: slots of deleted elements go to others, in the process and in the kernel, when no hit of either uses them any more.
func TestCommonReuse(t *testing.T) {
	needRoot(t)
	sparing(t, 1<<13)
	path := compileC(t, "commons", commons, "-pthread")
	for _, c := range []struct {
		rounds, calls uint64
		src           string
	}{
		{100, 3, `uprobe:PROG:mark { @t[tid] = arg1; } tracepoint:syscalls:sys_enter_getpgid /@t[tid]/ { @n = count(); delete(@t, tid); }`},
		{400, 64, `uprobe:PROG:mark { @t[tid, "a", arg1 & 63] = arg1; } tracepoint:syscalls:sys_enter_getpgid /@t[tid, "a", (uint64)args.pid]/ { @n = count(); delete(@t, (tid, "a", (uint64)args.pid)); }`},
		{400, 64, `uprobe:PROG:mark { @t[tid, arg1 & 63] = arg1; } tracepoint:syscalls:sys_enter_getpgid /@t[tid, (uint64)args.pid] != 0/ { @n = count(); delete(@t, (tid, (uint64)args.pid)); }`},
	} {
		w, lost, calls := &whereOf{}, uint64(0), 3*c.rounds*c.calls
		src := strings.ReplaceAll("config = { max_map_keys = 32 } "+c.src, "PROG", path)
		got, _ := runScript(t, src, Options{Argv: []string{path, fmt.Sprint(c.rounds), fmt.Sprint(c.calls)}, Maps: w.add, Warn: lostOf(&lost)})
		n := sumOf(numbersOf(t, got)["@n"])
		if n+lost != calls || n < calls/10 || calls < 1000 && lost > 0 || !strings.Contains(w.text, "@t"+inCommon) {
			t.Errorf("%s\n%d found, %d lost, of %d\n%s%s", src, n, lost, calls, got, w.text)
		}
		t.Logf("%d found, %d lost, of %d", n, lost, calls)
	}
}

// waiting is a process of commons that waits before its calls.
func waiting(t *testing.T, path string, attr *syscall.SysProcAttr, args ...string) (*exec.Cmd, func()) {
	t.Helper()
	cmd := exec.Command(path, append(args, "wait")...)
	cmd.SysProcAttr = attr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return cmd, func() { _, _ = in.Write([]byte("-")) }
}

// TestCommonAttached: processes of other users and namespaces get the memory; one that cannot have it is traced as before, and that is reported.
func TestCommonAttached(t *testing.T) {
	needRoot(t)
	path := compileC(t, "commons", commons, "-pthread")
	for dir := filepath.Dir(path); dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const rounds, calls = 3, 200
	nobody := &syscall.Credential{Uid: 65534, Gid: 65534}
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 65534, Size: 1}}
	for _, c := range []struct {
		name  string
		attr  *syscall.SysProcAttr
		files uint64 // 0: as many as there may be
		says  string
	}{
		{"same", nil, 0, ""},
		{"nobody", &syscall.SysProcAttr{Credential: nobody}, 0, ""},
		{"namespaces", &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET, UidMappings: ids, GidMappings: ids}, 0, ""},
		{"files", nil, 4, "@t: jalon has the map itself, from a record of each hit, since the process and the kernel cannot have it in common: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd, goOn := waiting(t, path, c.attr, fmt.Sprint(rounds), fmt.Sprint(calls))
			if c.files > 0 {
				limit := unix.Rlimit{Cur: c.files, Max: c.files}
				if err := unix.Prlimit(cmd.Process.Pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
					t.Fatal(err)
				}
			}
			w, said := &whereOf{}, &whereOf{}
			src := strings.ReplaceAll(`uprobe:PROG:mark { @t[tid] = arg1; } tracepoint:syscalls:sys_enter_getpgid /@t[tid]/ { @sum = sum(@t[tid]); delete(@t, tid); }`, "PROG", path)
			got, _ := runScript(t, src, Options{Pid: cmd.Process.Pid, Ready: goOn, Maps: w.add, Warn: said.add})
			if n := sumOf(numbersOf(t, got)["@sum"]); n != 3*rounds*calls*(calls+1)/2 || !strings.Contains(w.text, "@t"+inCommon) {
				t.Errorf("%s%s%s", got, w.text, said.text)
			}
			if strings.Contains(said.text, "in common") != (c.says != "") || !strings.Contains(said.text, c.says) || (c.says != "") != strings.Contains(w.text, "@t in jalon: ") {
				t.Errorf("%s\n%s", said.text, w.text)
			}
		})
	}
}

// lives is a program that forks, and executes itself, with the memory mapped.
const lives = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) long mark(long thread, long i) { __asm__ volatile("" ::: "memory"); return thread + i; }
int main(int argc, char **argv) {
	int status = 1;
	if (argc > 1) { // executed
		syscall(SYS_getpgid, 0);
		return 0;
	}
	mark(0, 1);
	pid_t child = fork();
	if (child == 0) { // it is not traced, and its thread has no element
		for (long i = 0; i < 100; i++) mark(1, 1000 + i);
		syscall(SYS_getpgid, 0);
		_exit(3);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3) return 2;
	syscall(SYS_getpgid, 0);
	for (long i = 10; i < 20; i++) mark(0, i);
	execl(argv[0], argv[0], "again", (char *)0);
	return 4;
}
`

// TestCommonLives: a child that is forked has the memory too, and changes nothing; behind exec, the kernel's hits find what the thread has left.
func TestCommonLives(t *testing.T) {
	needRoot(t)
	path := compileC(t, "lives", lives)
	src := strings.ReplaceAll(`uprobe:PROG:mark { @t[tid] = arg1; }
	tracepoint:syscalls:sys_enter_getpgid /@t[tid]/ { @sum = sum(@t[tid]); delete(@t, tid); }
	tracepoint:sched:sched_process_exec /@t[tid]/ { @exec = sum(@t[tid]); }`, "PROG", path)
	for _, inJalon := range []bool{false, true} {
		w := &whereOf{}
		got, _ := runScript(t, src, Options{Argv: []string{path}, InJalon: inJalon, Maps: w.add})
		if got != "@sum: 20\n@exec: 19\n" || inJalon == strings.Contains(w.text, inCommon) {
			t.Errorf("in jalon %t:\n%s%s", inJalon, got, w.text)
		}
	}
}

// vandal is a program that writes anything into the memory that it finds, while it is traced.
const vandal = `
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static volatile int over;
static struct { volatile uint64_t *at; size_t n; } found[16];
static int founds;
__attribute__((noinline)) long mark(long thread, long i) { __asm__ volatile("" ::: "memory"); return thread + i; }
static void *write_anything(void *p) {
	uint64_t x = 88172645463325252ull;
	while (!over) {
		for (int f = 0; f < founds; f++)
			for (size_t i = 0; i < found[f].n; i++) {
				x ^= x << 13, x ^= x >> 7, x ^= x << 17;
				found[f].at[i] = x & 1 ? x : (x & 2 ? found[f].at[(x >> 8) % found[f].n] ^ (x & 0x3f) >> 2 : (x >> 60) - 1);
			}
	}
	return 0;
}
int main(int argc, char **argv) {
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, maps)) {
		unsigned long lo, hi;
		if (strstr(line, "bpf-map") && sscanf(line, "%lx-%lx", &lo, &hi) == 2 && founds < 16) {
			found[founds].at = (void *)lo;
			found[founds++].n = (hi - lo) / 8;
		}
	}
	if (!founds) return 1;
	pthread_t t;
	pthread_create(&t, 0, write_anything, 0);
	long sum = 0;
	for (long i = 0; i < 60000; i++) {
		sum += mark(i, 1);
		syscall(SYS_getpgid, i & 63);
	}
	over = 1;
	pthread_join(t, 0);
	printf("%ld\n", sum);
	return sum != 60000L * 59999 / 2 + 60000;
}
`

// TestCommonVandal: whatever the process writes there, its own results are right, and jalon and the programs of the kernel end.
func TestCommonVandal(t *testing.T) {
	needRoot(t)
	path := compileC(t, "vandal", vandal, "-pthread")
	src := strings.ReplaceAll(`uprobe:PROG:mark { @t[tid] = arg1; @k[arg0 & 1023]++; @s[arg0 & 63, "text"] = arg0; @one++; }
	tracepoint:syscalls:sys_enter_getpgid /@t[tid] != 77777/ { @sum = sum(@t[tid]); delete(@t, tid); @t[tid] = 5; @k[args.pid]++; @s[(uint64)args.pid, "text"] = 1; @one++; @hits = count(); }
	interval:ms:20 { $n = (uint64)0; for ($kv : @k) { $n += 1; } @elements = max($n); }
	tracepoint:syscalls:sys_exit_getpgid { if (has_key(@t, tid)) { @there = count(); } if (@k[3] > 1) { @more = count(); } }`, "PROG", path)
	w := &whereOf{}
	got, _ := runScript(t, src, Options{Argv: []string{path}, Maps: w.add})
	if strings.Count(w.text, inCommon) < 3 || !strings.Contains(got, "@hits: ") {
		t.Errorf("%.2000s\n%s", got, w.text)
	}
}
