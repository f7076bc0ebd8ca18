package hostile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestNamedFiles: a program of the user "nobody" names a debug file and a file of split debug
// information that only root may read. jalon, run by root, must not read them for the program. It
// reads them if that user may read or owns them.
func TestNamedFiles(t *testing.T) {
	asRoot(t)
	testkit.Need(t, "gcc", "objcopy")
	src := filepath.Join(dir, "named.c")
	write(t, src, `__attribute__((noinline)) int work(int secret) { __asm__ volatile(""); return secret + 1; }
int main(void) { int n = 0; while (n < 10) n = work(n); return 0; }`)
	link := filepath.Join(dir, "named-link")
	gcc(t, "-g", "-O1", "-o", link, src)
	for _, args := range [][]string{
		{"objcopy", "--only-keep-debug", link, link + ".debug"},
		{"objcopy", "--strip-debug", "--remove-section=.note.gnu.build-id", "--add-gnu-debuglink=" + link + ".debug", link},
	} {
		if out, err := execOutput(args...); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	split := filepath.Join(dir, "named-split")
	gcc(t, "-g", "-gsplit-dwarf", "-O1", "-o", split, src)
	parts, _ := filepath.Glob(filepath.Join(dir, "*named*.dwo"))
	if len(parts) != 1 {
		t.Fatalf("split debug information: %v", parts)
	}
	for prog, named := range map[string]string{link: link + ".debug", split: parts[0]} {
		for _, c := range []struct {
			owner, of int // of the program, of the file that it names
			mode      os.FileMode
			reads     bool
		}{
			{nobody, 0, 0o600, false},
			{nobody, 0, 0o640, false},
			{nobody, 0, 0o644, true},
			{nobody, nobody, 0o600, true},
			{0, 0, 0o600, true},
		} {
			chown(t, prog, c.owner, 0o755)
			chown(t, named, c.of, c.mode)
			p := testkit.Start(t, jalon, "trace", "work", "--collect", "secret + 4711", "-n", "1", "--", prog).Wait()
			if got := strings.Contains(p.Out.String(), "4711\n"); got != c.reads {
				t.Errorf("%s %+v: the variables of %s are shown: %v\n%s%s", prog, c, named, got, p.Out.String(), p.Errs.String())
			}
		}
	}
}

func chown(t *testing.T, path string, owner int, mode os.FileMode) {
	t.Helper()
	if err := os.Chown(path, owner, owner); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
