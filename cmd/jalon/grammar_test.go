package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestGrammar: a command of which only its own grammar is read has the same flags, arguments and texts as in the whole.
func TestGrammar(t *testing.T) {
	describe := func(args ...string) map[string]string {
		var c cli
		root, extra := grammar(&c, args)
		parser, err := kong.New(root, append(extra, kong.Name("jalon"), helpVars())...)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, n := range parser.Model.Children {
			var b strings.Builder
			fmt.Fprintln(&b, n.Name, n.Help, n.Hidden, n.Aliases, n.Summary())
			for _, f := range n.Flags {
				fmt.Fprintf(&b, "%s %q %q %v %v %s %v\n", f.Summary(), f.Help, f.Short, f.Hidden, f.Default, f.Enum, f.Group)
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
		one := describe(name, "x")
		if one[name] != want {
			t.Errorf("%s alone:\n%s\nin the whole:\n%s", name, one[name], want)
		}
		if wanted := map[bool]int{true: len(whole), false: 1}[slices.Contains(ofAll, name)]; len(one) != wanted {
			t.Errorf("%s: %d commands were read, want %d", name, len(one), wanted)
		}
	}
	if got := describe("no-command"); len(got) != len(whole) {
		t.Errorf("without a command, %d were read", len(got))
	}
}
