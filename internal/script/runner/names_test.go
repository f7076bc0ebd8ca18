package runner

import (
	"os"
	"strings"
	"testing"
)

// TestNamesAtSites: conditions on the thread's name are decided at places of the kernel, so that maps of pointers whose statements
// depend on them are there.
func TestNamesAtSites(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("places of the kernel need root")
	}
	const name = "/jalon-names-at-sites"
	for _, cond := range []string{
		`comm == "cat"`, `"cat" == comm`, `!(comm != "cat")`, `comm != "sh" && comm == "cat"`, `(comm == "cat" || comm == "none") && tid != 0`,
		`comm != "a name that no thread can have" && comm == "cat"`,
	} {
		src := `tracepoint:syscalls:sys_enter_openat /COND/ { @f[tid] = args.filename; }
			tracepoint:syscalls:sys_exit_openat /@f[tid]/ { if (COND) { @n = count(); } printf("%s %d\n", str(@f[tid], 64), args.ret); delete(@f, tid); }
			tracepoint:syscalls:sys_enter_openat /!(COND)/ { @other = count(); } end { clear(@f); clear(@n); clear(@other); }`
		if strings.Contains(cond, "no thread") { // that is for jalon to decide
			src = `tracepoint:syscalls:sys_enter_openat /COND/ { printf("%s -2\n", str(args.filename, 64)); }`
		}
		out, _ := runScript(t, strings.ReplaceAll(src, "COND", cond), Options{Argv: []string{"/bin/sh", "-c", "cat " + name + " 2>/dev/null; read x < " + name + ".sh; true"}})
		if !strings.Contains(out, name+" -2\n") || strings.Contains(out, name+".sh") {
			t.Errorf("%s: %q", cond, out)
		}
	}
}

// TestTextAtSites: comparisons of texts are decided at sites, as jalon decides them.
func TestTextAtSites(t *testing.T) {
	path := build(t)
	const text = `str(((struct req *)arg0)->path)`
	for cond, want := range map[string]string{ // of the paths /path/0, /path/1, /path/2
		text + ` == "/path/1"`: "1", `"/path/1" == ` + text: "1", text + ` != "/path/1"`: "02", text + ` == "/path/"`: "", text + ` == "/path/11"`: "",
		`str(((struct req *)arg0)->path, 7) == "/path/"`: "012", `str(((struct req *)arg0)->path, 8) == "/path/2"`: "2",
		`str(((struct req *)arg0)->path, 7) == "/path/2"`: "", `str(((struct req *)arg0)->path, 9) == "/path/2"`: "2",
		`strncmp(` + text + `, "/path/1", 6) == 0`: "012", `strncmp(` + text + `, "/path/1", 7) == 0`: "1", `!strncmp("/path/1", ` + text + `, 99)`: "1",
		`strncmp(` + text + `, "/path/", 7) == 0`: "", `strncmp(` + text + `, "/p", 2)`: "", `strncmp(` + text + `, "/path/2", 7)`: "01",
		`strncmp(str(((struct req *)arg0)->path, 7), "/path/1", 7) == 0`: "",
		`strncmp(str(((struct req *)arg0)->path, 7), "/path/1", 6) == 0`: "012", text + ` == "/path/0" || ` + text + ` == "/path/2"`: "02",
		`((struct req *)arg0)->type == 2 && ` + text + ` != "/path/2" || ` + text + ` == "/path/0"`: "0",
	} {
		want = strings.Join(strings.Split(want, ""), "\n")
		for _, form := range []string{"/COND/ { @p[tid] = ((struct req *)arg0)->path; }", "{ if (COND) { @p[tid] = ((struct req *)arg0)->path; } }"} {
			src := declared + "uprobe:PROG:handle " + strings.ReplaceAll(form, "COND", cond) + ` uretprobe:PROG:handle /@p[tid]/ { print(str(@p[tid])); delete(@p, tid); }`
			for _, opt := range []Options{{}, {Uprobes: true}} {
				if opt.Uprobes && os.Getuid() != 0 {
					t.Skip("the kernel's uprobes need root")
				}
				opt.Argv = []string{path, "3"}
				got, m := runScript(t, strings.ReplaceAll(src, "PROG", path), opt)
				if got = sorted(strings.ReplaceAll(got, "/path/", "")); strings.TrimSpace(got) != want || m.SiteMaps() != 1 {
					t.Errorf("%s, uprobes %t: %d maps at the sites: %q, want %q", cond, opt.Uprobes, m.SiteMaps(), got, want)
				}
			}
		}
	}
}

// TestExitAfter: a script that ends at a place has what it reads by pointers that it keeps in maps, and no hit behind exit() counts.
func TestExitAfter(t *testing.T) {
	path := build(t)
	const src = declared + `uprobe:PROG:handle { @p[tid] = ((struct req *)arg0)->path; @n++; }
		uretprobe:PROG:handle /@p[tid]/ { print(str(@p[tid])); delete(@p, tid); @c++; if (@c == 2) { exit(); @never = 1; } @one = count(); } end { print((@n, @c)); clear(@n); clear(@c); }`
	for _, opt := range []Options{{}, {Uprobes: true}} {
		if opt.Uprobes && os.Getuid() != 0 {
			t.Skip("the kernel's uprobes need root")
		}
		opt.Argv = []string{path, "9"}
		got, m := runScript(t, strings.ReplaceAll(src, "PROG", path), opt)
		if lines := strings.Split(strings.TrimSpace(got), "\n"); len(lines) != 4 || lines[2] != "(2, 2)" || lines[3] != "@one: 1" || !strings.HasPrefix(lines[0], "/path/") || !strings.HasPrefix(lines[1], "/path/") || m.SiteMaps() != 1 {
			t.Errorf("uprobes %t: %d maps at the sites: %q", opt.Uprobes, m.SiteMaps(), got)
		}
	}
}

// TestRecordsTextAtSites: texts that a tracepoint's record points to, and those in it, are compared at the site.
func TestRecordsTextAtSites(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("places of the kernel need root")
	}
	const name = "/jalon-text-at-sites"
	for cond, want := range map[string]bool{
		`str(args.filename, 8) == "/jalon-"`: true, `str(args.filename, 8) == "/jalon"`: false, `strncmp(str(args.filename), "/jalon-t", 8) == 0`: true,
		`str(args.filename) == "/jalon-text-at-sites"`: true, `str(args.filename, 7) == "/jalon-"`: false, `str(args.filename, 64) != "/jalon"`: true,
	} {
		src := `tracepoint:syscalls:sys_enter_openat /comm == "cat" && COND/ { @f[tid] = args.filename; }
			tracepoint:syscalls:sys_exit_openat /@f[tid]/ { printf("%s\n", str(@f[tid], 64)); delete(@f, tid); }`
		out, m := runScript(t, strings.ReplaceAll(src, "COND", cond), Options{Argv: []string{"/bin/cat", name, name, name}})
		if strings.Contains(out, name+"\n") != want || m.SiteMaps() != 1 {
			t.Errorf("%s: %q", cond, out)
		}
	}
	for cond, want := range map[string]bool{
		`str(args.filename) == "/bin/cat"`: true, `str(args.filename) == "/bin/ca"`: false, `strncmp(str(args.filename), "/bin/", 5) == 0`: true,
	} {
		src := `tracepoint:sched:sched_process_exec /pid == cpid && COND/ { @n[tid] = 1; } end { print(len(@n)); clear(@n); }`
		out, _ := runScript(t, strings.ReplaceAll(src, "COND", cond), Options{Argv: []string{"/bin/sh", "-c", "exec /bin/cat /dev/null"}})
		if strings.HasPrefix(out, "1") != want {
			t.Errorf("%s: %q", cond, out)
		}
	}
	for cond, want := range map[string]bool{`args.comm == "cat"`: true, `strncmp(args.comm, "ca", 2) == 0`: true, `args.comm != "cat"`: false, `strncmp(args.comm, "cats", 4) == 0`: false} {
		src := `tracepoint:sched:sched_process_exit /pid == cpid && COND/ { @n[tid] = 1; } end { print(len(@n)); clear(@n); }`
		out, m := runScript(t, strings.ReplaceAll(src, "COND", cond), Options{Argv: []string{"/bin/cat", "/dev/null"}})
		if strings.HasPrefix(out, "1") != want || m.SiteMaps() != 1 {
			t.Errorf("%s: %q", cond, out)
		}
	}
}
