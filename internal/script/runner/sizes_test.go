package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestSizeOfPrograms bounds the programs of scripts like those that come with bpftrace, and compares what the one with a loop prints with
// the directory that it reads.
func TestSizeOfPrograms(t *testing.T) {
	needRoot(t)
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		t.Skip("the kernel has no BTF")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		dir = filepath.Join(dir, "below")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for at := dir; len(strings.Split(dir, "/"))-len(strings.Split(at, "/")) < 4; at = filepath.Dir(at) {
		want.WriteString(filepath.Base(at) + "/")
	}
	const place = `tracepoint:syscalls:sys_enter_getpgid /args.pid == 54321/ `
	for _, c := range []struct {
		src, want string
		most      int
	}{
		{`{ @ = count(); } end { print(@); clear(@); }`, "@: 1\n", 60},
		{`{ @[comm] = hist(args.pid); } end { clear(@); }`, "", 1400},
		{`{ printf("%d %s\n", args.pid, comm); }`, "54321 sh\n", 250},
		{`{ $d = curtask.fs.pwd.dentry; for $i : 0..35 { if ($i < 4) { printf("%s/", str($d.d_name.name)); } if ($d == $d.d_parent) { break; } $d = $d.d_parent; } printf("\n"); }`, want.String() + "\n", 4500},
	} {
		var mu sync.Mutex
		largest := 0
		opt := Options{Argv: []string{"sh", "-c", fmt.Sprintf("cd %s && exec python3 -c 'import os\ntry: os.getpgid(54321)\nexcept OSError: pass'", dir)}, Log: func(text string) {
			if m := instructions.FindStringSubmatch(text); m != nil {
				n, _ := strconv.Atoi(m[1])
				mu.Lock()
				largest = max(largest, n)
				mu.Unlock()
			}
		}}
		got, _ := runScript(t, place+c.src, opt)
		if got = strings.ReplaceAll(got, "python3", "sh"); got != c.want {
			t.Errorf("%s: %q, want %q", c.src, got, c.want)
		}
		if t.Logf("%s: %d instructions", c.src, largest); largest == 0 || largest > c.most {
			t.Errorf("%s: %d instructions of eBPF, at most %d are expected", c.src, largest, c.most)
		}
	}
}

var instructions = regexp.MustCompile(`: (\d+) instructions of eBPF`)
