package check

import (
	"errors"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
)

const maxImports = 1000

// imports returns the script and those that it imports, each once, imported ones first.
func (c *checker) imports(s *script.Script) []*script.Script {
	seen := map[string]bool{}
	var all []*script.Script
	var visit func(s *script.Script)
	visit = func(s *script.Script) {
		for _, im := range s.Imports {
			for _, t := range c.imported(s, im, seen) {
				visit(t)
			}
		}
		all = append(all, s)
	}
	visit(s)
	return all
}

// imported parses the files of an import that are not known yet.
func (c *checker) imported(s *script.Script, im *script.Import, seen map[string]bool) []*script.Script {
	if c.opts.Import == nil {
		c.fail(im, "files cannot be imported here")
		return nil
	}
	files, err := c.opts.Import(s.File().Name, im.Path)
	if err != nil {
		c.fail(im, "cannot import %q: %s", im.Path, err)
		return nil
	}
	var out []*script.Script
	for _, f := range files {
		if seen[f.Name] {
			continue
		}
		if seen[f.Name] = true; len(seen) > maxImports {
			c.fail(im, "more than %d files are imported", maxImports)
			return out
		}
		switch {
		case strings.HasSuffix(f.Name, ".bpf.c"):
			c.failHint(im, "write the function with fn, in the script", "jalon has no compiler for %s", f.Name)
			continue
		case !strings.HasSuffix(f.Name, ".bt") && !strings.HasSuffix(f.Name, ".h"):
			c.fail(im, "cannot import %s: only files *.bt and *.h", f.Name)
			continue
		}
		t, err := script.Parse(f.Name, f.Text)
		var list lang.Diagnostics
		var one *lang.Diagnostic
		if errors.As(err, &list) {
			for _, d := range list {
				c.errs = c.errs.Add(d)
			}
		} else if errors.As(err, &one) {
			c.errs = c.errs.Add(one)
		}
		if t.Config != nil {
			c.fail(t.Config, "an imported file cannot have a config block")
		}
		out = append(out, t)
	}
	return out
}
