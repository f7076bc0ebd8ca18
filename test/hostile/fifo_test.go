package hostile

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestFIFOs: a FIFO without a writer is in the place of a file. jalon reports it or works without the file;
// it never waits for it. Wait fails on a hang.
func TestFIFOs(t *testing.T) {
	testkit.Need(t, "gcc", "objcopy")
	src, prog := filepath.Join(dir, "linked.c"), filepath.Join(dir, "linked")
	write(t, src, `__attribute__((noinline)) int work(int n) { __asm__ volatile(""); return n + 1; }
int main(void) { int n = 0; while (n < 10) n = work(n); return 0; }`)
	gcc(t, "-o", prog, src)
	link, fifo := filepath.Join(dir, "linked.debug"), filepath.Join(dir, "a-fifo")
	for _, args := range [][]string{
		{"objcopy", "--only-keep-debug", prog, link},
		{"objcopy", "--strip-all", "--keep-symbol=work", "--remove-section=.note.gnu.build-id", "--add-gnu-debuglink=" + link, prog},
		{"rm", link},
	} {
		if out, err := execOutput(args...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	for _, path := range []string{link, fifo} {
		if err := unix.Mkfifo(path, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string // in the output
	}{
		{[]string{"list", prog}, "work"},
		{[]string{"trace", "work", "--", prog}, "10"},
		{[]string{"list", fifo}, "not a regular file"},
		{[]string{"list", fifo + "@x.c"}, "not a regular file"},
		{[]string{"list", "--tactics", fifo, "*"}, "not a regular file"},
		{[]string{"trace", "work", "--", fifo}, fifo},
		{[]string{"trace", "uprobe:" + fifo + ":work", "--", prog}, fifo},
		{[]string{"trace", "uprobe:" + fifo + ":work", "--all", "-d", "1s"}, fifo},
		{[]string{"trace", "uretprobe:" + fifo + ":work", "-d", "1s"}, fifo},
		{[]string{"trace", "usdt:" + fifo + ":a:b", "-d", "1s"}, fifo},
		{[]string{"trace", "work.c:1", "--vmlinux", fifo, "--all", "-d", "1s"}, "not a regular file"},
	} {
		p := testkit.Start(t, append([]string{jalon}, c.args...)...).Wait()
		if both := p.Out.String() + p.Errs.String(); !strings.Contains(both, c.want) {
			t.Errorf("%v: status %d, %q is missing: %s", c.args, p.Status, c.want, both)
		}
	}
}
