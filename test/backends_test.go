package test

import (
	"path/filepath"
	"strings"
	"testing"
)

// ownFiles are the files of a backend that the others do not have, and why.
var ownFiles = map[string]map[string]string{
	"amd64": {
		"insn.go":         "eBPF instructions are encoded by cilium/ebpf",
		"encode.go":       "as insn.go",
		"text.go":         "as insn.go",
		"save.go":         "an eBPF program owns its registers: nothing of another program is destroyed",
		"saver.go":        "as save.go",
		"sequence.go":     "the kernel keeps an eBPF program on its CPU",
		"address.go":      "an eBPF load has one form of address",
		"stackedge.go":    "as save.go",
		"regset.go":       "as save.go",
		"scratch.go":      "eBPF has two registers for intermediate results, see operand.go",
		"template.go":     "the kernel engine has few sites",
		"lower_locked.go": "eBPF reserves in one way, see lower_reserve.go",
		"lower_ticks.go":  "the kernel's programs have a clock in nanoseconds",
		"lower_float.go":  "the kernel's programs cannot compute with floating point",
	},
	"ebpf": {
		"dominate.go":     "the verifier wants a pointer to be made on every way to its uses",
		"lower_tables.go": "code in a process has one list of modules, that of its process",
		"lower_spaces.go": "code in a process has one address space, its own",
		"liveset.go":      "the verifier does not let a register be saved that was never written",
	},
}

// TestBackendFiles: one topic has the same file name in both backends.
func TestBackendFiles(t *testing.T) {
	has := map[string]map[string]bool{}
	for backend := range ownFiles {
		has[backend] = map[string]bool{}
		files, err := filepath.Glob(filepath.Join("../internal/backend", backend, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", backend, len(files), err)
		}
		for _, f := range files {
			if name := filepath.Base(f); !strings.HasSuffix(name, "_test.go") {
				has[backend][name] = true
			}
		}
	}
	for one, own := range ownFiles {
		for other := range ownFiles {
			if one == other {
				continue
			}
			for name := range has[one] {
				if has[other][name] == (own[name] != "") {
					t.Errorf("%s/%s: in %s: %v; the reason for a file of its own: %q", one, name, other, has[other][name], own[name])
				}
			}
		}
		for name := range own {
			if !has[one][name] {
				t.Errorf("%s/%s is in the list and does not exist", one, name)
			}
		}
	}
}
