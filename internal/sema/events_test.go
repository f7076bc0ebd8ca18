package sema_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/sema"
)

func compileText(t *testing.T, s debuginfo.Scope, k *sema.KernelInput, cond, collect string) *sema.Output {
	t.Helper()
	in := &sema.Input{Scope: s, Kernel: k, Place: s.FuncName()}
	var err error
	if in.Collect, err = lang.ParseCollect(collect); err != nil {
		t.Fatalf("%s: %v", s.FuncName(), err)
	}
	if cond != "" {
		if in.Cond, err = lang.ParseCondition(lang.TextOf("condition", cond)); err != nil {
			t.Fatalf("%s: %v", s.FuncName(), err)
		}
	}
	out, err := sema.Compile(in)
	if err != nil {
		t.Errorf("%s: %v", s.FuncName(), err)
		return nil
	}
	for range 2 {
		if err := ir.Check(out.Program); err != nil {
			t.Fatalf("%s: %v\n%s", s.FuncName(), err, out.Program)
		}
		if err := ir.Optimize(out.Program); err != nil {
			t.Fatalf("%s: %v", s.FuncName(), err)
		}
	}
	return out
}

// TestEveryEvent compiles a program for every tracepoint of the running kernel
// that takes all there is, and one for every raw tracepoint.
func TestEveryEvent(t *testing.T) {
	fs, err := tracefs.Open()
	if err != nil {
		if out, merr := exec.Command("mount", "-t", "tracefs", "tracefs", "/sys/kernel/tracing").CombinedOutput(); merr != nil {
			t.Skipf("needs root and a kernel with tracefs: %v: %s", err, out)
		}
		if fs, err = tracefs.Open(); err != nil {
			t.Fatal(err)
		}
	}
	kernel, err := btf.Open()
	if err != nil {
		t.Skipf("the kernel has no BTF: %v", err)
	}
	names, err := fs.Match("*", "*")
	if err != nil {
		t.Fatal(err)
	}
	fields, dynamic, without := 0, 0, map[string]int{}
	for _, n := range names {
		ev, err := fs.Event(n.System, n.Event)
		if err != nil {
			t.Errorf("%v: %v", n, err)
			continue
		}
		sd := &sema.SData{Type: ev.Record(), Fixed: int(ev.Record().Size)}
		conds := []string{"pid == 1"}
		for _, f := range ev.Record().Fields() {
			elem, _, ok := ctype.Dynamic(f.Type)
			switch s := f.Type.Strip(); {
			case ok:
				sd.Dynamic = append(sd.Dynamic, f.BitOffset/8)
				dynamic++
				if elem.Strip().Kind == ctype.Char {
					conds = append(conds, "args->"+f.Name+" == \"x\"")
				}
			case s.IsInteger() && s.Size <= 8:
				conds = append(conds, "args->"+f.Name+" != 3")
			}
		}
		if ev.Field("args") != nil { // then args-> may be that field's
			conds = conds[:1]
		}
		k := &sema.KernelInput{Context: sema.ContextRecord, SData: sd}
		out := compileText(t, kernel.RecordScope(n.System+":"+n.Event, ev.Record()), k, strings.Join(conds, " && "), "$_sdata, $args, args, $bt, comm")
		if out == nil {
			continue
		}
		for _, f := range out.Schema.Fields {
			if fields++; f.Static != event.OK {
				without[f.Reason]++
			}
		}
	}
	t.Logf("%d events, %d fields, %d dynamic arrays; without a value: %v", len(names), fields, dynamic, without)
	raw, err := kernel.Tracepoints("*")
	if err != nil {
		t.Fatal(err)
	}
	arguments := 0
	for _, n := range raw {
		s, err := kernel.TracepointScope(n)
		if err != nil {
			t.Errorf("%s: %v", n, err)
			continue
		}
		out := compileText(t, s, &sema.KernelInput{Context: sema.ContextArgs}, "comm == \"x\"", "$args, curtask->pid, $bt")
		if out == nil {
			continue
		}
		for _, f := range out.Schema.Fields {
			if f.Group == "" {
				continue
			}
			if arguments++; f.Static != event.OK {
				t.Logf("%s: %s: %s", n, f.Name, f.Reason)
			}
		}
	}
	t.Logf("%d raw tracepoints, %d arguments", len(raw), arguments)
	if len(names) < 500 || len(raw) < 300 || fields < 5*len(names) || dynamic < 100 {
		t.Errorf("too little was tested")
	}
	if len(without) > 0 {
		t.Errorf("fields without a value: %v", without)
	}
}
