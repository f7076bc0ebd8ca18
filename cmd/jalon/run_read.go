package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/script/check"
)

// parse reads and parses the script and returns its positional parameters.
func (c *runCmd) parse() (*script.Script, []string, error) {
	if c.Expr != "" {
		s, err := script.Parse("-e", c.Expr)
		return s, c.Args, err
	}
	if len(c.Args) == 0 {
		return nil, nil, usageError("name a script to run, or write it with -e")
	}
	text, err := readScript(c.Args[0])
	if err != nil {
		return nil, nil, err
	}
	s, err := script.Parse(c.Args[0], string(text))
	return s, c.Args[1:], err
}

// readScript reads a file, or standard input.
func readScript(name string) ([]byte, error) {
	const limit = 17 << 20
	if name == "-" {
		return io.ReadAll(io.LimitReader(os.Stdin, limit))
	}
	return openfile.Read(name, limit)
}

// importFiles reads the files of an import, relative to the file that imports it.
func importFiles(from, path string) ([]check.Imported, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(from), path)
	}
	names := []string{path}
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	if st.IsDir() {
		dir, names = path, nil
		for _, pattern := range []string{"*.bt", "*.h", "*.bpf.c"} {
			found, err := filepath.Glob(filepath.Join(path, pattern))
			if err != nil {
				return nil, err
			}
			names = append(names, found...)
		}
		slices.Sort(names)
	}
	if d, err := os.Stat(dir); err != nil {
		return nil, err
	} else if d.Mode()&0o002 != 0 {
		return nil, fmt.Errorf("everybody can write to the directory %s", dir)
	}
	var out []check.Imported
	for _, name := range names {
		text, err := readScript(name)
		if err != nil {
			return nil, err
		}
		out = append(out, check.Imported{Name: name, Text: string(text)})
	}
	return out, nil
}
