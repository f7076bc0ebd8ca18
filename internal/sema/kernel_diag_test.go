package sema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// kernelDiagnosed are conditions ("if ...") and collect lists by the kind of place.
var kernelDiagnosed = []struct {
	place string
	list  []string
}{
	{"record", []string{
		"if args->wrd == 1", "if wrd == 1", "if foo == 1", "prev->pid == word", "prve", "retval", "$retval", "arg0", "$arg0", "$rax", "$regs", "$xmm0", "if $regs == 0", "if $_sdata", "$_sdata + 1", "$bt + 1", "if $ubt",
		"args->d + 1", "if args->d > 0", "if word > 1.5", "(double)word", "(float)1", "1 ? d : d", "common_pid", "runqueues", "if runqueues.nr == 3", "this_cpu(word)", "this_cpu(1)", "this_cpu()",
		"per_cpu(runqueues)", "per_cpu(runqueues, d)", "per_cpu(word, 0)", "this_cpu(scattered)", "this_cpu(runqueues).nx", "kaddr(total)", "kaddr(\"totl\")", "kaddr()", "args->name + 1 == 2 ? args->nane : 0",
		"if args->mask == \"a\"", "args->foo", "inregister", "late", "$ret", "$curtsk", "$tidd", "pidd", "$comm/x", "f(1)", "strcmp(comm, \"a\")", "if word = 3", "gone",
	}},
	{"args", []string{"args->foo", "arg12", "if stte == 1", "$rdi", "inregister", "$_sdata", "retval"}},
	{"regs", []string{"vec", "if vec > 1", "$xmm1", "$gs_base", "arg0", "retval", "conut", "$sdata", "$_sdata"}},
	{"nodebug", []string{"conut"}},
	{"none", []string{"arg0", "$rax", "$regs", "word", "if $task->pidd", "this_cpu(runqueues).nr", "kaddr(\"total\")", "comm == \"x\"", "$task->pid"}},
	{"process", []string{"$task", "curtask", "this_cpu(i)", "per_cpu(i, 0)", "kaddr(\"x\")", "$_sdata", "$ubt", "$uid", "env", "ctx"}},
}

func kernelDiagnosticScope(place string) (*fakeScope, Input) {
	switch place {
	case "record":
		s, _, _ := recordScope()
		s.fn = ""
		raw := newScope()
		raw.args = append(raw.args, raw.add("prev", ctype.PointerTo(s.types[ctype.Struct]["task_struct"]), ctxPiece(8)))
		s.add("inregister", ctype.IntT, inReg(0))
		s.add("late", ctype.IntT, onFrame(-20))
		s.add("gone", ctype.IntT).Loc = debuginfo.Location{Unavailable: "optimised out"}
		in := kernelInput(ContextRecord)
		in.Kernel.Other = raw
		return s, in
	case "args":
		s, _ := kernelScope()
		s.args = []*debuginfo.Variable{s.add("state", ctype.IntT, ctxPiece(0))}
		s.add("args", structOf("", member{"state", ctype.IntT, 0}), ctxPiece(0))
		s.add("inregister", ctype.IntT, inReg(0))
		in := kernelInput(ContextArgs)
		in.Kernel.Return = true
		return s, in
	case "regs", "nodebug":
		s, _ := regsScope()
		s.fn, s.noDebug = "vfs_read", place == "nodebug"
		return s, kernelInput(ContextRegs)
	case "none":
		s, _ := kernelScope()
		delete(s.types[ctype.Struct], "task_struct")
		s.add("word", ctype.IntT, ctxPiece(0))
		in := kernelInput(ContextNone)
		in.Kernel.PerCPU, in.Kernel.Symbol = nil, nil
		return s, in
	}
	s, _ := sample()
	s.add("env", ctype.IntT, memOps(debuginfo.OpEnv, 0))
	s.add("ctx", ctype.IntT, ctxPiece(0))
	return s, sampleInput()
}

// TestKernelDiagnostics compares whole diagnostics with testdata/kernel.txt.
func TestKernelDiagnostics(t *testing.T) {
	var b strings.Builder
	for _, group := range kernelDiagnosed {
		for _, text := range group.list {
			s, in := kernelDiagnosticScope(group.place)
			cond, collect := "", text
			if rest, ok := strings.CutPrefix(text, "if "); ok {
				cond, collect = rest, ""
			}
			_, err := tryCompile(s, in, cond, collect)
			if err == nil {
				t.Errorf("%s: %s: no error", group.place, text)
				continue
			}
			b.WriteString(group.place + ": " + err.Error() + "\n\n")
		}
	}
	golden := filepath.Join("testdata", "kernel.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	g, w := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(g), len(w)) {
		if at(g, i) != at(w, i) {
			t.Fatalf("line %d is\n%s\nnot\n%s\n(go test -update rewrites the file)", i+1, at(g, i), at(w, i))
		}
	}
}
