package gdb

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestTyped: a program has the name as its argv[0] by which it was started, as under GDB's own server.
func TestTyped(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "typed.c"), []byte("char *name;\nint main(int n, char **v)\n{\n\tname = v[n - n];\n\treturn 0; /* here */\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	need(t, "gcc")
	start(t, "gcc", "-g", "-O0", "-o", filepath.Join(dir, "typed"), filepath.Join(dir, "typed.c")).Wait()
	t.Chdir(dir)
	for typed, want := range map[string]string{"./typed": `\./typed`, "../" + filepath.Base(dir) + "/typed": `\.\./` + filepath.Base(dir) + "/typed", "typed": filepath.Join(dir, "typed")} {
		out := testkit.GDB(t, nil, "file ./typed", "target remote | "+jalonBin+" gdbserver - "+typed+" 2>/dev/null", "break 5", "continue", "print name", "kill")
		testkit.InOrder(t, out, ` "`+want+`"`)
	}
}
