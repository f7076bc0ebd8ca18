package ctf

import (
	"os"
	"path/filepath"
	"strings"
)

// Ending is what is known of how a recording ended.
type Ending int

const (
	NotEnded     Ending = iota // it goes on, or was not ended in order
	Ended                      // everything was written
	UnknownParts               // the trace is one part of a recording, and the files beside it are not there
)

// readEnding reads how a trace ended that is one part of a rotated recording. Its summary is beside the parts, and a part is complete when the
// next one has begun.
func (t *Trace) readEnding() {
	switch {
	case t.Summary != nil:
		t.Ending = Ended
		return
	case len(t.chunks) != 1 || t.chunks[0].dir != t.Dir:
		return
	}
	dir, err := filepath.Abs(t.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	name := filepath.Base(dir)
	switch {
	case err == nil && strings.HasPrefix(name, ChunkPrefix):
	case t.Info.Part:
		t.Ending = UnknownParts
		return
	default:
		return
	}
	root := filepath.Dir(dir)
	list, err := os.ReadDir(root)
	if err != nil {
		return
	}
	others, later := 0, false
	for _, e := range list {
		if e.Name() == name || !strings.HasPrefix(e.Name(), ChunkPrefix) || !e.IsDir() {
			continue
		}
		beside := Trace{Info: t.Info, chunks: t.chunks}
		if c := (&chunk{dir: filepath.Join(root, e.Name())}); c.readInfo(&beside) != nil {
			continue // of another recording, or only begun
		}
		others++
		later = later || e.Name() > name
	}
	s, err := readSummary(root)
	switch {
	case err == nil && (others > 0 || s.Removed > 0 || name == ChunkPrefix+"000000"):
		t.Whole, t.Ending = s, Ended
	case later:
		t.Ending = Ended
	case others == 0:
		t.Ending = UnknownParts
	}
}
