package sema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
)

// TestMissing: which names mean something decides which programs a place gets.
func TestMissing(t *testing.T) {
	s, _, rec := recordScope()
	other := newScope()
	other.add("next", ctype.PointerTo(ctype.IntT), ctxPiece(8))
	for _, tt := range []struct {
		kind       Context
		list, want string
	}{
		{ContextRecord, "word, args->word, $_sdata, pid, comm, $bt", ""},
		{ContextRecord, "args->nothing, next, zzz, $rax, arg0, $regs", "args->nothing next zzz $rax arg0 $regs"},
		{ContextRecord, "word == \"x\" + 3, (int)word", ""}, // wrong in another way
		{ContextRecord, "(word)-next", "next"},
		{ContextArgs, "arg0, $tid, $_sdata, $rdi", "$_sdata $rdi"},
		{ContextRegs, "$rdi, $regs, retval", "retval"},
	} {
		in := kernelInput(tt.kind)
		in.Scope, in.Kernel.Other = s, other
		if tt.kind == ContextRecord {
			in.Kernel.SData = &SData{Type: rec, Fixed: 88}
		}
		var err error
		if in.Collect, err = lang.ParseCollect(tt.list); err != nil {
			t.Fatal(err)
		}
		if got := strings.Trim(fmt.Sprint(in.CollectNames().Missing), "[]"); got != tt.want {
			t.Errorf("%s: %q is missing, want %q", tt.list, got, tt.want)
		}
	}
}
