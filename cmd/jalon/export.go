package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/jalon-trace/jalon/internal/export"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// exportCmd writes a recorded trace in another format.
type exportCmd struct {
	Dir    string `arg:"" help:"The directory that jalon record has made"`
	To     string `required:"" enum:"${exports}" help:"${exportsHelp}"`
	Output string `short:"o" required:"" placeholder:"FILE" help:"The file to write"`
	querying
	Until string `placeholder:"TIME" help:"Up to this time"`
}

// Run writes the file.
func (c *exportCmd) Run() error {
	t, r, _, err := c.open(c.Dir, "--until", c.Until)
	if err != nil {
		return err
	}
	defer t.Close()
	f, err := openfile.Create(c.Output)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	err = export.Named(c.To).Write(w, r)
	if ferr := w.Flush(); err == nil {
		err = ferr
	}
	if ferr := f.Close(); err == nil {
		err = ferr
	}
	if err != nil {
		_ = os.Remove(c.Output) // a part of it would look like a whole trace
		return fmt.Errorf("writing %s: %w", c.Output, err)
	}
	notes(r)
	fmt.Fprintf(stderr, "jalon: %s: %d events\n", c.Output, r.Chosen)
	return nil
}
