// Package test has tests across packages: import rules, the command line on real programs, comparisons with
// GDB.
package test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/jalon-trace/jalon/"

// packages are the packages of jalon from left to right: data flows from the source text to the events, and
// no package imports one to its right. Each row lists the packages that it may import. Paths are relative
// to internal/ unless they begin elsewhere. docs/architecture.md has the picture.
var packages = []struct{ path, imports string }{
	// The base of everything: errors, files, the processor.
	{"fail", ""},
	{"lazyregexp", ""},
	{"openfile", ""},
	{"bounded", ""},
	{"arch", ""},
	{"arch/amd64", ""},
	{"arch/arm64", ""},
	{"arch/host", "arch/amd64 arch/arm64"},

	// The text that the user writes.
	{"lang", ""},
	{"lang/script", "lang"},

	// The meaning of names and types.
	{"ctype", ""},
	{"debuginfo", "ctype"},
	{"debuginfo/convention", "arch/amd64 ctype debuginfo"},
	{"debuginfo/pclntab", ""},
	{"debuginfo/elf", "debuginfo/pclntab"},
	{"debuginfo/dwarf/raw", ""},
	{"debuginfo/dwarf/index", "debuginfo"},
	{"debuginfo/dwarf/line", "debuginfo/dwarf/raw"},
	{"debuginfo/dwarf/loc", "debuginfo debuginfo/dwarf/raw"},
	{"debuginfo/dwarf/frame", "debuginfo debuginfo/dwarf/loc debuginfo/dwarf/raw"},
	{"unwind", "debuginfo/dwarf/frame"},
	{"debuginfo/dwarf", "arch/amd64 arch/arm64 ctype debuginfo debuginfo/convention debuginfo/dwarf/frame debuginfo/dwarf/index debuginfo/dwarf/line debuginfo/dwarf/loc debuginfo/dwarf/raw debuginfo/elf debuginfo/pclntab unwind"},
	{"debuginfo/usdt", "arch/amd64 arch/arm64 ctype debuginfo debuginfo/elf"},
	{"debuginfo/debuginfod", ""},
	{"debuginfo/tracefs", "ctype debuginfo lang"},
	{"debuginfo/kallsyms", "debuginfo"},
	{"debuginfo/btf/raw", ""},
	{"debuginfo/btf", "ctype debuginfo debuginfo/btf/raw debuginfo/kallsyms"},
	{"probe", "debuginfo debuginfo/dwarf lang"},

	// The types and words of scripts.
	{"script/types", "ctype"},
	{"script/words", "lang/script script/types"},
	{"script/printf", "script/types"},
	{"script/show", "script/printf"},
	{"script/check", "ctype lang lang/script script/printf script/types script/words"},
	{"script/plan", "ctype lang lang/script script/check script/types script/words"},
	{"script/syscalls", ""},
	{"callargs", ""},
	{"script/interp", "ctype lang lang/script script/check script/plan script/printf script/show script/syscalls script/types script/words"},
	{"script/source", "callargs ctype debuginfo debuginfo/btf debuginfo/dwarf debuginfo/tracefs lang/script script/syscalls"},

	// An address space.
	{"procdir", ""},
	{"image", "debuginfo debuginfo/dwarf debuginfo/dwarf/frame debuginfo/elf debuginfo/kallsyms debuginfo/usdt procdir unwind"},

	// The shared memory, and the contents of its records.
	{"ring", ""},
	{"event", "ctype procdir ring"},

	// Programs.
	{"ir/x86", "arch/amd64"},
	{"ir", ""},
	{"maps", ""},
	{"ir/eval", "ir"},
	{"ir/irgen", "arch/amd64 ir ir/eval ir/x86"},
	{"sema", "arch/amd64 ctype debuginfo event ir lang maps ring"},
	{"tracepoint", "lang probe sema"},
	{"gdb/agentexpr", "arch/amd64 ir ring"},
	{"gdb/agentexpr/axgen", "arch/amd64 gdb/agentexpr ir ir/eval ir/irgen ir/x86 ring"},

	// Machine code.
	{"backend/regalloc", "ir"},
	{"backend/amd64", "arch/amd64 backend/regalloc ir maps ring unwind"},
	{"backend/ebpf", "backend/regalloc ir maps ring unwind"},
	{"patch", "arch/amd64 debuginfo/pclntab"},
	{"debuginfo/tracesite", "debuginfo/elf patch"},

	// The kernel's text of its records.
	{"printk", "ctype debuginfo/tracefs event"},

	// The machine: a traced process, the kernel.
	{"process/sys", "arch/amd64 procdir"},
	{"process/memory", "procdir process/sys"},
	{"process/threads", ""},
	{"process/runcontrol", "process/sys process/threads"},
	{"process/inject", "process/memory process/sys process/threads"},
	{"process", "arch/amd64 image patch procdir process/inject process/memory process/runcontrol process/sys process/threads ring"},
	{"bpf", "debuginfo/btf/raw procdir ring"},
	{"vmtest", ""},

	// The engines.
	{"engine", "event ir lang maps probe ring sema tracepoint"},
	{"engine/results", "arch/amd64 ctype debuginfo debuginfo/convention debuginfo/dwarf patch"},
	{"engine/inproc", "unwind arch/amd64 backend/amd64 ctype debuginfo debuginfo/dwarf engine engine/results event image ir maps patch probe procdir process ring sema tracepoint"},
	{"engine/kernel", "arch/amd64 backend/ebpf bpf ctype debuginfo debuginfo/btf debuginfo/dwarf debuginfo/dwarf/frame debuginfo/kallsyms debuginfo/tracefs debuginfo/tracesite debuginfo/usdt engine engine/results event image ir lang maps patch printk probe procdir ring sema tracepoint unwind"},
	{"engine/uprobes", "engine engine/inproc engine/kernel event lang probe tracepoint"},

	// Events of several engines, in order.
	{"drain", "event ring"},

	// Recorded traces: their format, and writing them.
	{"lttng", ""},
	{"ctf", "ctype debuginfo event lttng ring"},
	{"statedump", "bpf ctf debuginfo/elf event procdir"},
	{"record", "ctf ctype debuginfo drain event lttng statedump"},

	// Values as text, independent of engines.
	{"format", "bounded callargs ctype debuginfo event printk"},

	// Maps as text.
	{"aggregate", "ctype maps script/printf script/show sema"},

	// What recorded traces have: C expressions over their fields.
	{"report", "ctf ctype debuginfo event format image ir ir/eval lang ring script/printf script/show sema"},
	{"export", "ctf event format report"},
	{"merge", "ctf report"},

	// Front-ends.
	{"arming", "debuginfo drain engine engine/uprobes event lang probe process ring tracepoint"},
	{"session", "arming debuginfo drain engine engine/inproc engine/kernel engine/uprobes event image maps sema probe procdir process ring tracepoint"},
	{"script/runner", "debuginfo drain event lang lang/script maps probe ring script/types sema script/check script/interp script/plan script/printf session tracepoint unwind"},
	{"completion", ""},
	{"manual", ""},
	{"gdb/rsp", "arch/amd64 arch/arm64"},
	{"gdb/experiment", "gdb/agentexpr gdb/rsp"},
	{"gdb/stub", "gdb/agentexpr gdb/experiment gdb/rsp"},
	{"gdb/process", "debuginfo debuginfo/dwarf debuginfo/usdt drain engine engine/inproc event gdb/agentexpr gdb/experiment gdb/rsp gdb/stub image ir probe procdir process ring sema"},
	{"gdb/kernel", "drain engine engine/kernel event format gdb/agentexpr gdb/experiment gdb/rsp gdb/stub ir printk ring sema"},
	{".", "aggregate sema bounded ctf ctype debuginfo/dwarf drain event format image lang record report session tracepoint"},
	{"cmd/jalon", ". backend/amd64 backend/ebpf bounded completion ctf ctype debuginfo debuginfo/btf debuginfo/debuginfod debuginfo/dwarf debuginfo/elf debuginfo/kallsyms debuginfo/tracefs debuginfo/usdt engine engine/inproc engine/kernel engine/uprobes event export format gdb/agentexpr gdb/experiment gdb/kernel gdb/process gdb/rsp gdb/stub image ir lang lang/script lttng manual merge probe process procdir report ring script/check script/interp script/runner script/source session script/types sema tracepoint"},
}

// everywhere may be imported by all packages to the right: the error type of the environment, safe opening
// of other users' files, regular expressions, and the features of the processor.
var everywhere = []string{"fail", "lazyregexp", "openfile", "arch", "arch/host"}

// engineNames are the engines that a session constructs, and the file that does so.
var (
	engineNames = []string{"engine/inproc", "engine/kernel"}
	constructs  = filepath.Join("..", "internal", "session", "engines.go")
)

// short is the name of a package as the table has it.
func short(path string) string {
	if path == "." {
		return path
	}
	return strings.TrimPrefix(filepath.ToSlash(path), "internal/")
}

// importsOf calls f for each file and each package of jalon that it imports.
func importsOf(t *testing.T, f func(file, pkg, imported string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		rel, _ := filepath.Rel("..", filepath.Dir(path))
		if rel != "." && !strings.HasPrefix(rel, "internal/") && !strings.HasPrefix(rel, "cmd/") {
			return nil // bench, examples, test: they may import all
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		f(path, short(rel), "")
		for _, im := range file.Imports {
			p, _ := strconv.Unquote(im.Path.Value)
			if p+"/" == module {
				f(path, short(rel), ".")
			} else if p, own := strings.CutPrefix(p, module); own {
				f(path, short(rel), short(p))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestImportRules: no package imports one to its right, or one that its row does not have;
// each package has a row, and each row a package.
func TestImportRules(t *testing.T) {
	place, may := map[string]int{}, map[string][]string{}
	for i, p := range packages {
		if _, twice := place[p.path]; twice {
			t.Errorf("%s has two rows", p.path)
		}
		place[p.path], may[p.path] = i, strings.Fields(p.imports)
		for _, im := range may[p.path] {
			if at, known := place[im]; !known || at >= i {
				t.Errorf("the row of %s has %s, which is not to its left", p.path, im)
			}
		}
	}
	seen := map[string]bool{}
	importsOf(t, func(file, pkg, imported string) {
		at, listed := place[pkg]
		switch {
		case !listed:
			if !seen[pkg] {
				t.Errorf("package %s has no row", pkg)
			}
		case imported == "":
		case place[imported] >= at:
			t.Errorf("%s imports %s, which is not to the left of %s", file, imported, pkg)
		case !slices.Contains(everywhere, imported) && !slices.Contains(may[pkg], imported):
			t.Errorf("%s imports %s: not among what %s may import", file, imported, pkg)
		}
		seen[pkg] = true
		if pkg == "session" && slices.Contains(engineNames, imported) && file != constructs {
			t.Errorf("%s names the engine %s: only %s does", file, imported, constructs)
		}
	})
	for _, p := range packages {
		if !seen[p.path] {
			t.Errorf("there is no package %s", p.path)
		}
	}
}

// TestNoTextAfterTheParser: these packages work on the parsed tree and must not import regular expressions.
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
