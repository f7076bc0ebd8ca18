// Package test holds what is tested across packages: import rules, the command
// line on real programs, GDB as an oracle.
package test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/jalon-trace/jalon/"

// allowed lists, for every package, the packages of jalon that it may import:
// data flows from the source text to the ring, and no package imports one to its right.
var allowed = map[string][]string{
	"internal/arch":       {},
	"internal/arch/amd64": {},
	"internal/arch/arm64": {},
	"internal/arch/host":  {"internal/arch/amd64", "internal/arch/arm64"},

	"internal/backend/regalloc": {"internal/ir"},

	"internal/fail":                  {},
	"internal/bounded":               {},
	"internal/openfile":              {},
	"internal/ctype":                 {},
	"internal/lang":                  {},
	"internal/ir":                    {},
	"internal/ring":                  {},
	"internal/patch":                 {},
	"internal/procdir":               {},
	"internal/process/sys":           {},
	"internal/process/threads":       {},
	"internal/process/memory":        {"internal/process/sys", "internal/procdir"},
	"internal/process":               {"internal/patch", "internal/procdir", "internal/process/memory", "internal/process/sys", "internal/process/threads", "internal/ring"},
	"internal/ir/eval":               {"internal/ir", "internal/ring"},
	"internal/ir/x86":                {},
	"internal/ir/irgen":              {"internal/ir", "internal/ir/eval", "internal/ir/x86", "internal/ring"},
	"internal/debuginfo":             {"internal/ctype"},
	"internal/debuginfo/elf":         {},
	"internal/debuginfo/dwarf/raw":   {},
	"internal/debuginfo/dwarf/index": {"internal/debuginfo"},
	"internal/debuginfo/dwarf/line":  {"internal/debuginfo/dwarf/raw"},
	"internal/debuginfo/dwarf/loc":   {"internal/debuginfo", "internal/debuginfo/dwarf/raw"},
	"internal/debuginfo/dwarf/frame": {"internal/debuginfo", "internal/debuginfo/dwarf/loc", "internal/debuginfo/dwarf/raw"},
	"internal/debuginfo/dwarf":       {"internal/ctype", "internal/debuginfo", "internal/debuginfo/dwarf/frame", "internal/debuginfo/dwarf/index", "internal/debuginfo/dwarf/line", "internal/debuginfo/dwarf/loc", "internal/debuginfo/dwarf/raw", "internal/debuginfo/elf"},
	"internal/debuginfo/usdt":        {"internal/ctype", "internal/debuginfo", "internal/debuginfo/elf"},
	"internal/debuginfo/tracesite":   {"internal/debuginfo/elf", "internal/patch"},
	"internal/debuginfo/tracefs":     {"internal/ctype", "internal/debuginfo", "internal/lang"},
	"internal/image":                 {"internal/procdir", "internal/debuginfo", "internal/debuginfo/dwarf", "internal/debuginfo/dwarf/frame", "internal/debuginfo/elf"},
	"internal/printk":                {"internal/ctype", "internal/debuginfo/tracefs", "internal/event"},
	"internal/debuginfo/kallsyms":    {"internal/debuginfo"},
	"internal/debuginfo/btf/raw":     {},
	"internal/debuginfo/btf":         {"internal/debuginfo/btf/raw", "internal/ctype", "internal/debuginfo", "internal/debuginfo/kallsyms"},
	"internal/event":                 {"internal/ctype", "internal/ring"},
	"internal/sema":                  {"internal/ctype", "internal/debuginfo", "internal/lang", "internal/ir", "internal/event", "internal/ring"},
	"internal/backend/amd64":         {"internal/backend/regalloc", "internal/ir", "internal/ring"},
	"internal/backend/ebpf":          {"internal/backend/regalloc", "internal/ir", "internal/ring"},
	"internal/gdb/agentexpr":         {"internal/ir", "internal/ring"},
	"internal/gdb/agentexpr/axgen":   {"internal/gdb/agentexpr", "internal/ir", "internal/ir/eval", "internal/ir/irgen", "internal/ir/x86", "internal/ring"},
	"internal/format":                {"internal/bounded", "internal/ctype", "internal/event", "internal/printk", "internal/debuginfo"},
	"internal/vmtest":                {},
	"internal/gdb/rsp":               {},
	"internal/gdb/experiment":        {"internal/gdb/agentexpr", "internal/gdb/rsp"},
	"internal/gdb/stub":              {"internal/gdb/agentexpr", "internal/gdb/experiment", "internal/gdb/rsp"},
	"internal/probe":                 {"internal/lang", "internal/debuginfo", "internal/debuginfo/dwarf"},
	"internal/tracepoint":            {"internal/lang", "internal/probe", "internal/sema"},
	"internal/bpf":                   {"internal/debuginfo/btf/raw", "internal/ring"},
	"internal/engine/kernel":         {"internal/engine", "internal/backend/ebpf", "internal/ctype", "internal/debuginfo", "internal/debuginfo/btf", "internal/debuginfo/dwarf", "internal/debuginfo/dwarf/frame", "internal/debuginfo/elf", "internal/debuginfo/kallsyms", "internal/debuginfo/tracefs", "internal/debuginfo/tracesite", "internal/debuginfo/usdt", "internal/event", "internal/format", "internal/ir", "internal/bpf", "internal/lang", "internal/patch", "internal/printk", "internal/probe", "internal/procdir", "internal/ring", "internal/sema", "internal/tracepoint", "internal/image"},
	"internal/gdb/kernel":            {"internal/engine", "internal/gdb/agentexpr", "internal/event", "internal/gdb/experiment", "internal/gdb/stub", "internal/ir", "internal/engine/kernel", "internal/printk", "internal/ring", "internal/gdb/rsp", "internal/sema"},
	"internal/drain":                 {"internal/event", "internal/ring"},
	"internal/engine":                {"internal/tracepoint", "internal/event", "internal/ir", "internal/probe", "internal/ring", "internal/sema"},
	"internal/engine/inproc":         {"internal/tracepoint", "internal/backend/amd64", "internal/debuginfo", "internal/debuginfo/dwarf", "internal/debuginfo/dwarf/frame", "internal/debuginfo/elf", "internal/engine", "internal/event", "internal/format", "internal/ir", "internal/patch", "internal/probe", "internal/procdir", "internal/process", "internal/ring", "internal/sema", "internal/image"},
	"internal/session":               {"internal/debuginfo/dwarf", "internal/drain", "internal/engine", "internal/engine/inproc", "internal/event", "internal/format", "internal/engine/kernel", "internal/lang", "internal/probe", "internal/procdir", "internal/process", "internal/ring", "internal/sema", "internal/tracepoint", "internal/image"},
	"internal/gdb/process":           {"internal/gdb/agentexpr", "internal/debuginfo", "internal/debuginfo/dwarf", "internal/debuginfo/elf", "internal/debuginfo/usdt", "internal/drain", "internal/engine", "internal/engine/inproc", "internal/event", "internal/gdb/experiment", "internal/gdb/stub", "internal/probe", "internal/process", "internal/procdir", "internal/ring", "internal/gdb/rsp", "internal/sema", "internal/ir", "internal/image"},
	"cmd/jalon":                      {"internal/bounded", "internal/engine", root, "internal/gdb/experiment", "internal/gdb/stub", "internal/gdb/process", "internal/gdb/rsp", "internal/gdb/agentexpr", "internal/backend/amd64", "internal/backend/ebpf", "internal/ir", "internal/ring", "internal/ctype", "internal/debuginfo", "internal/debuginfo/dwarf", "internal/event", "internal/format", "internal/gdb/kernel", "internal/lang", "internal/patch", "internal/probe", "internal/process", "internal/session", "internal/tracepoint", "internal/engine/kernel", "internal/drain", "internal/engine/inproc", "internal/sema"},
	root:                             {"internal/bounded", "internal/ctype", "internal/drain", "internal/event", "internal/format", "internal/bpf", "internal/lang", "internal/probe", "internal/process", "internal/session", "internal/tracepoint"},
}

// root is the public package at the root of the module.
const root = "."

// processors may be imported by those that know more of a processor than package host
// says of the machine's: what is made of x86-64 instructions or of GDB's descriptions.
var processors = map[string][]string{
	"internal/gdb/rsp":       {"internal/arch/amd64", "internal/arch/arm64"},
	"internal/sema":          {"internal/arch/amd64"},
	"internal/gdb/agentexpr": {"internal/arch/amd64"},

	"internal/gdb/agentexpr/axgen": {"internal/arch/amd64"},

	"internal/debuginfo/usdt": {"internal/arch/amd64"},
	"internal/backend/amd64":  {"internal/arch/amd64"},
	"internal/ir/x86":         {"internal/arch/amd64"},
	"internal/ir/irgen":       {"internal/arch/amd64"},
	"internal/patch":          {"internal/arch/amd64"},
	"internal/process/sys":    {"internal/arch/amd64"},
	"internal/process":        {"internal/patch", "internal/arch/amd64"},
}

// everywhere may be imported by all: the error of the environment, how files of others are opened safely, and what is
// known of the processor.
var everywhere = []string{"internal/openfile", "internal/fail", "internal/arch", "internal/arch/host"}

func TestImportRules(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		rel, _ := filepath.Rel("..", filepath.Dir(path))
		ok, listed := allowed[rel]
		if !listed {
			if strings.HasPrefix(rel, "internal/") || strings.HasPrefix(rel, "cmd/") {
				if !seen[rel] {
					t.Errorf("package %s has no import rule", rel)
				}
				seen[rel] = true
			}
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, im := range f.Imports {
			p, _ := strconv.Unquote(im.Path.Value)
			if p, own := strings.CutPrefix(p, module); own && !contains(everywhere, p) && !contains(ok, p) && !contains(processors[rel], p) {
				t.Errorf("%s imports %s: not among what %s may import", path, p, rel)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoTextAfterTheParser: what the user wrote is a tree; these packages have no use for
// regular expressions.
func TestNoTextAfterTheParser(t *testing.T) {
	for _, dir := range []string{"sema", "engine/kernel", "probe", "gdb/process", "format", "debuginfo", "gdb/agentexpr"} {
		files, err := filepath.Glob(filepath.Join("..", "internal", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, im := range f.Imports {
				if im.Path.Value == `"regexp"` {
					t.Errorf("%s imports regexp", path)
				}
			}
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
