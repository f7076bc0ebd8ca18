package openfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestRuntimeDirectory: the directory is of mode 0700; one that others can open, a file and a link in its place are passed over.
func TestRuntimeDirectory(t *testing.T) {
	parent := t.TempDir()
	if err := os.Chmod(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", parent)
	want := filepath.Join(parent, "jalon")
	for range 2 { // it is made, and there already
		dir, err := RuntimeDirectory()
		if err != nil || dir != want {
			t.Fatalf("%s, %v", dir, err)
		}
		if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
			t.Fatal(st, err)
		}
	}
	if !slices.Contains(RuntimeDirectories(), want) {
		t.Error(RuntimeDirectories())
	}
	elsewhere := t.TempDir()
	if err := os.Chmod(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, place := range map[string]func() error{
		"open": func() error { return os.Mkdir(want, 0o700) },
		"file": func() error { return os.WriteFile(want, nil, 0o600) },
		"link": func() error { return os.Symlink(elsewhere, want) },
	} {
		if err := os.Remove(want); err != nil {
			t.Fatal(err)
		}
		if err := place(); err != nil {
			t.Fatal(err)
		}
		if name == "open" {
			if err := os.Chmod(want, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if dir, err := RuntimeDirectory(); err == nil && dir == want {
			t.Errorf("%s: %s", name, dir)
		}
		if slices.Contains(RuntimeDirectories(), want) {
			t.Errorf("%s: %q", name, RuntimeDirectories())
		}
	}
	if err := os.Chmod(parent, 0o777); err != nil {
		t.Fatal(err)
	}
	if dir, err := RuntimeDirectory(); err == nil && filepath.Dir(dir) == parent {
		t.Errorf("%s: others can write to its parent", dir)
	}
}
