package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestFileVariables: trace state variables of a file at places of the kernel; they are not shared with places in a program.
func TestFileVariables(t *testing.T) {
	magic := ownNumber(9)
	prog := demo(t)
	file := filepath.Join(t.TempDir(), "tp")
	text := fmt.Sprintf(`tvariable $n = 40
tvariable $seen
trace tracepoint:syscalls:sys_enter_getpriority if args->who == %d && ($seen = $seen + 1) > 1
actions
collect $n
teval $n = $n + 1, $n = $n + args->which
end
passcount 3
`, magic)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	tr := begin(t, "-x", file).armed()
	for range 6 {
		_, _, _ = syscall.RawSyscall(syscall.SYS_GETPRIORITY, 0, uintptr(magic), 0) // an error is its result
	}
	tr.Wait()
	var got []string
	for _, e := range tr.events() {
		got = append(got, fmt.Sprint(e.Num(t, "$n")))
	}
	if s := strings.Join(got, " "); s != "40 41 42" || !strings.Contains(tr.Errs.String(), `"variables":{"n":43,"seen":4}`) {
		t.Errorf("$n in the events: %s\n%s", s, tr.Errs.String())
	}
	write(text + "trace main if $n > 3\n")
	p := testkit.Start(t, jalonBin, "trace", "-x", file, "--", prog).Wait()
	if p.Status != 1 || !strings.Contains(p.Errs.String(), "they have none in common") {
		t.Errorf("both engines: status %d: %s", p.Status, p.Errs.String())
	}
}
