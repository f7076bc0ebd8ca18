package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// TestFullDisk: what is begun when the disk is full is taken back: there is no file without packets, and no part without its description.
func TestFullDisk(t *testing.T) {
	small := smallDisk(t, "size=512k,nr_inodes=24")
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

// smallDisk mounts a tmpfs of a size.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("a small disk needs root: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// TestTightDisk: a disk that has room for all parts compressed is not full because they wait for that, and one without room for the number of
// parts that is kept has smaller ones.
func TestTightDisk(t *testing.T) {
	for name, opt := range map[string]Options{
		"compressed": {Size: 1 << 20, Compress: true},
		"by time":    {Every: time.Hour, Keep: 3},
		"too large":  {Size: 1 << 30, Keep: 3},
	} {
		var warned []string
		opt.Dir, opt.Warn = filepath.Join(smallDisk(t, "size=4m"), "run"), func(text string) { warned = append(warned, text) }
		r, err := Create(opt)
		if err != nil {
			t.Fatal(err)
		}
		r.Begin(Session{})
		r.begin()
		r.streams[0] = []*stream{{Stream: ctf.NewStream(r.uuid, ctf.State, 0, 0, 0, false), name: "process-0"}}
		for range 10 << 20 / (100 << 10) { // 10 MiB
			s := r.streams[0][0]
			s.Task(1, 1, 1, strings.Repeat("a", 100<<10))
			if err := r.take(s); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if err := r.Finish(nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		checkParts(t, opt.Dir)
		parts, _ := filepath.Glob(filepath.Join(opt.Dir, ctf.ChunkPrefix+"*"))
		if opt.Compress == (len(warned) > 0) || opt.Compress == (len(parts) == 3) {
			t.Errorf("%s: %d parts, %q", name, len(parts), warned)
		}
	}
}
