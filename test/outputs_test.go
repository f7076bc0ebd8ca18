package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// -f folded counts stacks and writes them at the end.
func TestFolded(t *testing.T) {
	dir := t.TempDir()
	src, out := filepath.Join(dir, "stacks.c"), filepath.Join(dir, "folded")
	text := `__attribute__((noinline)) int leaf(int n) { __asm__ volatile("" ::: "memory"); return n + 1; }
__attribute__((noinline)) int left(int n) { return leaf(n) * 2; }
__attribute__((noinline)) int right(int n) { return leaf(n) * 3; }
int main(void) { int s = 0; for (int i = 0; i < 10; i++) { s += left(i); if (i < 4) s += right(i); } return s == 0; }
`
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	prog := filepath.Join(dir, "stacks")
	if r := run(t, "gcc", "-g", "-O1", "-o", prog, src); r.status != 0 {
		t.Fatal(r.stderr)
	}
	if r := jalon(t, "trace", "-f", "folded", "-o", out, "leaf", "-c", "$bt", "--", prog); !strings.Contains(r.stderr, "exited") {
		t.Fatal(r.stderr)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "stacks;") || !strings.HasSuffix(lines[0], ";main;left;leaf 10") || !strings.HasSuffix(lines[1], ";main;right;leaf 4") {
		t.Errorf("%q", b)
	}
}
