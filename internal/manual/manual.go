// Package manual makes manual pages from the model of the command line, in the macros of man(7).
package manual

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Page is what a page has beside the command line.
type Page struct {
	Version  string
	Examples []Example
	Statuses []Status
	Files    []Status // paths and what they are
}

// Example is a command with what it is for.
type Example struct{ Purpose, Command string }

// Status is a row of a table: an exit status, or a file.
type Status struct{ Name, Meaning string }

// Write writes the page of a program in section 1.
func Write(w io.Writer, app *kong.Application, p Page) error {
	m := &page{w: w}
	name := app.Name
	m.linef(".TH %s 1 \"\" \"%s %s\" \"User Commands\"", strings.ToUpper(name), name, p.Version)
	m.section("NAME")
	summary, _, _ := strings.Cut(app.Help, ":")
	m.text(name + ` \- ` + escape(lowerFirst(summary)))
	m.section("SYNOPSIS")
	for _, n := range app.Children {
		if !n.Hidden {
			m.linef(".B %s %s\n%s\n.br", name, escape(n.Name), synopsis(n))
		}
	}
	m.section("DESCRIPTION")
	m.text(escape(app.Help))
	m.section("COMMANDS")
	for _, n := range app.Children {
		if !n.Hidden {
			m.command(name, n)
		}
	}
	m.table("EXIT STATUS", p.Statuses)
	m.table("FILES", p.Files)
	if len(p.Examples) > 0 {
		m.section("EXAMPLES")
		for _, e := range p.Examples {
			m.linef(".TP\n%s\n.B %s", escape(e.Purpose), escape(e.Command))
		}
	}
	return m.err
}

// page writes the lines of a page; the first error remains.
type page struct {
	w   io.Writer
	err error
}

func (m *page) linef(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format+"\n", args...)
	}
}

func (m *page) section(title string) { m.linef(".SH %s", title) }

// text writes a paragraph of escaped text.
func (m *page) text(s string) { m.linef("%s", s) }

func (m *page) table(title string, rows []Status) {
	if len(rows) == 0 {
		return
	}
	m.section(title)
	for _, r := range rows {
		m.linef(".TP\n.B %s\n%s", escape(r.Name), escape(r.Meaning))
	}
}

// command writes what a subcommand does, its arguments and its flags.
func (m *page) command(name string, n *kong.Node) {
	m.linef(".SS \"%s %s\"", name, escape(n.Name))
	m.text(escape(n.Help))
	for _, a := range n.Positional {
		m.linef(".TP\n.I %s\n%s", escape(strings.ToUpper(a.Name)), escape(a.Help))
	}
	for _, f := range n.Flags {
		if !f.Hidden && f.Name != "help" {
			m.linef(".TP\n%s\n%s", flag(f), escape(f.Help+preset(f)))
		}
	}
}

// synopsis returns the arguments of a command.
func synopsis(n *kong.Node) string {
	out := "[options]"
	for _, a := range n.Positional {
		s := `\fI` + escape(strings.ToUpper(a.Name)) + `\fR`
		if !a.Required {
			s = "[" + s + "]"
		}
		if a.IsSlice() {
			s += " ..."
		}
		out += " " + s
	}
	return out
}

// flag returns the forms of a flag.
func flag(f *kong.Flag) string {
	s := `\fB\-\-` + escape(f.Name) + `\fR`
	if f.Short != 0 {
		s = `\fB\-` + string(f.Short) + `\fR, ` + s
	}
	if !f.IsBool() {
		s += `=\fI` + escape(strings.ToUpper(f.FormatPlaceHolder())) + `\fR`
	}
	return s
}

// preset returns the default of a flag as a sentence.
func preset(f *kong.Flag) string {
	if !f.HasDefault || f.Default == "" || f.IsBool() {
		return ""
	}
	return fmt.Sprintf(". Default: %s", f.Default)
}

// escape makes text that roff shows as it is.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "\n\n", "\n.PP\n").Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") && l != ".PP" {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
