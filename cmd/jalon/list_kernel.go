package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/probe"
)

// kernelPlaces parses the arguments as places of the kernel engine. It returns nil if the first is not one.
func kernelPlaces(args []string) []*probe.Place {
	var out []*probe.Place
	for _, a := range args {
		p, err := probe.Parse(a)
		if err != nil || !p.InKernel() && !strings.HasPrefix(a, "uprobe:") {
			return nil
		}
		out = append(out, p)
	}
	return out
}

// kernel describes places of the kernel engine.
func (c *listCmd) kernel(w io.Writer, places []*probe.Place) error {
	e := kernel.Inspect(kernel.Options{
		Vmlinux: c.Vmlinux, DebugDirs: c.Debug,
		Warn: func(m string) { fmt.Fprintln(stderr, "jalon:", m) },
	})
	defer e.Close()
	for _, p := range places {
		list, err := e.Describe(p)
		if err != nil {
			return err
		}
		for i := range list {
			c.describe(w, &list[i])
		}
	}
	return nil
}

func (c *listCmd) describe(w io.Writer, d *kernel.Description) {
	fmt.Fprint(w, d.Place)
	if d.File != "" {
		fmt.Fprintf(w, "  %s:%d", d.File, d.Line)
	}
	if !c.Verbose {
		if len(d.Args) > 0 {
			fmt.Fprintf(w, "(%s)", strings.Join(declarations(d.Args), ", "))
		}
		fmt.Fprintln(w)
		note(w, d)
		return
	}
	fmt.Fprintln(w)
	note(w, d)
	if len(d.Args) > 0 {
		fmt.Fprintln(w, "  arguments:")
		for _, s := range declarations(d.Args) {
			fmt.Fprintf(w, "    %s\n", s)
		}
	}
	if d.Event == nil {
		return
	}
	fmt.Fprintln(w, "  fields of its record (args->NAME):")
	for i := range d.Event.Fields {
		f := &d.Event.Fields[i]
		if !f.Common() {
			fmt.Fprintf(w, "    %-40s offset %d, %d bytes\n", f.Decl, f.Offset, f.Size)
		}
	}
	fmt.Fprintf(w, "  prints: %s\n", strings.ReplaceAll(d.Event.PrintFmt, "\n", " "))
}

func note(w io.Writer, d *kernel.Description) {
	if d.BehindCheck > 0 {
		fmt.Fprintf(w, "    at +%d, behind the check of Go's stack\n", d.BehindCheck)
	}
	if d.Reached != "" {
		fmt.Fprintf(w, "    reached %s\n", d.Reached)
	}
	if d.Note != "" {
		fmt.Fprintf(w, "    warning: %s\n", d.Note)
	}
}

// declarations formats variables with their types as in C; those without a value are in brackets.
func declarations(vars []*debuginfo.Variable) []string {
	var out []string
	for _, v := range vars {
		s := format.TypeName(v.Type, false)
		if !strings.HasSuffix(s, "*") {
			s += " "
		}
		s += v.Name
		if v.Loc.Unavailable != "" {
			s = "[" + s + "]"
		}
		out = append(out, s)
	}
	return out
}
