package record

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// TestEmpty: a recording that ends before its places are armed is a trace without events.
func TestEmpty(t *testing.T) {
	for name, opt := range map[string]Options{"plain": {}, "parts": {Size: 1 << 20}} {
		for _, begun := range []bool{false, true} {
			opt.Dir = filepath.Join(t.TempDir(), "run")
			r, err := Create(opt)
			if err != nil {
				t.Fatal(err)
			}
			if begun {
				r.Begin(Session{WallOffset: 5})
			}
			if _, err := ctf.Open(opt.Dir); err == nil || !strings.Contains(err.Error(), "has just begun") {
				t.Errorf("begun %t, not ended: %v", begun, err)
			}
			if err := r.Finish(&ctf.Summary{Outcome: "detached"}); err != nil {
				t.Fatal(err)
			}
			dir := opt.Dir
			if name == "parts" {
				dir = filepath.Join(dir, "chunk-000000")
			}
			tr, err := ctf.Open(dir)
			if err != nil {
				t.Fatalf("%s, begun %t: %v", name, begun, err)
			}
			if _, err := tr.Events(ctf.Query{}).Next(); !errors.Is(err, io.EOF) || tr.Info.Kernel == "" || tr.Info.WallOffset == 0 || begun && tr.Info.WallOffset != 5 {
				t.Errorf("%s, begun %t: %v, %+v", name, begun, err, tr.Info)
			}
			tr.Close()
		}
	}
}
