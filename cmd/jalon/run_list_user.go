package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/debuginfo/usdt"
	"github.com/jalon-trace/jalon/internal/engine/inproc"
	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// userLists reads programs and libraries.
type userLists struct{ opened map[string]*inproc.Inspected }

// binary is a program or library: its name in the list, and the file.
type binary struct{ name, file string }

// binaries are the files that a target names: a path, a name in $PATH, a pattern; * with -p is what the process
// maps.
func (l *probeList) binaries(target string) []binary {
	if l.pid != 0 && strings.Contains(target, "*") {
		return l.mapped(target)
	}
	if strings.Contains(target, "*") {
		var out []binary
		for _, f := range glob(target) {
			if isELF(f) {
				out = append(out, binary{f, filepath.Clean(f)})
			}
		}
		return out
	}
	if !strings.Contains(target, "/") {
		if found, err := exec.LookPath(target); err == nil {
			target = found
		}
	}
	return []binary{{target, target}}
}

// glob returns the files that match a pattern, written as the pattern is: "./" at its start is kept. A bad pattern matches nothing.
func glob(pattern string) []string {
	files, _ := filepath.Glob(pattern)
	if strings.HasPrefix(pattern, "./") {
		for i := range files {
			files[i] = "./" + files[i]
		}
	}
	return files
}

// isELF reports whether a file begins as programs and libraries do.
func isELF(name string) bool {
	if !isFile(name) {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "\x7fELF"
}

// mapped are the files that the process maps and whose paths match.
func (l *probeList) mapped(pattern string) []binary {
	maps, err := procdir.Maps(l.pid)
	if err != nil {
		l.warn(err.Error())
		return nil
	}
	var out []binary
	seen := map[string]bool{}
	for _, m := range maps {
		if !strings.HasPrefix(m.Path, "/") || seen[m.Path] || !globMatch(pattern, m.Path) {
			continue
		}
		seen[m.Path] = true
		out = append(out, binary{m.Path, fmt.Sprintf("/proc/%d/root%s", l.pid, m.Path)})
	}
	return out
}

// open opens a file with its debug information; nil if it is none that has functions.
func (l *probeList) open(b binary) *inproc.Inspected {
	if in, ok := l.opened[b.file]; ok {
		return in
	}
	in, err := inproc.InspectFile(b.file, dwarf.Options{DebugDirs: l.dirs, Warn: func(string) {}})
	if err != nil {
		in = nil
		if len(l.opened) == 0 {
			l.warn(err.Error())
		}
	}
	if l.opened == nil {
		l.opened = map[string]*inproc.Inspected{}
	}
	l.opened[b.file] = in
	return in
}

// functions are those of a program or library.
func (l *probeList) functions(kind string, parts []string) ([]listed, error) {
	target, pattern, cpp := "*", parts[len(parts)-1], false
	if len(parts) > 1 {
		target = parts[0]
	}
	if len(parts) > 2 && parts[1] == "cpp" {
		cpp = true
		pattern = strings.Trim(strings.Join(parts[2:], ":"), `"`)
	}
	if target == "*" && l.pid == 0 {
		return nil, usageError(kind + " needs a file: " + kind + ":FILE:FUNCTION; only with -p all files of the process are listed")
	}
	var out []listed
	for _, b := range l.binaries(target) {
		in := l.open(b)
		if in == nil {
			continue
		}
		for _, f := range in.Info.Functions("*") {
			if x, ok := l.function(in, b, f, pattern, cpp); ok {
				out = append(out, x)
			}
		}
	}
	return out, nil
}

// function describes a function that matches. Demangled names have their parameters, which a pattern may leave out.
func (l *probeList) function(in *inproc.Inspected, b binary, f *dwarf.Function, pattern string, cpp bool) (listed, bool) {
	symbol := f.Linkage
	if symbol == "" {
		symbol = f.Name
	}
	if len(f.Ranges) == 0 || symbol == "" {
		return listed{}, false // only inlined
	}
	x := listed{name: b.name + ":" + symbol}
	if cpp {
		if !globMatch(pattern, f.Name) && !globMatch(pattern, beforeParams(f.Name)) {
			return x, false
		}
		x.name = b.name + `:cpp:"` + f.Name + `"`
	} else if !globMatch(pattern, symbol) {
		return x, false
	}
	x.args = func() []string {
		scope, err := in.Info.ScopeAt(f.Lo)
		if err != nil {
			return nil
		}
		var out []string
		for _, v := range scope.Args() {
			out = append(out, userDeclaration(v.Type, v.Name))
		}
		return out
	}
	return x, true
}

// userDeclaration is a declaration as bpftrace writes it, with the stars at the type.
func userDeclaration(t *ctype.Type, name string) string {
	base := format.TypeName(t, false)
	if strings.ContainsAny(base, "([") {
		return format.Declaration(t, name)
	}
	return strings.ReplaceAll(base, " *", "*") + " " + name
}

// beforeParams is a demangled name without its parameters.
func beforeParams(name string) string {
	if i := strings.LastIndexByte(name, '('); i > 0 {
		return name[:i]
	}
	return name
}

// statics are the static probes of a program or library.
func (l *probeList) statics(_ string, parts []string) ([]listed, error) {
	target, provider, name := "*", "*", parts[len(parts)-1]
	switch len(parts) {
	case 2:
		target = parts[0]
	case 3:
		target, provider = parts[0], parts[1]
	}
	if target == "" {
		target = "*"
	}
	if target == "*" && l.pid == 0 {
		return nil, usageError("usdt needs a file: usdt:FILE:PROBE; only with -p all files of the process are listed")
	}
	var out []listed
	for _, b := range l.binaries(target) {
		f, err := elf.Open(b.file)
		if err != nil {
			if !os.IsNotExist(err) && l.pid != 0 {
				continue // the process maps files that are no programs
			}
			l.warn(err.Error())
			continue
		}
		probes, err := usdt.Read(f)
		if err != nil {
			l.warn(err.Error())
		}
		for i := range probes {
			p := &probes[i]
			if globMatch(provider, p.Provider) && globMatch(name, p.Name) {
				out = append(out, listed{name: b.name + ":" + p.Provider + ":" + p.Name})
			}
		}
		f.Close()
	}
	return out, nil
}
