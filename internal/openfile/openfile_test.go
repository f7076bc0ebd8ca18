package openfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNotRegular: only regular files are opened; anything else is refused at once without opening it.
func TestNotRegular(t *testing.T) {
	dir := t.TempDir()
	fifo, sock := filepath.Join(dir, "fifo"), filepath.Join(dir, "sock")
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: sock}); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(fifo, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{fifo, sock, link, dir, "/dev/null", "/dev/tty"} {
		if f, err := Regular(path); err == nil {
			f.Close()
			t.Errorf("%s was opened", path)
		} else if !errors.Is(err, ErrNotRegular) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestRead: content through links, the limit, missing files.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, link, fmt.Sprintf("/proc/%d/root%s", os.Getpid(), link)} {
		if b, err := Read(p, 7); err != nil || string(b) != "content" {
			t.Errorf("%s: %q, %v", p, b, err)
		}
	}
	if _, err := Read(path, 6); err == nil {
		t.Error("more than the limit was read")
	}
	if _, err := Read(path+"x", 6); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if !Same(path, link) || Same(path, dir) || Same(path, path+"x") {
		t.Error("Same is wrong")
	}
}

// TestSplitRoot: only paths below the root of a process are resolved inside it.
func TestSplitRoot(t *testing.T) {
	for _, c := range []struct {
		path, root, rest string
		ok               bool
	}{
		{"/proc/12/root/lib/x.so", "/proc/12/root", "lib/x.so", true},
		{"/proc/12/root//lib", "/proc/12/root", "lib", true},
		{"/proc/12/task/13/root/lib/x.so", "/proc/12/task/13/root", "lib/x.so", true},
		{"/proc/12/root/", "", "", false},
		{"/proc/12/exe", "", "", false},
		{"/proc/self/root/lib", "", "", false},
		{"/lib/x.so", "", "", false},
	} {
		root, rest, ok := splitRoot(c.path)
		if root != c.root || rest != c.rest || ok != c.ok {
			t.Errorf("%s: %q %q %v", c.path, root, rest, ok)
		}
	}
}
