package inproc

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
)

const frameProgram = `
void use(void *p);
__attribute__((noipa)) int counted(int a, int b)
{
	int i = a, j = b;
	char text[200];
	use(text); /* line 7 */
	return i + j;
}
int main(void) { return counted(1, 2); }
__attribute__((noipa)) void use(void *p) { *(char *)p = 0; }
`

// TestFrameSpace: at a line of a function, the frame contains its variables, the saved registers and the
// return address, and nothing else.
func TestFrameSpace(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "frame.c")
	if err := os.WriteFile(src, []byte(frameProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		flags []string
		reg   int64
	}{{[]string{"-O0"}, rbp}, {[]string{"-O1", "-fno-inline"}, rsp}} {
		exe := filepath.Join(dir, "frame")
		if out, err := exec.Command("gcc", append(c.flags, "-g", "-o", exe, src)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		m, err := dwarf.Open(exe, dwarf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		sites, err := m.LineSites("frame.c", 7)
		if err != nil {
			t.Fatal(err)
		}
		scope, err := m.ScopeForSite(sites[0])
		if err != nil {
			t.Fatal(err)
		}
		f := frameSpaceOf(scope)
		if f == nil || f.reg != c.reg || f.hi-f.lo < 200+8 || f.hi-f.lo > 400 {
			t.Fatalf("%v: %+v", c.flags, f)
		}
		for _, x := range []struct {
			reg, off, size int64
			want           bool
		}{
			{f.reg, f.lo, 4, true},
			{f.reg, f.lo, f.hi - f.lo, true},
			{f.reg, f.hi - 8, 8, true},
			{f.reg, f.lo, f.hi - f.lo + 1, false},
			{f.reg, f.lo - 1, 4, false},
			{f.reg, f.hi - 7, 8, false},
			{f.reg, f.lo, 1 << 62, false},
			{f.reg, f.lo, -1, false},
			{f.reg, -1 << 63, 8, false},
			{f.reg, 1<<63 - 1, 8, false},
			{f.reg ^ 1, f.lo, 4, false},
			{-1, f.lo, 4, false},
		} {
			if got := f.has(x.reg, x.off, x.size); got != x.want {
				t.Errorf("%v: %+v: %+v: %v", c.flags, f, x, got)
			}
		}
	}
}
