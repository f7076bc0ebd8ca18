package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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

// TestWrongVmlinux: a file that is not the running kernel's is refused at once, also where no place needs it.
func TestWrongVmlinux(t *testing.T) {
	prog := compile(t, "gcc", "owned.c", "-O1")
	for file, want := range map[string]string{prog: "is of another kernel", "/nonexistent": "no such file"} {
		if r := jalon(t, "trace", "--vmlinux", file, "process:exit", "--", prog); r.status != 1 || !strings.Contains(r.stderr, want) || r.stdout != "" {
			t.Errorf("%s: status %d\n%s%s", file, r.status, r.stdout, r.stderr)
		}
	}
}

// TestDist: the program is installed and packed, static, with its version and commit. Only with JALON_FULL=1: it is built
// for two machines.
func TestDist(t *testing.T) {
	if os.Getenv("JALON_FULL") == "" {
		t.Skip("JALON_FULL=1 builds the packages")
	}
	dir := t.TempDir()
	cmd := exec.Command("scripts/dist.sh", dir)
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "VERSION=7.8.9", "LDFLAGS=-s -w -X main.version=7.8.9 -X main.revision=abcdef")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"jalon-7.8.9-linux-amd64.tar.gz", "jalon-7.8.9-linux-arm64.tar.gz", "jalon_7.8.9_amd64.deb", "jalon_7.8.9_arm64.deb"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	run(t, "tar", "-C", dir, "-xzf", filepath.Join(dir, "jalon-7.8.9-linux-"+runtime.GOARCH+".tar.gz"))
	r := run(t, filepath.Join(dir, "jalon-7.8.9-linux-"+runtime.GOARCH, "jalon"), "version")
	if r.stdout != "jalon 7.8.9 (commit abcdef)\n" {
		t.Errorf("%q", r.stdout)
	}
}
