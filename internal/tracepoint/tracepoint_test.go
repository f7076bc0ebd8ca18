package tracepoint

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/lang"
)

func TestFromArgs(t *testing.T) {
	tps, err := FromArgs([]string{"f if i > 3", "main.c:9"}, []string{"a", "b, c"})
	if err != nil || len(tps) != 2 || tps[0].Cond.From.String() != "i > 3" || tps[1].Cond != nil || len(tps[1].Collect) != 3 || tps[1].Number != 2 {
		t.Errorf("%+v, %v", tps, err)
	}
	_, err = FromArgs([]string{"main.c:", "f", "other.c:"}, nil)
	var ds lang.Diagnostics
	if !errors.As(err, &ds) || len(ds) != 2 {
		t.Errorf("the errors of both bad places: %v", err)
	}
	_, err = FromArgs([]string{"f if i >", "f if i", "g if )"}, []string{"a +", "b"})
	if !errors.As(err, &ds) || len(ds) != 3 || ds[2].Source != "collect" {
		t.Errorf("errors in the conditions and the list: %v", err)
	}
}

func TestFromFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tp")
	text := "tvariable $n = 3\ntvariable $current_task_pid\ntrace main.c:9\n  condition $bpnum i > 3\n  passcount 5\n  actions\n    collect i, j\n    teval $n = 1\n    while-stepping 2\n      collect k\n    end\n  end\nftrace f\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tps, warnings, err := FromFile(name)
	if err != nil || len(tps) != 2 {
		t.Fatalf("%d tracepoints, %v", len(tps), err)
	}
	if p := tps[0]; p.Pass != 5 || p.Cond.From.String() != "i > 3" || len(p.Collect) != 2 || p.Collect[1].Text != "j" {
		t.Errorf("%+v", p)
	}
	all := strings.Join(warnings, "\n")
	for _, want := range []string{name + ":9: while-stepping"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %q in %q", want, all)
		}
	}
	if p := tps[0]; !p.UsesVariables || len(p.Variables.List) != 3 || p.Variables.List[0] != (Variable{Name: "n", Initial: 3}) {
		t.Errorf("variables %+v: not $n and two for the pass count", p.Variables)
	}
	// Errors in a part of the file are shown with their position in the file.
	d := tps[0].Cond.From.At(tps[0].Cond.X.Span(), "no variable", "")
	if got := d.Error(); !strings.Contains(got, name+":4:") {
		t.Errorf("%s", got)
	}
	if _, _, err := FromFile(name + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestFileErrors: values of variables must be numbers, teval expressions.
func TestFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"tvariable $n = m\ntrace f\n":                       `:1:11`,
		"tvariable $n = -0x10\ntrace f\n":                   "",
		"trace f\nactions\nteval $n = \nend\n":              `:3:`,
		"trace f\nactions\nteval $n = 1, +\ncollect )\nend": `:4:`,
	} {
		name := filepath.Join(t.TempDir(), "tp")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := FromFile(name)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), name+want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestKept: an item has the value that a variable has at its place in the list.
func TestKept(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tp")
	text := "tvariable $n\ntvariable $m\ntrace f\nactions\ncollect $n, $m\nteval $n = $n + 1\ncollect $n\nend\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tps, _, err := FromFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p := tps[0]
	if len(p.Actions) != 2 || len(p.Collect) != 3 || len(p.Collect[0].Kept) != 1 || p.Collect[2].Kept != nil {
		t.Errorf("actions %+v, list %+v", p.Actions, p.Collect)
	}
}
