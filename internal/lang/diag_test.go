package lang

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestDiagnostic(t *testing.T) {
	text := "i + cuonter > 3"
	d := At("condition", text, Span{4, 11}, `no variable "cuonter" here`, DidYouMean(Nearest("cuonter", []string{"counter", "i"}, 3)))
	want := `error: no variable "cuonter" here
  --> condition:1:5
   |
 1 | i + cuonter > 3
   |     ^^^^^^^
   = hint: did you mean "counter"?`
	if got := d.Error(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := d.Render("warning"); got != "warning"+strings.TrimPrefix(want, "error") {
		t.Errorf("as a warning:\n%s", got)
	}
}

func TestDiagnosticForms(t *testing.T) {
	tests := []struct {
		name string
		d    *Diagnostic
		want string
	}{
		{"no text, no source", At("", "", Span{}, "m", "h"), "error: m\n   = hint: h"},
		{"no text", At("s", "", Span{}, "m", ""), "error: m\n  --> s"},
		{
			"several lines of hint", At("s", "x", Span{0, 1}, "m", "one\ntwo"),
			"error: m\n  --> s:1:1\n   |\n 1 | x\n   | ^\n   = hint: one\n           two",
		},
		{"a span outside of the text", At("s", "x", Span{-3, 99}, "m", ""), "error: m\n  --> s:1:1\n   |\n 1 | x\n   | ^"},
		{"a reversed span", At("s", "xyz", Span{2, 1}, "m", ""), "error: m\n  --> s:1:3\n   |\n 1 | xyz\n   |   ^"},
		{"the end of the text", At("s", "x\n", Span{2, 2}, "m", ""), "error: m\n  --> s:2:1\n   |\n 2 |\n   | ^"},
		{"over lines", At("s", "a(b\nc)", Span{1, 6}, "m", ""), "error: m\n  --> s:1:2\n   |\n 1 | a(b\n   |  ^^"},
		{"carriage returns", At("s", "a\r\nbc\r\n", Span{4, 5}, "m", ""), "error: m\n  --> s:2:2\n   |\n 2 | bc\n   |  ^"},
		{"a wide span", At("s", "漢字 x", Span{0, 6}, "m", ""), "error: m\n  --> s:1:1\n   |\n 1 | 漢字 x\n   | ^^^^"},
		{"behind wide and combining", At("s", "字e\u0301😀x", Span{10, 11}, "m", ""), "error: m\n  --> s:1:5\n   |\n 1 | 字e\u0301😀x\n   |      ^"},
		{"tabs inside the span", At("s", "a\tb", Span{0, 3}, "m", ""), "error: m\n  --> s:1:1\n   |\n 1 | a       b\n   | ^^^^^^^^^"},
		{
			"what commands a terminal", At("s\x1b", "\x1b\u202ex", Span{4, 5}, "m\x07", "h\x00"),
			"error: m�\n  --> s�:1:3\n   |\n 1 | ��x\n   |   ^\n   = hint: h�",
		},
	}
	for _, tt := range tests {
		if got := tt.d.Error(); got != tt.want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", tt.name, got, tt.want)
		}
	}
}

func TestDiagnosticWidth(t *testing.T) {
	long := strings.Repeat("漢a\t", 500)
	for lo := 0; lo < len(long); lo += 97 {
		for _, n := range []int{0, 3, 300, 3000} {
			for line := range strings.Lines(At("s", long, Span{lo, lo + n}, "m", "").Error()) {
				if w := columns(line); w > maxColumns+20 {
					t.Fatalf("a line of %d columns for the span %d+%d:\n%s", w, lo, n, line)
				}
			}
		}
	}
}

func TestDiagnosticsAsErrors(t *testing.T) {
	a, b := At("s", "ab", Span{0, 1}, "one", ""), At("s", "ab", Span{1, 2}, "two", "")
	if Diagnostics(nil).Err() != nil {
		t.Error("no diagnostics are an error")
	}
	if err := (Diagnostics{a}).Err(); err != error(a) {
		t.Errorf("one diagnostic became %T", err)
	}
	both := Diagnostics{a, b}.Err()
	if want := a.Error() + "\n\n" + b.Error(); both.Error() != want {
		t.Errorf("got:\n%s", both)
	}
	var d *Diagnostic
	if !errors.As(fmt.Errorf("wrapped: %w", both), &d) || d != a {
		t.Error("errors.As does not find the first diagnostic")
	}
	named := Named(both, "condition")
	if !strings.Contains(named.Error(), "--> condition:1:2") || a.Source != "s" {
		t.Errorf("Named gave:\n%s", named)
	}
	if plain := errors.New("plain"); Named(plain, "x") != plain || Named(nil, "x") != nil {
		t.Error("Named changed an error of another kind")
	}
}

func TestWithin(t *testing.T) {
	file := "trace main\n  condition $bpnum a b\n"
	at := strings.Index(file, "a b")
	_, err := parsed("a b", nil)
	got := Within(err, "f.tp", file, at).Error()
	want := `error: an operator is missing before "b"
  --> f.tp:2:22
   |
 2 |   condition $bpnum a b
   |                      ^
   = hint: a declaration is not an expression; commas separate expressions`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for _, offset := range []int{-1, at + 1, 9999} {
		if moved := Within(err, "f.tp", file, offset); moved.Error() != err.Error() {
			t.Errorf("a text that is not at %d was moved:\n%v", offset, moved)
		}
	}
}

func TestNearest(t *testing.T) {
	tests := []struct {
		name       string
		candidates string
		want       string
	}{
		{"cuonter", "counter counter1 center x", "counter center counter1"},
		{"count", "counter Count account zzz", "Count account counter"},
		{"i", "j id k I", "I id"},
		{"len", "length lens le nel", "le lens"},
		{"PATH", "path", "path"},
		{"x", "", ""},
		{"", "a b", ""},
		{"größe", "grösse größer", "größer grösse"},
		{"same", "same same_", "same_"},
		{"counter", "counter2 counter1 counter1", "counter1 counter2"},
	}
	for _, tt := range tests {
		got := strings.Join(Nearest(tt.name, strings.Fields(tt.candidates), 3), " ")
		if got != tt.want {
			t.Errorf("%q in %q: got %q, want %q", tt.name, tt.candidates, got, tt.want)
		}
	}
	if got := Nearest("aaaa", []string{"aaab", "aaac", "aaad"}, 2); len(got) != 2 {
		t.Errorf("got %d names, want 2", len(got))
	}
}

func TestDidYouMean(t *testing.T) {
	for n, want := range []string{"", `did you mean "a"?`, `did you mean "a" or "b"?`, `did you mean "a", "b" or "c"?`} {
		if got := DidYouMean([]string{"a", "b", "c"}[:n]); got != want {
			t.Errorf("%d names: %s", n, got)
		}
	}
}
