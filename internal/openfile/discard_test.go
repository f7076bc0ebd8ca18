package openfile

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDiscard: a file is removed, also one that a link names; pipes and descriptors of this process stay, with what they name.
func TestDiscard(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.Symlink("target", at("link")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(at("pipe"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := os.WriteFile(at("inherited"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	given, err := os.OpenFile(at("inherited"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer given.Close()
	for _, c := range []struct{ path, stays string }{
		{at("file"), ""}, {at("link"), at("link")}, {at("pipe"), at("pipe")}, {"/proc/self/fd/" + strconv.Itoa(int(given.Fd())), at("inherited")},
	} {
		f, err := Create(c.path)
		if err != nil {
			t.Fatalf("%s: %v", c.path, err)
		}
		if _, err := f.WriteString("a part"); err != nil {
			t.Fatal(err)
		}
		if err := Discard(f); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		if c.stays == "" {
			if _, err := os.Lstat(c.path); !os.IsNotExist(err) {
				t.Errorf("%s is there: %v", c.path, err)
			}
			continue
		}
		if _, err := os.Lstat(c.stays); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Lstat(at("target")); !os.IsNotExist(err) {
		t.Errorf("the target is there: %v", err)
	}
	if b, err := os.ReadFile(at("inherited")); err != nil || string(b) != "a part" {
		t.Errorf("%q %v", b, err)
	}
}

// TestDiscardReplaced: if the name is another file's by now, that file stays.
func TestDiscardReplaced(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	f, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name, name+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Discard(f); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "another" {
		t.Errorf("%q %v", b, err)
	}
}
