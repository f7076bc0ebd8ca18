package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
)

// TestAx compares the stages of the paper's condition and their order.
func TestAx(t *testing.T) {
	c := axCmd{Input: "2202 260005 1620 04 1620 2203 260004 1620 04 1620 02 1620 2200 2b 14 27"}
	code, err := c.code()
	if err != nil {
		t.Fatal(err)
	}
	e, err := agentexpr.Validate(code, agentexpr.ForCondition)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := c.show(&out, e); err != nil {
		t.Fatal(err)
	}
	stages := regexp.MustCompile(`(?s)^bytecode: 16 operations in 28 bytes\n.*\nIR: 18 operations \(3 of them numbers\).*\nafter pass demand, round 1: .*\nafter pass narrow, round 1: .*\n  v14 = slt\.4 .*\nafter pass dce, .*: 12 operations \(3 of them numbers\).*\namd64: \d+ bytes.*\n.*reserve.*\neBPF: \d+ instructions\n.*Exit`)
	if !stages.MatchString(out.String()) {
		t.Errorf("got\n%s", &out)
	}
}

func TestAxErrors(t *testing.T) {
	for _, c := range []struct {
		cmd  axCmd
		want string
	}{
		{axCmd{Input: "xyz"}, "not bytecode in hexadecimal"},
		{axCmd{Input: "27", At: "main"}, "--at says where the names of -e EXPR are"},
		{axCmd{Input: "27"}, "byte 0: the condition ends without a value"},
		{axCmd{Input: "/nonexistent", Expr: "1"}, "gdb: "},
	} {
		if err := c.cmd.Run(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.cmd, err, c.want)
		}
	}
}
