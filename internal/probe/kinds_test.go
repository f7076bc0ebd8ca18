package probe

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

var update = flag.Bool("update", false, "rewrite testdata/diagnostics.txt")

func TestParseKernel(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want Place
	}{
		{"tracepoint:sched:sched_switch", Place{Kind: Tracepoint, System: "sched", Event: "sched_switch"}},
		{"t:sched:*", Place{Kind: Tracepoint, System: "sched", Event: "*"}},
		{"tracepoint:*:sys_enter_[a-c]*", Place{Kind: Tracepoint, System: "*", Event: "sys_enter_[a-c]*"}},
		{" t:power:cpu_idle ", Place{Kind: Tracepoint, System: "power", Event: "cpu_idle"}},
		{"rawtracepoint:sched_switch", Place{Kind: RawTracepoint, Event: "sched_switch"}},
		{"rt:xfs:xfs_iget", Place{Kind: RawTracepoint, Module: "xfs", Event: "xfs_iget"}},
		{"kprobe:vfs_read", Place{Kind: Kprobe, Func: "vfs_read"}},
		{"k:vfs_*", Place{Kind: Kprobe, Func: "vfs_*"}},
		{"kprobe:vfs_read+0x1c", Place{Kind: Kprobe, Func: "vfs_read", Off: 0x1c}},
		{"kprobe:nf_tables:nft_do_chain+4", Place{Kind: Kprobe, Module: "nf_tables", Func: "nft_do_chain", Off: 4}},
		{"kprobe:foo.isra.0", Place{Kind: Kprobe, Func: "foo.isra.0"}},
		{"kprobe:0xffffffff81000010", Place{Kind: Kprobe, Off: 0xffffffff81000010}},
		{"kprobe:fs/read_write.c:471", Place{Kind: Kprobe, File: "fs/read_write.c", Line: 471}},
		{"kretprobe:vfs_read", Place{Kind: Kretprobe, Func: "vfs_read"}},
		{"kr:ext4:ext4_*", Place{Kind: Kretprobe, Module: "ext4", Func: "ext4_*"}},
		{"fentry:vfs_read", Place{Kind: Fentry, Func: "vfs_read"}},
		{"f:ext4:ext4_iget", Place{Kind: Fentry, Module: "ext4", Func: "ext4_iget"}},
		{"kfunc:vfs_read", Place{Kind: Fentry, Func: "vfs_read"}},
		{"fexit:vfs_read", Place{Kind: Fexit, Func: "vfs_read"}},
		{"fr:vfs_read", Place{Kind: Fexit, Func: "vfs_read"}},
		{"kretfunc:vfs_read", Place{Kind: Fexit, Func: "vfs_read"}},
		{"uretprobe:/usr/bin/bash:readline", Place{Kind: Uretprobe, Path: "/usr/bin/bash", Func: "readline"}},
		{"ur:./a.out:ns::f", Place{Kind: Uretprobe, Path: "./a.out", Func: "ns::f"}},
		{"uretprobe:./a.out:operator+", Place{Kind: Uretprobe, Path: "./a.out", Func: "operator+"}},
		{"usdt:./prog:handle", Place{Kind: USDT, Path: "./prog", Event: "handle"}},
		{"U:/usr/lib/libc.so.6:libc:setjmp", Place{Kind: USDT, Path: "/usr/lib/libc.so.6", System: "libc", Event: "setjmp"}},
		{"usdt:/a:b/c:py:*", Place{Kind: USDT, Path: "/a:b/c", System: "py", Event: "*"}},
		{"usdt:/a:b/c:gc", Place{Kind: USDT, Path: "/a:b/c", Event: "gc"}},
		{"usdt:./prog::handle", Place{Kind: USDT, Path: "./prog", Event: "handle"}},
		{"syscall:openat", Place{Kind: Syscall, Event: "openat"}},
		{"syscall:open*:exit", Place{Kind: Syscall, Event: "open*", Exit: true}},
		{"syscall:read:entry", Place{Kind: Syscall, Event: "read"}},
		{"profile:99", Place{Kind: Profile, Freq: 99}},
		{"p:hz:49", Place{Kind: Profile, Freq: 49}},
		{"profile:ms:10", Place{Kind: Profile, Period: 10 * time.Millisecond}},
		{"profile:us:250", Place{Kind: Profile, Period: 250 * time.Microsecond}},
		{"profile:99hz", Place{Kind: Profile, Freq: 99}},
		{"interval:s:1", Place{Kind: Interval, Period: time.Second}},
		{"i:100ms", Place{Kind: Interval, Period: 100 * time.Millisecond}},
		{"software:faults:100", Place{Kind: Software, Event: "page-faults", Count: 100}},
		{"s:cpu-clock", Place{Kind: Software, Event: "cpu-clock"}},
		{"hardware:cache-misses:1000000", Place{Kind: Hardware, Event: "cache-misses", Count: 1000000}},
		{"h:cycles:5", Place{Kind: Hardware, Event: "cpu-cycles", Count: 5}},
		{"process:exec", Place{Kind: Process, Event: "exec"}},
		{"fault:user", Place{Kind: Fault, Event: "user"}},
		{"process:signal", Place{Kind: Process, Event: "signal"}},
		// What only looks like a kind.
		{"t::f", Place{Kind: Function, Func: "t::f"}},
		{"profile::run", Place{Kind: Function, Func: "profile::run"}},
		{"process.c:9", Place{Kind: Line, File: "process.c", Line: 9}},
	} {
		got, err := Parse(tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		tt.want.Text = strings.TrimSpace(tt.in)
		if *got != tt.want {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.in, *got, tt.want)
		}
		if got.InKernel() != (tt.want.Kind != Function && tt.want.Kind != Line) {
			t.Errorf("%s: InKernel is %v", tt.in, got.InKernel())
		}
		if got.Glob() != strings.Contains(tt.in, "*") {
			t.Errorf("%s: Glob is %v", tt.in, got.Glob())
		}
	}
}

// TestDiagnostics compares whole diagnostics with testdata/diagnostics.txt.
func TestDiagnostics(t *testing.T) {
	var b strings.Builder
	for _, in := range []string{
		"tracepoint:sched", "tracepoint:", "tracepoint:sched:", "tracepoint:sched:a:b", "t:sched:sched switch",
		"rawtracepoint:a:b:c", "rawtracepoint:", "rt:xf*:iget",
		"kprobe:", "kprobe:vfs_read+", "kprobe:vfs_read+x", "kprobe:vfs_*+4", "kprobe:0xzz", "kprobe:a.c:0", "kprobe:a:b:c", "kprobe:vfs/read", "kprobe:f:",
		"kretprobe:vfs_read+4", "fentry:vfs_read+0", "fexit:fs/read_write.c:4", "fentry:",
		"uprobe:/bin/true:f%return", "uretprobe:/bin/true", "uretprobe:/bin/true:f+4", "uretprobe:/bin/true:0x12", "ur:",
		"usdt:/bin/true", "usdt:", "usdt:/bin/true:a:", "usdt:./p:q r:n",
		"syscall:", "syscall:openat:exti", "syscall:openat:exit:3",
		"profile:", "profile:0", "profile:min:1", "profile:hz:x", "profile:99hzz", "profile:s:99999999999", "interval:s:1:2", "interval:s:",
		"software:page-fault", "software:xyzzy", "software:faults:0", "hardware:cache-mises", "hardware:cs",
		"process:exce", "process:zzzzzz", "process:",
		"tracpoint:sched:sched_switch", "fentrt:vfs_read",
	} {
		pl, err := Parse(in)
		if err == nil {
			t.Errorf("%s: accepted as %+v", in, pl)
			continue
		}
		b.WriteString(err.Error() + "\n\n")
	}
	const golden = "testdata/diagnostics.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("line %d differs from %s (go test -update rewrites it)\n%s", i+1, golden, b.String())
		}
	}
}

// TestReference compares docs/places.md with the descriptors (go test -update writes it).
func TestReference(t *testing.T) {
	testkit.Page(t, "../../docs/places.md", Reference(), *update)
}

// TestKinds holds what every descriptor must have.
func TestKinds(t *testing.T) {
	words := map[string]bool{}
	for _, k := range Kinds() {
		if k.Form == "" || k.Where == "" || k.Names == "" {
			t.Errorf("%+v: something is not described", k)
		}
		if k.Find == nil && k.Sites == nil && !k.RunTime || k.Kernel && k.Find == nil {
			t.Errorf("%s: nothing finds its sites", k.Form)
		}
		if (len(k.Words) > 0) != (k.parse != nil) || k.Kernel != (k.parse != nil) || k.Returns && k.Sites == nil {
			t.Errorf("%s: how is it parsed?", k.Form)
		}
		for _, w := range k.Words {
			if words[w] || !strings.HasPrefix(k.Form, k.Words[0]+":") {
				t.Errorf("%s: the word %s", k.Form, w)
			}
			words[w] = true
		}
	}
}
