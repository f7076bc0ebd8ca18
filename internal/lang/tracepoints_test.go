package lang

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files of testdata/gdb are what gdb 13.1 saved (make.sh) and one by hand;
// beside each is what we read in it.
func TestParseFile(t *testing.T) {
	files, err := filepath.Glob("testdata/gdb/*.tp")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, path := range files {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(src), strings.ReplaceAll(string(src), "\n", "\r\n"), strings.TrimSuffix(string(src), "\n")} {
			f, err := ParseFile(filepath.Base(path), text)
			if err != nil {
				t.Errorf("%s:\n%v", path, err)
				break
			}
			checkFileSpans(t, text, f)
			golden(t, strings.TrimSuffix(path, ".tp")+".read", strings.ReplaceAll(fileText(f), "\\r", ""))
		}
	}
}

// fileText shows a file with one thing a line.
func fileText(f *File) string {
	var b strings.Builder
	for _, v := range f.Variables {
		fmt.Fprintf(&b, "%d: variable %s = %q\n", v.Line, v.Name, v.Init)
	}
	for i, t := range f.Tracepoints {
		fmt.Fprintf(&b, "%d: %d %s at %q if %q", t.Line, i+1, t.Kind, t.Place, t.CondText)
		if t.Pass != 0 {
			fmt.Fprintf(&b, " pass %d", t.Pass)
		}
		if t.Ignore != 0 {
			fmt.Fprintf(&b, " ignore %d", t.Ignore)
		}
		if t.Disabled {
			b.WriteString(" disabled")
		}
		b.WriteByte('\n')
		actionsText(&b, t.Actions, "  ")
	}
	return b.String()
}

func actionsText(b *strings.Builder, list []Action, indent string) {
	for _, a := range list {
		fmt.Fprintf(b, "%d:%s%s %q", a.Line, indent, []string{"collect", "teval", "step"}[a.Kind], a.Text)
		if a.Strings {
			fmt.Fprintf(b, " strings %d", a.StringLimit)
		}
		if a.Default {
			b.WriteString(" default")
		}
		if a.Kind == ActStep {
			fmt.Fprintf(b, " %d", a.Steps)
		}
		b.WriteByte('\n')
		actionsText(b, a.Body, indent+"  ")
	}
}

// checkFileSpans checks that every text of a file is where its span says.
func checkFileSpans(t *testing.T, src string, f *File) {
	t.Helper()
	same := func(what, text string, s Span, line int) {
		if got := src[s.Lo:s.Hi]; got != text {
			t.Errorf("%s %q: its span holds %q", what, text, got)
		}
		if got := strings.Count(src[:s.Lo], "\n") + 1; got != line && line != 0 {
			t.Errorf("%s %q: line %d, its span is in line %d", what, text, line, got)
		}
	}
	var actions func(list []Action)
	actions = func(list []Action) {
		for _, a := range list {
			if a.Kind != ActStep {
				same("action", a.Text, a.Span, 0)
			}
			actions(a.Body)
		}
	}
	for _, p := range f.Tracepoints {
		if !strings.HasPrefix(src[p.PlaceSpan.Lo:], "-") {
			same("place", p.Place, p.PlaceSpan, 0)
		}
		same("condition", p.CondText, p.CondSpan, 0)
		same("tracepoint", src[p.Span.Lo:p.Span.Hi], p.Span, p.Line)
		actions(p.Actions)
	}
	for _, v := range f.Variables {
		same("variable", "$"+v.Name, v.Span, v.Line)
	}
}
