package kernelguest

import (
	"slices"
	"strings"
	"testing"
)

// Errors name what is missing or wrong, with a remedy.
func TestGuest_Errors(t *testing.T) {
	type errorCase struct{ args, says []string }
	cases := []errorCase{
		// Errors of several places are reported together.
		{[]string{"kprobe:vfs_raed", "kprobe:loop:vfs_write", "kprobe:vfs_read if (cuont > 3)", "kprobe:fs/read_write.c:471", "tracepoint:sched:sched_swich"}, []string{
			`no function "vfs_raed"`, `did you mean "vfs_read"?`, "1 | kprobe:vfs_raed",
			`no function "loop:vfs_write"`, "vmlinux has it",
			`no variable "cuont" in vfs_read`, `did you mean "count"?`, "file, buf, count, pos", "^^^^^",
			"--vmlinux PATH", "linux-image-VERSION-dbg", `did you mean "sched:sched_switch"?`,
		}},
		{[]string{"kprobe:vfs_read", "kprobe:vfs_readv", "-c", "retval"}, []string{"there is no return value here", "kretprobe:, fexit: and uretprobe:"}},
		{[]string{"kretprobe:vfs_read", "tracepoint:sched:sched_switch", "-c", "count"}, []string{
			`variable "count" has no value here`, "fexit:vfs_read", `no variable "count"`, "prev_comm", "the arguments are preempt, prev, next",
		}},
		{[]string{"kprobe:vfs_read+2"}, []string{"kprobe:vfs_read+0x2", "not the first byte of an instruction"}},
		{[]string{"kprobe:" + processor.forbidden}, []string{"must not be probed", "probe its caller"}},
		{[]string{"kprobe:vfs_read", "--vmlinux=" + calls}, []string{calls + " is of another kernel: its build-id is"}},
		{[]string{"fentry:" + processor.untraced}, []string{"no function that ftrace traces", "fentry and fexit work by ftrace"}},
	}
	if c := processor.noCounter; c != "" {
		cases = append(cases, errorCase{[]string{c}, []string{"no such hardware counter", "software:cpu-clock"}})
	}
	for _, c := range cases {
		o := run(t, append(c.args, "--", calls, "none")...)
		want := 2
		if slices.ContainsFunc(c.args, func(a string) bool { return strings.HasPrefix(a, "--vmlinux=") }) {
			want = 1 // the file is wrong, not the text
		}
		if o.status != want {
			t.Errorf("%q ended with status %d, want %d", c.args, o.status, want)
		}
		for _, s := range c.says {
			if !strings.Contains(o.stderr, s) {
				t.Errorf("%q does not say %q:\n%s", c.args, s, o.stderr)
			}
		}
	}
}
