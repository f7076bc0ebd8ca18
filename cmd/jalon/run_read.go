package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/interp"
)

// parse reads and parses the script and returns its positional parameters.
func (c *runCmd) parse() (*script.Script, []string, error) {
	if c.Expr != "" {
		s, err := script.Parse(interp.CommandLine, c.Expr)
		return s, c.Args, err
	}
	if len(c.Args) == 0 {
		return nil, nil, usageError("name a script to run, or write it with -e: jalon run -e 'BEGIN { printf(\"%d\\n\", pid); }'")
	}
	text, err := readScript(c.Args[0])
	if err != nil {
		return nil, nil, err
	}
	s, err := script.Parse(c.Args[0], string(text))
	return s, c.Args[1:], err
}

// maxScript bounds the size of a script.
const maxScript = 17 << 20

// readScript reads what the user names on the command line: a file, standard input (-), a pipe (`<(...)`) or a device
// (/dev/stdin).
func readScript(name string) ([]byte, error) {
	if name == "-" {
		return readStream(os.Stdin)
	}
	st, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) && strings.Contains(name, "{") {
		return nil, errors.New("there is no such file; a script on the command line follows -e: jalon run -e " + quoted(name))
	}
	if err != nil || st.Mode()&(os.ModeNamedPipe|os.ModeCharDevice) == 0 {
		return openfile.Read(name, maxScript)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readStream(f)
}

func readStream(f *os.File) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err == nil && len(text) > maxScript {
		err = fmt.Errorf("read %s: more than the limit of %d bytes", f.Name(), maxScript)
	}
	return text, err
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
		text, err := openfile.Read(name, maxScript)
		if err != nil {
			return nil, err
		}
		out = append(out, check.Imported{Name: name, Text: string(text)})
	}
	return out, nil
}
