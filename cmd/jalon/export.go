package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jalon-trace/jalon/internal/export"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// exportCmd writes a recorded trace in another format.
type exportCmd struct {
	Dir    string `arg:"" help:"The directory that jalon record has made"`
	To     string `required:"" enum:"${exports}" help:"${exportsHelp}"`
	Output string `short:"o" required:"" placeholder:"FILE" help:"The file to write"`
	querying
	Source string `placeholder:"DIR" help:"With --to html: put lines of source text into the page, from files below this directory"`
	Until  string `placeholder:"TIME" help:"Up to this time"`
}

// Run writes the file.
func (c *exportCmd) Run() error {
	if c.Source != "" && c.To != "html" {
		return usageError("--source is for --to html")
	}
	t, r, _, err := c.open(c.Dir, "--until", c.Until)
	if err != nil {
		return err
	}
	defer t.Close()
	if inside(t.Dir, c.Output) {
		return usageError(c.Output + " is in the directory of the trace, whose files must not be replaced; name another file")
	}
	f, err := openfile.Create(c.Output)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = export.Named(c.To).Write(w, r, &export.Options{Sources: c.Source})
	if ferr := w.Flush(); err == nil {
		err = ferr
	}
	if err != nil {
		_ = openfile.Discard(f) // a part of it would look like a whole trace
		return fmt.Errorf("writing %s: %w", c.Output, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", c.Output, err)
	}
	notes(r)
	lossNote(r)
	fmt.Fprintf(stderr, "jalon: %s: %d events\n", c.Output, r.Chosen)
	return nil
}

// inside reports whether a file is, or would be, in a directory or below it.
func inside(dir, name string) bool {
	top, err := os.Stat(dir)
	if err != nil {
		return false
	}
	name, err = filepath.Abs(name)
	if err != nil {
		return false
	}
	for d := filepath.Dir(name); ; d = filepath.Dir(d) {
		if st, err := os.Stat(d); err == nil && os.SameFile(st, top) {
			return true
		}
		if d == filepath.Dir(d) {
			return false
		}
	}
}
