package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/jalon-trace/jalon/internal/sema"
)

// TestGrammar: a command of which only its own grammar is read has the same flags, arguments and texts as in the whole.
func TestGrammar(t *testing.T) {
	describe := func(args ...string) map[string]string {
		var c cli
		parser, err := newParser(&c, args, kong.Name("jalon"))
		if len(args) == 0 { // kong replaces the variables
			vars := kong.Vars{}
			for name, value := range helpVariables {
				vars[name] = value()
			}
			parser, err = kong.New(&c, kong.Name("jalon"), vars)
		}
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, n := range parser.Model.Children {
			var b strings.Builder
			fmt.Fprintln(&b, n.Name, n.Help, n.Hidden, n.Aliases, n.Summary())
			for _, f := range n.Flags {
				fmt.Fprintf(&b, "%s %q %q %q %v %v %s %v\n", f.Summary(), f.Help, f.PlaceHolder, f.Short, f.Hidden, f.Default, f.Enum, f.Group)
			}
			for _, p := range n.Positional {
				fmt.Fprintf(&b, "%s %q %v\n", p.Summary(), p.Help, p.Required)
			}
			out[n.Name] = b.String()
		}
		return out
	}
	whole := describe()
	if names := commandNames(); len(names) != len(whole) || !slices.Contains(names, "trace") {
		t.Fatalf("%d commands, want %d: %v", len(names), len(whole), names)
	}
	for name, want := range whole {
		one := describe(name, "-xh")
		if one[name] != want {
			t.Errorf("%s alone:\n%s\nin the whole:\n%s", name, one[name], want)
		}
		if hidden := describe(name, "x")[name]; name == "trace" && strings.Contains(hidden, sema.Help()) {
			t.Error("the help is made without a request for it")
		}
		if wanted := map[bool]int{true: len(whole), false: 1}[slices.Contains(ofAll, name)]; len(one) != wanted {
			t.Errorf("%s: %d commands were read, want %d", name, len(one), wanted)
		}
	}
	if got := describe("no-command"); len(got) != len(whole) {
		t.Errorf("without a command, %d were read", len(got))
	}
}
