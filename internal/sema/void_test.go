package sema

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// TestVoidVariable: a variable of a type without values, such as C++'s nullptr_t, does not refuse the other items.
func TestVoidVariable(t *testing.T) {
	s, _ := sample()
	s.add("np", ctype.VoidT, debuginfo.Piece{Kind: debuginfo.InMemory, Expr: []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(processor.SP)}}})
	const why = "a void expression has no value"
	out, err := tryCompile(s, sampleInput(), "", "np, i")
	if err != nil || len(out.Missing) != 1 || out.Missing[0].Msg != why || len(out.Schema.Fields) != 2 || out.Schema.Fields[0].Reason != why {
		t.Errorf("%v, %+v", err, out)
	}
	if _, err = tryCompile(s, sampleInput(), "", "(void)i, i"); err == nil || firstLine(err) != "error: "+why {
		t.Errorf("(void)i: %v", err)
	}
}
