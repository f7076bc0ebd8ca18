package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// TestFullDisk: what is begun when the disk is full is taken back: there is no file without packets, and no part without its description.
func TestFullDisk(t *testing.T) {
	small := t.TempDir()
	if err := unix.Mount("none", small, "tmpfs", 0, "size=512k,nr_inodes=24"); err != nil {
		t.Skipf("a small disk needs root: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(small, unix.MNT_DETACH) })
	for _, size := range []int{100 << 10, 0} { // no room for bytes; then none for files
		dir := filepath.Join(small, "run")
		w, err := newWriter(&Options{Dir: dir, Size: 1})
		if err != nil {
			t.Fatal(err)
		}
		s := ctf.NewStream([16]byte{1}, ctf.State, 0, 0, 0, false)
		for i := range 60 {
			s.Task(1, 1, 1, strings.Repeat("a", size))
			w.packet(fmt.Sprintf("process-%d", i), s.Take(0, nil), 1)
			if i%2 == 1 {
				w.rotate()
			}
		}
		if err := w.finish(nil); !errors.Is(err, ErrFull) {
			t.Errorf("the disk is not full: %v", err)
		}
		checkParts(t, dir)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// checkParts looks for files and parts that were begun only.
func checkParts(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if _, err := os.Stat(filepath.Join(name, ctf.OwnDirectory)); strings.HasPrefix(e.Name(), ctf.ChunkPrefix) && err != nil {
				t.Errorf("a part was begun: %v", err)
			}
			return nil
		}
		st, err := os.Stat(name)
		if err == nil && st.Size() == 0 {
			t.Errorf("%s is empty", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
