package agentexpr_test

import (
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/ir"
)

// TestLarge: the longest expressions that jumps can reach into are lowered and
// optimised, or refused for what they would collect.
func TestLarge(t *testing.T) {
	many := func(head, s string, n int) string { return head + strings.Repeat(s, n) + "\x27" }
	const deep, jumps = 99, 15301
	jump := []byte("\x28\x20\x00\x00") // dup, if_goto the end
	end := 2*deep + len(jump)*jumps
	jump[2], jump[3] = byte(end>>8), byte(end)
	for _, c := range []struct{ name, code, want string }{
		{"numbers", many("", "\x22\x01\x29", 21000), ""},
		{"jumps with all of the stack", many(strings.Repeat("\x22\x01", deep), string(jump), jumps), ""},
		{"loads that may fail", many("\x26\x00\x05", "\x28\x0d\x08\x19\x02", 3000), ""},
		{"collected words", many("\x26\x00\x05", "\x0d\x04", 9000), ""},
		{"collected blocks", many("\x26\x00\x05", "\x30\xff\xff", 9000), "the actions collect more than 1048576 bytes"},
	} {
		e, err := agentexpr.Validate([]byte(c.code), agentexpr.ForAction)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		site := &agentexpr.Site{Actions: []agentexpr.Action{{Kind: agentexpr.Evaluate, Expr: e}}}
		p, _, err := agentexpr.Lower(site, &agentexpr.Options{})
		switch {
		case c.want != "":
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := ir.Optimize(p); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
