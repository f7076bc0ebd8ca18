package lang

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files again")

// golden compares got with a file of testdata.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}

// Each file of testdata/errors holds inputs after "== ", with \t, \n and \xNN
// written so, and below each the whole output.
func TestErrors(t *testing.T) {
	parsers := map[string]func(string) error{
		"expr":    func(s string) error { _, err := parsed(s, someTypes); return Named(err, "condition") },
		"collect": func(s string) error { _, err := parsedList(s, someTypes); return err },
		"place":   func(s string) error { _, err := ParseSpec(s); return err },
	}
	written := strings.NewReplacer(`{tab}`, "\t", `{nl}`, "\n", `{bad}`, "\xff", `{esc}`, "\x1b", `{long}`, strings.Repeat("lengthy + ", 40), `{comb}`, "\u0301")
	for name, parse := range parsers {
		path := filepath.Join("testdata", "errors", name+".txt")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for line := range strings.Lines(string(data)) {
			input, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "== ")
			if !ok {
				continue
			}
			got.WriteString("== " + input + "\n")
			err := parse(written.Replace(strings.Trim(input, "|")))
			if err == nil {
				t.Errorf("%s: %q was accepted", path, input)
				continue
			}
			got.WriteString(err.Error() + "\n")
		}
		golden(t, path, got.String())
	}
}

func TestTracepointErrors(t *testing.T) {
	src, err := os.ReadFile("testdata/errors/bad.tp")
	if err != nil {
		t.Fatal(err)
	}
	_, err = ParseTracepoints("bad.tp", string(src))
	if err == nil {
		t.Fatal("accepted")
	}
	golden(t, "testdata/errors/bad.txt", err.Error()+"\n")
}

func TestTooManyErrors(t *testing.T) {
	_, tp := ParseTracepoints("f.tp", strings.Repeat("bad\n", 1<<16))
	_, list := parsedList(strings.Repeat("+,", 1<<16), nil)
	for _, err := range []error{tp, list} {
		all := err.(Diagnostics)
		if len(all) != maxDiagnostics+1 || !strings.HasPrefix(all[maxDiagnostics].Msg, "too many") {
			t.Errorf("%d diagnostics, the last: %s", len(all), all[len(all)-1].Msg)
		}
	}
}
