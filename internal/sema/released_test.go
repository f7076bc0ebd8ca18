package sema

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

func TestReleased(t *testing.T) {
	sp := func(n int64) []debuginfo.Op {
		return []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(processor.SP)}, {Code: debuginfo.OpAddConst, Arg: 8}, {Code: debuginfo.OpAddConst, Arg: n}}
	}
	deref := debuginfo.Op{Code: debuginfo.OpDeref, Arg: 8}
	for _, tt := range []struct {
		ops        []debuginfo.Op
		last, want bool
	}{
		{sp(-136), true, false},
		{sp(-137), true, true},
		{sp(-200), false, false},
		{sp(0), true, false},
		{append(sp(-200), deref), false, true},
		{append(sp(-100), deref), true, false},
		{[]debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(processor.FP)}, {Code: debuginfo.OpAddConst, Arg: -500}}, true, false},
		{nil, true, false},
	} {
		if got := released(tt.ops, tt.last, processor.RedZone); got != tt.want {
			t.Errorf("%+v: released %v", tt.ops, got)
		}
	}
	for _, tt := range []struct {
		name string
		in   Input
		want bool
	}{
		{"C", Input{}, false},
		{"Go", Input{GoCode: true}, true},
		{"Go by uprobes", Input{GoCode: true, Kernel: &KernelInput{User: true}}, true},
		{"C by uprobes", Input{Kernel: &KernelInput{User: true}}, false},
		{"the kernel", Input{Kernel: &KernelInput{}}, true},
	} {
		st := &site{in: &tt.in}
		if got := released(sp(-16), true, st.redZone()); got != tt.want {
			t.Errorf("%s: 8 bytes below the stack pointer: released %v", tt.name, got)
		}
		if released(sp(-8), true, st.redZone()) {
			t.Errorf("%s: the word at the stack pointer is released", tt.name)
		}
	}
}
