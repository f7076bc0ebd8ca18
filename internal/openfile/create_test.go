package openfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCreate: files that this user may create and replace.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	target, link, chain := filepath.Join(dir, "target"), filepath.Join(dir, "link"), filepath.Join(dir, "chain")
	for from, to := range map[string]string{link: "target", chain: link} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{filepath.Join(dir, "new"), target, link, chain, "/dev/null", "/dev/stderr"} {
		f, err := Create(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if _, err := f.WriteString(""); err != nil {
			t.Error(err)
		}
		f.Close()
	}
	if st, err := os.Stat(target); err != nil || st.Mode().Perm() != 0o600 {
		t.Error(st, err)
	}
	if err := os.WriteFile(target, []byte("old content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := Create(chain); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
	if b, err := os.ReadFile(target); err != nil || len(b) != 0 {
		t.Errorf("%q %v", b, err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{loop, dir, dir + "/", filepath.Join(dir, "missing", "x")} {
		if f, err := Create(path); err == nil {
			f.Close()
			t.Errorf("%s was created", path)
		}
	}
}

// TestCreateForeign: links and files of another user are not followed and not changed in directories where
// that user can create them.
func TestCreateForeign(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root: it makes files of another user")
	}
	const otherUser = 65534
	dir := t.TempDir()
	victim, link, file := filepath.Join(dir, "victim"), filepath.Join(dir, "pub", "link"), filepath.Join(dir, "pub", "file")
	if err := os.Mkdir(filepath.Join(dir, "pub"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Chmod(filepath.Join(dir, "pub"), 0o777|os.ModeSticky),
		os.WriteFile(victim, []byte("content"), 0o600),
		os.WriteFile(file, []byte("content"), 0o666),
		os.Symlink(victim, link),
		unix.Lchown(link, otherUser, otherUser), unix.Lchown(file, otherUser, otherUser),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{link, file} {
		if f, err := Create(path); !errors.Is(err, ErrForeign) {
			if err == nil {
				f.Close()
			}
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, path := range []string{victim, file} {
		if b, err := os.ReadFile(path); err != nil || string(b) != "content" {
			t.Errorf("%s: %q %v", path, b, err)
		}
	}
}
