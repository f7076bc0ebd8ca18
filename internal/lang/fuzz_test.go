package lang

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// seedLines adds the inputs of the golden error files and the tables' best.
func seedLines(f *testing.F, more ...string) {
	files, _ := filepath.Glob("testdata/errors/*.txt")
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if input, ok := strings.CutPrefix(strings.TrimSpace(line), "== "); ok {
				f.Add(input)
			}
		}
	}
	for _, s := range append(more, oracleExprs...) {
		f.Add(s)
	}
}

// checkError checks that an error is a diagnostic that can be shown.
func checkError(t *testing.T, src string, err error) {
	t.Helper()
	all, ok := err.(Diagnostics)
	if !ok {
		all = Diagnostics{err.(*Diagnostic)}
	}
	for _, d := range all {
		if d.Span.Lo < 0 || d.Span.Hi < d.Span.Lo || d.Span.Hi > len(src) {
			t.Errorf("the span %v of %q is outside of %q", d.Span, d.Msg, src)
		}
		if d.Msg == "" || !utf8.ValidString(d.Error()) {
			t.Errorf("%q gives a message that cannot be shown: %q", src, d.Error())
		}
	}
}

func FuzzParseExpr(f *testing.F) {
	seedLines(f, "(T)-x->y[1] + 'f.c'::z@3", "(int (*(*)[2])(T, ...))p", "{struct s}p ? a, b : ns::c", "f(\"a\" \"\\x41\", 1.5e-3f)++")
	f.Fuzz(func(t *testing.T, src string) {
		e, err := parsed(src, someTypes)
		if err != nil {
			checkError(t, src, err)
			return
		}
		if s := e.Span(); s.Lo < 0 || s.Hi > len(src) || s.Lo >= s.Hi {
			t.Errorf("%q has the span %v", src, s)
		}
		checkRoundTrip(t, e, someTypes)
	})
}

func FuzzParseCollect(f *testing.F) {
	seedLines(f, "req->len, req->path/s, /x *req, $args, buf@4/4xb")
	f.Fuzz(func(t *testing.T, src string) {
		items, err := parsedList(src, someTypes)
		if err != nil {
			checkError(t, src, err)
			return
		}
		for _, c := range items {
			// The text without its source means the same: it is what the output shows.
			e, err := parsed(c.Text, someTypes)
			if err != nil || dump(e) != dump(c.X) {
				t.Errorf("%q: the text %q is not %s: %v", src, c.Text, String(c.X), err)
			}
			checkRoundTrip(t, c.X, someTypes)
		}
	})
}

func FuzzParseTracepoints(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.tp")
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, err := ParseFile("f.tp", src)
		if err != nil {
			checkError(t, src, err)
			return
		}
		checkFileSpans(t, src, file)
	})
}

func FuzzParseSpec(f *testing.F) {
	seedLines(f, "main.c:9 if(x)", "'a if b':3 if x", "-source a.c -line 3")
	f.Fuzz(func(t *testing.T, src string) {
		s, err := ParseSpec(src)
		if err != nil {
			checkError(t, src, err)
			return
		}
		if src[s.CondSpan.Lo:s.CondSpan.Hi] != s.CondText || s.Place == "" {
			t.Errorf("%q: %+v", src, s)
		}
	})
}
