package format

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPlain: what could steer a terminal is shown, everything else is left as it is.
func TestPlain(t *testing.T) {
	for _, c := range [][2]string{
		{"plain text\twith\ttabs\nand lines\n", "plain text\twith\ttabs\nand lines\n"},
		{"größe 日本語 ✓", "größe 日本語 ✓"},
		{"\x1b[2J\x1b]0;title\x07", `\x1b[2J\x1b]0;title\x07`},
		{"bell\a back\b cr\r del\x7f nul\x00", `bell\x07 back\x08 cr\x0d del\x7f nul\x00`},
		{"C1 \u009b31m", `C1 \xc2\x9b31m`},
		{"not UTF-8 \xff\xfe\x9b", `not UTF-8 \xff\xfe\x9b`},
		{"turned \u202eabc\u2066", `turned \u{202e}abc\u{2066}`},
		{"replacement \ufffd", "replacement \ufffd"},
	} {
		if got := PlainText(c[0]); got != c[1] {
			t.Errorf("%q gives %q, not %q", c[0], got, c[1])
		}
	}
}

// TestPlainWriter: text is the same however it is cut into pieces.
func TestPlainWriter(t *testing.T) {
	text := "abc größe \x1b[31m 日本語 \u202e \xff end \u009b long enough for eight bytes at a time\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		w := Plain(&out)
		for i := 0; i < len(text); i += size {
			if _, err := fmt.Fprint(w, text[i:min(i+size, len(text))]); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != PlainText(text) {
			t.Fatalf("in pieces of %d: %q", size, out.String())
		}
	}
}

func FuzzPlain(f *testing.F) {
	f.Add("abcdefgh\x1b", "\x1f1234567\x7f")
	f.Fuzz(func(t *testing.T, a, b string) {
		got := PlainText(a + b)
		for _, r := range got {
			if r < 0x20 && r != '\n' && r != '\t' || r == 0x7f || steers(r) {
				t.Fatalf("%q has %U", got, r)
			}
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if PlainText(got) != got {
			t.Fatalf("%q changes again", got)
		}
	})
}

func BenchmarkPlain(b *testing.B) {
	line := []byte(strings.Repeat("05:30:40.558962527 [000] prog/32650   main.c:9  2*i+9*j=7\n", 100))
	var out bytes.Buffer
	w := Plain(&out)
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		out.Reset()
		_, _ = w.Write(line)
	}
}
