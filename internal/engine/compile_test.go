package engine

import (
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
)

// TestSharedPrograms: the sites of a tracepoint have one program, also if it is that of another tracepoint but for the name.
func TestSharedPrograms(t *testing.T) {
	c := (&Compiling{}).Share()
	finish := func(name string) *ir.Program {
		p, err := ir.Parse("b0:\nexit")
		if err == nil {
			p.Name = name
			p, err = c.finish(p, name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if p.Name != name {
			t.Errorf("%s is named %s", name, p.Name)
		}
		return p
	}
	for _, name := range []string{"site?", "site??"} {
		if a, b := finish(name), finish(name); a != b {
			t.Errorf("two sites of %s have two programs", name)
		}
	}
}
