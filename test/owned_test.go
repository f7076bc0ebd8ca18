package test

import (
	"regexp"
	"strings"
	"testing"
)

// matchesAll reports each of the patterns that no line matches.
func matchesAll(t *testing.T, r *result, want ...string) {
	t.Helper()
	for _, w := range want {
		if !regexp.MustCompile("(?m)" + w).MatchString(r.stdout) {
			t.Errorf("no line is %s:\n%s%s", w, r.stdout, r.stderr)
		}
	}
}

// TestOwnLists: without a collect list a hit shows what its place has; patterns and lines show nothing.
func TestOwnLists(t *testing.T) {
	prog := compile(t, "gcc", "owned.c", "-g", "-O1")
	matchesAll(t, jalon(t, "trace", "sized", "sized%return", "sized if n == 1", "siz*d", "owned.c:10", "--", prog),
		`sized +text=0x\w+ "hello" n=0$`, `sized +text=0x\w+ "hello" n=1$`, `sized%return +\$retval=104$`, `sized%return +\$retval=105$`, `siz\*d$`, `owned\.c:10$`)
	matchesAll(t, jalon(t, "trace", "-T", "sized%return", "--", prog), `sized%return +\$retval=104 \$elapsed=\d+$`)
	matchesAll(t, jalon(t, "trace", "uprobe:"+prog+":sized", "uretprobe:"+prog+":sized", "--engine", "kernel", "--", prog), `text=0x\w+ "hello" n=1$`, `\$retval=105$`)
	if r := jalon(t, "trace", "sized", "--count", "-f", "none", "--", prog); r.status != 0 || strings.Contains(r.stderr, "printed") {
		t.Errorf("nothing is printed, status %d:\n%s", r.status, r.stderr)
	}
}

// TestCallNames: system calls are shown with paths, and with the names of flags and errors.
func TestCallNames(t *testing.T) {
	prog := compile(t, "gcc", "owned.c", "-O1")
	r := jalon(t, "trace", "syscall:openat", "syscall:openat:exit", "syscall:mmap", "rawtracepoint:sched_process_exit", "--", prog)
	matchesAll(t, r, `openat\(dfd: AT_FDCWD, filename: "/etc/ld\.so\.cache", flags: O_RDONLY\|O_CLOEXEC, mode: 0\)$`,
		`openat\(dfd: AT_FDCWD, filename: ("/nonexistent/file"|0x\w+ <unreadable>), flags: O_WRONLY\|O_APPEND\|O_CLOEXEC, mode: 0\)$`,
		`openat = -2 ENOENT$`, `openat = [3-9]$`, `mmap\(addr: 0, len: 4096, prot: PROT_READ\|PROT_WRITE, flags: MAP_PRIVATE\|MAP_ANONYMOUS, fd: -1, off: 0\)$`,
		`rawtracepoint:sched_process_exit +p=\(struct task_struct \*\) 0x\w+`)
	r = jalon(t, "trace", "-f", "json", "syscall:openat", "--", prog)
	if !strings.Contains(r.stdout, `"filename":"/etc/ld.so.cache"`) || !strings.Contains(r.stdout, `"text":"sys_openat(dfd: 0xffffff9c, filename: 0x`) {
		t.Errorf("JSON:\n%s", r.stdout)
	}
}
