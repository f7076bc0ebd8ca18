package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAsBpftrace: a link of the name bpftrace runs scripts, with messages in bpftrace's form.
func TestAsBpftrace(t *testing.T) {
	link := filepath.Join(t.TempDir(), "bpftrace")
	exe, err := filepath.Abs(jalonBin)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args           string // separated by |
		status         int
		stdout, stderr string // contained
	}{
		{"-e|begin { print(($1, $2, getopt(\"a\", 1), getopt(\"b\"))) }|x|--|--a=5|y|--b", 0, "(x, y, 5, true)\n", "Attached 1 probe"},
		{"-e|begin { errorf(\"bad %d\", 1) }", 0, "", "stdin:1:9-28: ERROR: bad 1\n"},
		{"-e|begin { $x = 0; print(5 / $x) }", 0, "1\n", "stdin:1:23-29: WARNING: Divide or modulo by 0 detected. This can lead to unexpected results. 1 is being used as the result.\nbegin { $x = 0; print(5 / $x) }\n                      ~~~~~~\n"},
		{"-k|-e|begin { @[1] = 1; print(@[2]); }", 0, "0\n", "stdin:1:25-29: WARNING: Can't lookup map element because it does not exist.\nAdditional Info - helper: map_lookup_elem, retcode: 0\n"},
		{"-e|begin { $x = ; }", 1, "", "stdin:1:14-15: ERROR: expected an expression"},
		{"-e|tracepoint:syscalls:nothing { }", 1, "", "ERROR: No matches for tracepoint syscalls:nothing.\n"},
		{"-e|config = { missing_probes = warn } begin { } tracepoint:syscalls:nothing { exit() } interval:ms:500 { exit() }", 0, "", "WARNING: No matches for tracepoint syscalls:nothing. Skipping.\n"},
		{"-e|config = { missing_probes = warn } begin { } tracepoint:syscalls:nothing { exit() } interval:ms:500 { exit() }", 0, "", "stdin: WARNING: Probe has no valid attach points. It is being removed which may cause issues with program behavior.\n"},
		{"-e|kprobe:vmlinux:nothing_at_all { }", 1, "", "ERROR: No matches for kprobe vmlinux:nothing_at_all.\n"},
		{"--unsafe|-e|kprobe:vmlinux:nothing_at_all { }", 1, "", "ERROR: Unable to attach probe: kprobe:vmlinux:nothing_at_all\n"},
		{"--traceable-functions|/dev/null|-e|kprobe:vfs_read { }", 1, "", "ERROR: No matches for kprobe vfs_read.\n"},
		{"-e|uprobe:" + exe + ":1 { }", 1, "", "ERROR: Could not resolve address: " + exe + ":0x1\n"},
		{"-e|uprobe:" + exe + ":main.main+900000000 { }", 1, "", "ERROR: Offset outside the function bounds ('main.main' size is "},
		{"-e|begin { exit(); print(1); }", 0, "", "stdin:1:17-26: WARNING: Unreachable statement\n"},
		{"-e|macro bad() { errorf(\"b\"); } macro worse() { bad(); } begin { worse(); }", 0, "", "stdin:1:46-51: ERROR: expanded from\nmacro bad() { errorf(\"b\"); } macro worse() { bad(); } begin { worse(); }\nstdin:1:63-70: ERROR: expanded from\n"},
		{"-p|1x|-e|begin { }", 1, "", "ERROR: Failed to parse pid: invalid trailing bytes: 1x\n"},
		{"--nothing", 1, "", "USAGE:\n"},
		{"-h", 0, "USAGE:\n", ""},
		{"--version", 0, "bpftrace v0.", ""},
		{"nothing.bt", 1, "", "ERROR: failed to open file 'nothing.bt': No such file or directory\n"},
		{"-f|json|-e|begin { warnf(\"w\") }", 0, `"filename": "stdin"`, ""},
	} {
		r := runInput(t, "", append([]string{link}, strings.Split(c.args, "|")...)...)
		if r.status != c.status || !strings.Contains(r.stdout, c.stdout) || !strings.Contains(r.stderr, c.stderr) {
			t.Errorf("%s: status %d\n%s%s\nwant %d\n%s%s", c.args, r.status, r.stdout, r.stderr, c.status, c.stdout, c.stderr)
		}
	}
}
