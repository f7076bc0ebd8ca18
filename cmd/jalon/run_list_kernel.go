package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf"
	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/format"
)

// kernelLists has the kernel's tables, read when they are first needed.
type kernelLists struct{}

// The kernel's tables; each is read once.
var (
	kernelTypes   = sync.OnceValues(btf.Open)
	kernelSymbols = sync.OnceValues(kallsyms.Open)
	kernelEvents  = sync.OnceValues(tracefs.Open)
)

// kernelFunctions are those that kprobes can be at.
func (l *probeList) kernelFunctions(kind string, parts []string) ([]listed, error) {
	syms, err := kernelSymbols()
	if err != nil {
		return nil, err
	}
	module, pattern := "", parts[len(parts)-1]
	if len(parts) > 1 {
		module = parts[0]
	}
	var out []listed
	for i := range syms.Len() {
		s := syms.Symbol(i)
		if !traceable(&s) || !globMatch(pattern, s.Name) {
			continue
		}
		name := s.Name
		if module != "" {
			if !globMatch(module, moduleName(s.Module)) {
				continue
			}
			name = moduleName(s.Module) + ":" + name
		}
		out = append(out, listed{name, func() []string { return functionArgs(s.Name, s.Module, kind == "kretprobe") }})
	}
	return out, nil
}

// traceable reports whether a symbol is a function of its own: not padding, not a part of another that the compiler
// has moved, not a mark of the linker.
func traceable(s *kallsyms.Symbol) bool {
	if !s.IsText() || strings.HasPrefix(s.Name, "__pfx_") || strings.HasPrefix(s.Name, "__cfi_") || s.Name == "" {
		return false
	}
	for _, mark := range []string{".part.", ".cold", "$", ".llvm."} {
		if strings.Contains(s.Name, mark) {
			return false
		}
	}
	return s.Module != "bpf" && !strings.HasPrefix(s.Module, "__builtin__")
}

func moduleName(m string) string {
	if m == "" {
		return "vmlinux"
	}
	return m
}

// functionArgs are the parameters of a function as C declares them; with its result.
func functionArgs(name, module string, result bool) []string {
	types, err := kernelTypes()
	if err != nil {
		return nil
	}
	f, err := types.Func(name, module)
	if err != nil {
		return nil
	}
	var out []string
	if !result {
		out = paramList(f.Params)
	}
	if result && f.Result != nil && f.Result.Kind != ctype.Void {
		out = append(out, format.Declaration(f.Result, "retval"))
	}
	return out
}

func paramList(params []btf.Param) []string {
	var out []string
	for _, p := range params {
		out = append(out, format.Declaration(p.Type, p.Name))
	}
	return out
}

// trampolines are the functions at which fentry and fexit are possible.
func (l *probeList) trampolines(kind string, parts []string) ([]listed, error) {
	types, err := kernelTypes()
	if err != nil {
		return nil, err
	}
	syms, err := kernelSymbols()
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		parts = []string{"*", parts[0]}
	}
	if parts[0] == "bpf" {
		return nil, nil
	}
	described, err := types.Functions("*")
	if err != nil {
		return nil, err
	}
	var out []listed
	for i := range syms.Len() {
		s := syms.Symbol(i)
		if !traceable(&s) || !globMatch(parts[0], moduleName(s.Module)) || !globMatch(parts[1], s.Name) {
			continue
		}
		if _, known := slices.BinarySearch(described, s.Name); s.Module == "" && !known {
			continue
		}
		args := func() []string {
			all := functionArgs(s.Name, s.Module, false)
			if kind == "fexit" {
				all = append(all, functionArgs(s.Name, s.Module, true)...)
			}
			return all
		}
		out = append(out, listed{moduleName(s.Module) + ":" + s.Name, args})
	}
	return out, nil
}

// tracepoints are the events of tracefs.
func (l *probeList) tracepoints(_ string, parts []string) ([]listed, error) {
	fs, err := kernelEvents()
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		parts = []string{"*", parts[0]}
	}
	systems, err := fs.Systems()
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, sys := range systems {
		if !globMatch(parts[0], sys) {
			continue
		}
		events, err := fs.Events(sys)
		if err != nil {
			continue // a module was removed meanwhile
		}
		for _, e := range events {
			if globMatch(parts[1], e) {
				out = append(out, listed{sys + ":" + e, func() []string { return eventFields(fs, sys, e) }})
			}
		}
	}
	return out, nil
}

// eventFields are the fields of an event's record, the common ones too.
func eventFields(fs *tracefs.FS, system, name string) []string {
	e, err := fs.Event(system, name)
	if err != nil {
		return nil
	}
	var out []string
	for i := range e.Fields {
		out = append(out, e.Fields[i].Decl)
	}
	return out
}

// rawTracepoints are the tracepoints with raw arguments.
func (l *probeList) rawTracepoints(_ string, parts []string) ([]listed, error) {
	types, err := kernelTypes()
	if err != nil {
		return nil, err
	}
	if len(parts) == 1 {
		parts = []string{"*", parts[0]}
	}
	names, err := types.Tracepoints("*")
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, n := range names {
		if !globMatch(parts[1], n) {
			continue
		}
		tp, err := types.Tracepoint(n)
		if err != nil || !globMatch(parts[0], moduleName(tp.Module)) {
			continue
		}
		out = append(out, listed{moduleName(tp.Module) + ":" + n, func() []string { return paramList(tp.Params) }})
	}
	return out, nil
}

// iterators are the kinds of objects that eBPF programs can be run for.
func (l *probeList) iterators(_ string, parts []string) ([]listed, error) {
	types, err := kernelTypes()
	if err != nil {
		return nil, err
	}
	const prefix = "bpf_iter_"
	names, err := types.Functions(prefix + "*")
	if err != nil {
		return nil, err
	}
	var out []listed
	for _, n := range names {
		kind := strings.TrimPrefix(n, prefix)
		// The kernel has a struct of the context and a function without body for each kind, and other functions of such names.
		if types.Named("struct bpf_iter__"+kind) == nil || !globMatch(parts[0], kind) {
			continue
		}
		out = append(out, listed{kind, func() []string {
			args := functionArgs(n, "", false)
			return args[min(1, len(args)):] // without bpf_iter_meta
		}})
	}
	return out, nil
}

// kernelTypes lists types, with their members if verbose.
func (kernelLists) kernelTypes(w io.Writer, tag, pattern string, verbose bool) error {
	types, err := kernelTypes()
	if err != nil {
		return err
	}
	names := []string{pattern}
	if strings.Contains(pattern, "*") || pattern == "" {
		if names, err = types.TypeNames(tag); err != nil {
			return err
		}
	}
	for _, n := range names {
		if pattern != "" && !globMatch(pattern, n) {
			continue
		}
		if types.Named(tag+" "+n) == nil {
			continue
		}
		if !verbose {
			fmt.Fprintf(w, "%s %s\n", tag, n)
			continue
		}
		fmt.Fprintf(w, "vmlinux: %s\n", format.Definition(types.Named(tag+" "+n)))
	}
	return nil
}
