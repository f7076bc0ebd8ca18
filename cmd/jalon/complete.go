package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/jalon-trace/jalon/internal/completion"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/engine/inproc"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/sema"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish"`
}

// Run prints what a shell executes to complete jalon's command lines.
func (c completionCmd) Run() error {
	text, err := completion.Script(c.Shell)
	if err != nil {
		return err
	}
	fmt.Fprint(stdout, text)
	return nil
}

type completeCmd struct {
	Shell string `arg:""`
	Left  string `arg:""`
	Right string `arg:"" optional:""`
}

// Run prints what the word at the end of Left can become.
func (c completeCmd) Run(app *kong.Kong) error {
	list := completion.Complete(app.Model, c.Left, c.Right, candidates{})
	fmt.Fprint(stdout, completion.Lines(c.Shell, c.Left, list))
	return nil
}

// candidates finds places and names on this system. Errors give no candidates: a shell shows no messages.
type candidates struct{}

// mostCandidates bounds the number of candidates that a shell is given.
const mostCandidates = 10_000

// Places implements completion.Source.
func (s candidates) Places(prefix string, t completion.Target) []completion.Candidate {
	word, rest, ok := strings.Cut(prefix, ":")
	if ok {
		if kind := kindNamed(word); kind != "" {
			return s.ofKind(kind, word, rest, t)
		}
		return nil
	}
	out := []completion.Candidate{{Text: "uprobe:", Help: "a function of a file"}}
	for _, k := range probe.Kinds() {
		if len(k.Words) > 0 {
			out = append(out, completion.Candidate{Text: k.Words[0] + ":", Help: strings.ReplaceAll(k.Where, "`", "")})
		}
	}
	return append(out, s.functions(prefix, t)...)
}

// kindNamed returns the full word of a kind of places, or "".
func kindNamed(word string) string {
	if word == "uprobe" || word == "u" {
		return "uprobe"
	}
	if k := probe.KindNamed(word); k != nil {
		return k.Words[0]
	}
	return ""
}

// ofKind lists the places of a kind, as jalon run -l does. Of names in two parts the first is completed first.
func (s candidates) ofKind(kind, word, rest string, t completion.Target) []completion.Candidate {
	find := finders[kind]
	if find == nil {
		return nil
	}
	parts := strings.Split(rest, ":")
	if (kind == "uprobe" || kind == "uretprobe" || kind == "usdt") && len(parts) == 1 {
		return files(word+":", rest)
	}
	parts[len(parts)-1] += "*"
	pid, _ := strconv.Atoi(t.Pid) // 0 without one
	if kind == "tracepoint" && len(parts) == 1 {
		parts = append(parts, "*")
	}
	l := &probeList{pid: pid, warn: func(string) {}}
	found, err := find(l, kind, parts)
	if err != nil {
		return nil
	}
	var out []completion.Candidate
	for _, x := range found[:min(len(found), mostCandidates)] {
		name := x.name
		if kind == "tracepoint" && !strings.Contains(rest, ":") {
			name, _, _ = strings.Cut(name, ":")
			name += ":"
		}
		out = append(out, completion.Candidate{Text: word + ":" + name})
	}
	return out
}

// files completes the file of uprobe:FILE:FUNCTION.
func files(before, prefix string) []completion.Candidate {
	var out []completion.Candidate
	for _, f := range glob(prefix + "*") {
		st, err := os.Stat(f)
		switch {
		case err != nil:
		case st.IsDir():
			out = append(out, completion.Candidate{Text: before + f + "/"})
		case isELF(f):
			out = append(out, completion.Candidate{Text: before + f + ":"})
		}
	}
	return out
}

// functions lists the functions of the traced program.
func (s candidates) functions(prefix string, t completion.Target) []completion.Candidate {
	in := s.program(t)
	if in == nil {
		return nil
	}
	defer in.Info.Close()
	var out []completion.Candidate
	for _, f := range in.Info.Functions("*") {
		if !strings.HasPrefix(f.Name, prefix) {
			continue
		}
		if out = append(out, completion.Candidate{Text: f.Name, Help: declared(f)}); len(out) == mostCandidates {
			break
		}
	}
	return out
}

// program reads the file of the place, or of the traced program; nil if neither can be read.
func (s candidates) program(t completion.Target) *inproc.Inspected {
	path := t.Program
	if p, err := probe.Parse(t.Place); err == nil && p.Path != "" {
		path, t.Pid = p.Path, ""
	}
	if _, err := strconv.Atoi(t.Pid); err == nil {
		path = "/proc/" + t.Pid + "/exe"
	}
	if path == "" {
		return nil
	}
	in, err := inproc.InspectFile(path, dwarf.Options{Warn: func(string) {}})
	if err != nil {
		return nil
	}
	return in
}

// Names implements completion.Source: the words of jalon, and the variables and fields at the place.
func (s candidates) Names(prefix string, t completion.Target) []completion.Candidate {
	var out []completion.Candidate
	for _, w := range strings.Fields(sema.Help()) {
		name, _, function := strings.Cut(w, "(")
		switch {
		case function:
			out = append(out, completion.Candidate{Text: name + "("})
		case strings.HasPrefix(w, "$"):
			out = append(out, completion.Candidate{Text: w})
		}
	}
	p, err := probe.Parse(t.Place)
	if err != nil || p.Kind.Sites == nil && !p.InKernel() {
		return out
	}
	if p.InKernel() {
		return append(out, kernelNames(p)...)
	}
	in := s.program(t)
	if in == nil {
		return out
	}
	defer in.Info.Close()
	sites, err := probe.Resolve(p, in.Info, func() error { return nil })
	if err != nil || len(sites) == 0 {
		return out
	}
	for _, v := range namesAt(in, sites[0].Addr) {
		out = append(out, completion.Candidate{Text: v})
	}
	return out
}

// namesAt returns the names of the variables in scope that have a value at an address.
func namesAt(in *inproc.Inspected, vaddr uint64) []string {
	scope, err := in.Info.ScopeAt(vaddr)
	if err != nil {
		return nil
	}
	var out []string
	for _, v := range slices.Concat(scope.Args(), scope.Locals()) {
		if v.Loc.Unavailable == "" {
			out = append(out, v.Name)
		}
	}
	return out
}

// kernelNames returns the arguments at a place of the kernel and the fields of its record.
func kernelNames(p *probe.Place) []completion.Candidate {
	host := kernel.Inspect(kernel.Options{Warn: func(string) {}})
	defer host.Close()
	list, err := host.Describe(p)
	if err != nil || len(list) == 0 {
		return nil
	}
	var out []completion.Candidate
	for _, v := range list[0].Args {
		out = append(out, completion.Candidate{Text: v.Name})
	}
	if e := list[0].Event; e != nil {
		for i := range e.Fields {
			if f := &e.Fields[i]; !f.Common() {
				out = append(out, completion.Candidate{Text: "args->" + f.Name, Help: f.Decl})
			}
		}
	}
	return out
}

// Processes implements completion.Source.
func (candidates) Processes() []completion.Candidate {
	list, _ := filepath.Glob("/proc/[0-9]*/comm")
	var out []completion.Candidate
	for _, path := range list {
		name, err := os.ReadFile(path)
		if err == nil {
			out = append(out, completion.Candidate{Text: filepath.Base(filepath.Dir(path)), Help: strings.TrimSpace(string(name))})
		}
	}
	return out
}

// Recordings implements completion.Source.
func (candidates) Recordings() []completion.Candidate {
	list, _ := recordings()
	var out []completion.Candidate
	for _, r := range list {
		if r.Flight {
			out = append(out, completion.Candidate{Text: filepath.Base(r.Dir), Help: fmt.Sprintf("process %d %s", r.Pid, r.Program)})
		}
	}
	return out
}
