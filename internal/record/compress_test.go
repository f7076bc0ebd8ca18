package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// TestRemovedWhileCompressed: a chunk that is removed at any time while it is compressed is gone, without an error or a warning; others are
// compressed.
func TestRemovedWhileCompressed(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	stream := ctf.NewStream([16]byte{1}, ctf.State, 0, 0, 0, false)
	for i := range 2000 {
		stream.Task(int64(i), i, i, "name")
	}
	packets := bytes.Repeat(stream.Take(0, nil), 8)
	c := newCompressor(&Options{Dir: dir, Warn: func(text string) { t.Error(text) }})
	for i := range 200 {
		name := fmt.Sprintf("chunk-%06d", i)
		if err := os.MkdirAll(filepath.Join(dir, name, ctf.OwnDirectory), 0o700); err != nil {
			t.Fatal(err)
		}
		for k := range 4 {
			if err := os.WriteFile(filepath.Join(dir, name, fmt.Sprintf("process-%d", k)), packets, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c.add(root, name, 1)
		if i%2 == 0 {
			continue
		}
		for made := 0; made <= i%3; { // it is being compressed
			list, err := os.ReadDir(filepath.Join(dir, name, ctf.OwnDirectory))
			if err != nil {
				t.Fatal(err)
			}
			made = len(list)
		}
		if err := c.remove(root, name); err != nil {
			t.Fatal(err)
		}
	}
	c.finish()
	for i := range 200 {
		name := filepath.Join(dir, fmt.Sprintf("chunk-%06d", i))
		_, err := os.Stat(name)
		if i%2 == 1 {
			if !os.IsNotExist(err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if list, _ := filepath.Glob(filepath.Join(name, ctf.OwnDirectory, "process-*"+ctf.CompressedSuffix)); len(list) != 4 {
			t.Errorf("%s: %q", name, list)
		}
	}
	if len(c.todo) > 0 {
		t.Errorf("%d chunks are remembered", len(c.todo))
	}
}
