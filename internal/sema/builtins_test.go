package sema

import (
	"regexp"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestReference compares docs/builtins.md with the table (go test -update writes it).
func TestReference(t *testing.T) {
	testkit.Page(t, "../../docs/builtins.md", Reference(), *update)
}

// TestBuiltinRows checks every row, and that its statements about engines are true.
func TestBuiltinRows(t *testing.T) {
	names, gdb, numbers := map[string]bool{}, map[string]bool{}, map[int]bool{1: true} // 1 is $trace_timestamp
	gdbName := regexp.MustCompile(`^[a-z][a-z_]*$`)
	for _, b := range builtins {
		if names[b.Name] || (b.Doc == "") != b.inner || b.inProcess == nil && b.inKernel == nil || (b.Type == "") != b.ItemOnly() && b.Name != "comm" && !b.inner {
			t.Errorf("%s: %+v", b.Name, b)
		}
		names[b.Name] = true
		if (b.Form == Function) != (b.Call != "") {
			t.Errorf("%s: the form of a call is %q", b.Name, b.Call)
		}
		if b.GDB != "" {
			if gdb[b.GDB] || numbers[b.GDBNumber] || !gdbName.MatchString(b.GDB) || b.Env == nil {
				t.Errorf("%s: $%s, number %d", b.Name, b.GDB, b.GDBNumber)
			}
			gdb[b.GDB], numbers[b.GDBNumber] = true, true
		}
		if b.GDB != "" { // a file of GDB's is read by `jalon trace`, too
			s, _, _ := recordScope()
			if _, err := tryCompile(s, kernelInput(ContextRecord), "$"+b.GDB+" == 5", "$"+b.GDB); err != nil {
				t.Error(err)
			}
		}
		if _, isReg := registers[b.GDB]; isReg {
			t.Errorf("$%s is a register", b.GDB)
		}
		for _, kernel := range []bool{false, true} {
			checkRow(t, b, kernel)
		}
	}
	if in, all := len(GDBVariables(false)), len(GDBVariables(true)); in != all-2 { // not the ticks and the task of the kernel
		t.Errorf("GDB has %d of %d variables in a process", in, all)
	}
	// All scalars of the kernel engine are variables of GDB's; time is another name of nsecs.
	for _, b := range builtins {
		if b.Env != nil && b.GDB == "" && b.Name != "time" {
			t.Errorf("GDB cannot have %s", b.Name)
		}
	}
}

// checkRow compiles $name as an item and in a condition.
func checkRow(t *testing.T, b *Builtin, kernel bool) {
	t.Helper()
	if b.Form == Function {
		return
	}
	s, in, how := debuginfo.Scope(nil), sampleInput(), b.inProcess
	fake, _ := sample()
	s = fake
	in.Pid = 42
	if b.Name == "retval" {
		in.Exit = &Exit{Value: &debuginfo.Variable{Name: "retval", Type: ctype.LongT, Loc: debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InRegister, BitSize: 64}}}}}
	}
	if b.Name == "elapsed" {
		entry := sampleInput()
		entry.Scope = fake
		in.Exit = &Exit{Pair: &Pair{Entry: &entry, Rate: 1}}
	}
	if kernel {
		ks, _, rec := recordScope()
		s, in, how = ks, kernelInput(ContextRegs), b.inKernel
		in.AtEntry, in.Kernel.Return = true, true
		if strings.HasSuffix(b.Name, "sdata") {
			in = kernelInput(ContextRecord)
			in.Kernel.SData = &SData{Type: rec, Fixed: 88}
		}
	}
	fakeScopeOf := s.(*fakeScope)
	_, itemErr := tryCompile(fakeScopeOf, in, "", "$"+b.Name)
	if (itemErr == nil) != (how != nil) {
		t.Errorf("kernel %v: collecting $%s: %v", kernel, b.Name, itemErr)
	}
	in.Cond, in.Collect = nil, nil
	_, condErr := tryCompile(fakeScopeOf, in, "$"+b.Name+" != 0", "")
	if (condErr == nil) != (how != nil && how.value != nil) {
		t.Errorf("kernel %v: $%s in a condition: %v", kernel, b.Name, condErr)
	}
}

// TestFunctions: a call of every function of the table compiles in the engines that have it.
func TestFunctions(t *testing.T) {
	for _, b := range builtins {
		if b.Form != Function {
			continue
		}
		x, err := lang.ParseExpr(b.Name + "()")
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []*KernelInput{nil, {}} {
			c := newChecker(&Input{Scope: newScope(), Kernel: k})
			c.from = lang.TextOf("", b.Name+"()")
			failed := c.try(func() { c.expr(x) })
			known := failed == nil || strings.HasPrefix(failed.d.Msg, b.Name+" needs ")
			if known != (b.here(c.site) != nil) {
				t.Errorf("kernel %v: %s(): %v", k != nil, b.Name, failed.d.Msg)
			}
		}
	}
}
