package test

import (
	"strings"
	"testing"
)

// TestScriptCases runs scripts with probes in a program and in the kernel, and compares all that they print.
func TestScriptCases(t *testing.T) {
	server := compile(t, "gcc", "cookbook.c", "-g", "-O1", "-pthread")
	for _, c := range []struct{ script, want string }{
		{"uprobe:SERVER:handle { @ = count(); }", "@: 300"},
		{"uprobe:SERVER:handle { @[args.r->kind] = sum(args.r->len); }", "@[LIST]: 3105\n@[GET]: 3135\n@[PUT]: 3210"},
		{"uprobe:SERVER:handle { @ = min(args.r->len); @m = max(args.r->len); @a = avg(args.r->len); }", "@: 1\n@m: 128\n@a: 31"},
		{"uprobe:SERVER:handle { @ = lhist(args.r->len, 0, 100, 50); }", "@:\n[0, 50)              226 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n[50, 100)             37 |@@@@@@@@                                            |\n[100, ...)            37 |@@@@@@@@                                            |"},
		{"uprobe:SERVER:parse /str(args.text) == \"image\"/ { @[str(args.text)] = count(); }", "@[image]: 100"},
		{"uprobe:SERVER:parse { @[arg1 > 64, str(arg0)] = count(); } end { print(len(@)); clear(@); }", "6"},
		{"uretprobe:SERVER:handle /(int32)retval == -1/ { @ = count(); }", "@: 100"},
		{"uprobe:SERVER:handle { @in[tid] = args.r->len; } uretprobe:SERVER:handle { @ = sum(@in[tid]); delete(@in, tid); }", "@: 9450"},
		{"uprobe:SERVER:handle { if (++@n == 5) { exit(); } printf(\"%d \", @n); } end { clear(@n); }", "1 2 3 4"},
		{"uprobe:SERVER:handle { $r = args.r; @[(int32)$r->kind, $r->len > 100 ? \"big\" : \"small\"] = count(); } end { print(@[1, \"big\"]); clear(@); }", "13"},
		{"uprobe:SERVER:handle { @last = (args.r->kind, str(args.r->name), args.r->len); }", "@last: (LIST, style, 8)"},
		{"uprobe:SERVER:handle { @w = max((int64)(args.r->weight * 2)); @d = max(args.r->weight); @s = sum(args.r->weight); @k[args.r->kind] = avg(args.r->weight); @x += args.r->weight; @l = lhist(args.r->weight, 0, 200, 100); }", "@w: 299\n@d: 149.5\n@s: 22425\n@k[GET]: 74.25\n@k[PUT]: 74.75\n@k[LIST]: 75.25\n@x: 22425\n@l:\n[0, 100)             200 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n[100, 200)           100 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |"},
		{"uprobe:SERVER:parse { @[ustack(2)] = count(); } end { print(len(@)); clear(@); }", "1"},
		{"tracepoint:syscalls:sys_enter_openat /pid == cpid && str(args.filename) == \"/nonexistent\"/ { @ = count(); }", "@: 4"},
		{"tracepoint:syscalls:sys_exit_write /pid == cpid/ { @ = sum(args.ret); }", "@: 4092"},
		{"uprobe:SERVER:handle { @calls = count(); } tracepoint:syscalls:sys_enter_fsync /pid == cpid/ { printf(\"%d\\n\", @calls); exit(); } end { clear(@calls); }", "300"},
		{"uprobe:SERVER:handle { @r[1] = args.r; $r = @r[1]; @n = stats(@r[1]->len); @m = stats($r->len); } end { clear(@r); }", "@n: { .count = 300, .average = 31, .total = 9450 }\n@m: { .count = 300, .average = 31, .total = 9450 }"},
		{"tracepoint:syscalls:sys_enter_write /pid == cpid/ { @in[tid] = args.count; @n++; } tracepoint:syscalls:sys_exit_write /@in[tid]/ { @ = sum(@in[tid] == (uint64)args.ret ? 1 : 0); @bytes = sum(@in[tid]); delete(@in, tid); }", "@n: 40\n@: 40\n@bytes: 4092"},
		{"tracepoint:syscalls:sys_enter_write /pid == cpid/ { @by[args.count]++; @last = args.count; } end { print(@by[512]); clear(@by); }", "4\n\n\n@last: 512"},
		{"uprobe:SERVER:handle { @in[tid] = args.r->len; } uretprobe:SERVER:handle { @[curtask.tgid == cpid, ppid > 0] = sum(@in[tid]); delete(@in, tid); } uprobe:SERVER:parse { @p = count(); }", "@[true, true]: 9450\n@p: 300"},
		{"uprobe:SERVER:handle /args.r->len > 64/ { if (args.r->kind == 0) { signal(\"CONT\"); } else { signal_thread(18); } @ = count(); } tracepoint:signal:signal_generate /args.sig == 18 && args.pid == cpid/ { @sent = count(); }", "@: 37\n@sent: 37"},
		{"uprobe:SERVER:handle { @a++; } end { @t = sum(@a); clear(@a); }", "@t: 300"},
		{"iter:task /ctx.task == curtask/ { printf(\"%s \", probe); } end { printf(\"over\\n\"); }", "iter:task over"},
		{"software:page-faults:1 { @[usermode == (reg(\"pc\") < 1 << 48)] = count(); } tracepoint:syscalls:sys_enter_write { @t = max(usermode); } end { print((len(@), has_key(@, true), (int64)@t)); clear(@); clear(@t); }", "(1, true, 0)"},
		{"iter:task { @ = count(); exit(); } end { print((int64)@ > 1); clear(@) }", "true"},
		{"iter:task_file { @[ctx.task.tgid == curtask.tgid] = max(ctx.fd); } end { print(@[true] > 2); clear(@); }", "true"},
	} {
		script := strings.ReplaceAll(c.script, "SERVER", server)
		r := jalon(t, "run", "-q", "--unsafe", "-e", script, "-c", server)
		if got := strings.TrimSpace(r.stdout); r.status != 0 || got != c.want {
			t.Errorf("%s: status %d\n%s%s\nwant\n%s", c.script, r.status, r.stdout, r.stderr, c.want)
		}
	}
	// The error of a place has its position in the script; a filter by the process of -c is no mistake.
	for _, c := range []struct{ script, stderr string }{
		{"BEGIN { @ = 1 }\nuprobe:SERVER:no_such_function { @ = 2 }", "--> -e:2:1"},
		{"uprobe:SERVER:handle /pid == cpid/ { @ = count(); }", ""},
	} {
		r := jalon(t, "run", "-q", "-e", strings.ReplaceAll(c.script, "SERVER", server), "-c", server)
		if c.stderr == "" && r.stderr != "" || !strings.Contains(r.stderr, c.stderr) {
			t.Errorf("%s: error output\n%s\nwant %q", c.script, r.stderr, c.stderr)
		}
	}
}
