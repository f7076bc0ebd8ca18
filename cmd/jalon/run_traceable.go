package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
)

// traceable refuses kprobes on functions that the file of --traceable-functions does not have. --unsafe permits them.
func (c *runCmd) traceable(p *check.Program) error {
	if c.Traceable == "" {
		return nil
	}
	b, err := os.ReadFile(c.Traceable)
	if err != nil {
		return err
	}
	may := map[string]bool{}
	for line := range strings.Lines(string(b)) { // NAME or NAME [MODULE]
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		may[name] = true
	}
	var bad lang.Diagnostics
	for _, pr := range p.Probes {
		for _, pl := range pr.Places {
			if d := notTraceable(pl, may); d == nil {
				continue
			} else if c.Unsafe {
				fmt.Fprintln(stderr, warning(fmt.Sprintf("%s is not in %s", pl.Name, c.Traceable)))
			} else {
				bad = bad.Add(d)
			}
		}
	}
	return bad.Err()
}

// notTraceable is the error for a place whose function is not in a list; nil if it is, or is no single function.
func notTraceable(pl *script.Place, may map[string]bool) *lang.Diagnostic {
	kind := pl.Provider.Name
	if kind != "kprobe" && kind != "kretprobe" || pl.HasAddr || strings.Contains(pl.Name, "*") || may[pl.Name] {
		return nil
	}
	text := pl.Point.Text
	return lang.At("place", text, lang.Span{Hi: len(text)}, fmt.Sprintf("no function %q", pl.Name), "the list of --traceable-functions does not have it")
}
