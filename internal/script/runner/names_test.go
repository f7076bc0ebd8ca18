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
