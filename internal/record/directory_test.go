package record

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestReplacedDirectory: what took the place of the directory that was made is not used.
func TestReplacedDirectory(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, mode := range map[string]os.FileMode{"others": 0o750, "empty": 0o700, "full": 0o700} {
		if err := os.Mkdir(at(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("full/metadata"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "empty", "away": "/root", "dangling": "nowhere"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	parent, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close()
	for _, name := range []string{"others", "full", "file", "link", "away", "dangling", "nowhere"} {
		if root, err := openOwn(parent, name); !errors.Is(err, errReplaced) {
			t.Errorf("%s: %v", name, err)
			if root != nil {
				root.Close()
			}
		}
	}
	root, err := openOwn(parent, "empty")
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
}

// TestDiscardMoved: a recording that did not begin removes its own directory, also if the path names another by now.
func TestDiscardMoved(t *testing.T) {
	dir := t.TempDir()
	sub, victim := filepath.Join(dir, "sub"), filepath.Join(dir, "victim")
	for _, d := range []string{sub, victim, filepath.Join(victim, "run")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Create(Options{Dir: filepath.Join(sub, "run")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(sub, sub+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("victim", sub); err != nil {
		t.Fatal(err)
	}
	r.Discard()
	if _, err := os.Stat(filepath.Join(victim, "run")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(sub+".moved", "run")); !os.IsNotExist(err) {
		t.Errorf("the directory is there: %v", err)
	}
}
