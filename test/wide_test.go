package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWideStrings: the strings of pointers to wide characters, in both engines, including strings that end
// at unreadable memory, also inside a character.
func TestWideStrings(t *testing.T) {
	need(t, "gcc", "g++", "clang")
	many := strings.Repeat("abcdefghijklmnopqrstuvwxyz", 8)[:200]
	want := []string{
		`w=PTR L"wide €" u=PTR u"sixteen 😀 end" U=PTR U"thirty-two" t=(wide_pointer) PTR L"" s=PTR u"ct" b=PTR "bytes" n->name=PTR L"name" n->utf16=PTR u"x€y" w/s=L"wide €" u/s=u"sixteen 😀 end" *u@3=u"six" str(w)=L"wide €" str(u, 2)=u"si"...`,
		`w=0x0 u=0x8 <unreadable address 0x8> U=PTR <unreadable address PTR> t=(wide_pointer) PTR L"ab"... s=PTR u"" b=0x0 n->name=<unreadable address 0x0> n->utf16=<unreadable address 0x8> w/s=<unreadable address 0x0> u/s=<unreadable address 0x8> *u@3=<unreadable address 0x8> str(w)=<unreadable address 0x0> str(u, 2)=<unreadable address 0x8>`,
		`w=PTR L"` + many + `"... u=PTR u'a' <repeats 30 times>, "b" U=PTR <unreadable address PTR> t=(wide_pointer) PTR L"" s=PTR u"a" b=0x0 n->name=PTR <unreadable address PTR> n->utf16=PTR u"x€y" w/s=L"` + many + `"... u/s=u'a' <repeats 30 times>, "b" *u@3=u"aaa" str(w)=L"` + many + `"... str(u, 2)=u"aa"...`,
	}
	for _, build := range []string{"gcc -O0 -gdwarf-5", "clang -O1 -gdwarf-4", "g++ -xc++ -std=c++20 -O0 -gdwarf-5"} {
		flags := strings.Fields(build)
		prog := compile(t, flags[0], "wide.c", append([]string{"-w"}, flags[1:]...)...)
		for _, engine := range []string{"process", "kernel"} {
			t.Run(build+" "+engine, func(t *testing.T) {
				out := filepath.Join(t.TempDir(), "events")
				args := []string{"trace", "-o", out, "-c", "w, u, U, t, s, b, n->name, n->utf16, w/s, u/s, *u@3, str(w), str(u, 2)", "shown", "--", prog}
				if engine == "kernel" {
					if os.Geteuid() != 0 {
						t.Skip("the kernel engine needs root")
					}
					args = append([]string{"trace", "--engine=kernel"}, args[1:]...)
				}
				res := jalon(t, args...)
				b, err := os.ReadFile(out)
				if err != nil || res.status != 0 {
					t.Fatal(err, res.stderr)
				}
				events := strings.Split(strings.TrimSpace(string(b)), "\n")
				if len(events) != len(want) {
					t.Fatalf("%d events:\n%s%s", len(events), b, res.stderr)
				}
				for i, e := range events {
					_, e, _ = strings.Cut(e, " shown ")
					e = regexp.MustCompile(`0x[0-9a-f]{6,}( <\w+(\+\d+)?>)?`).ReplaceAllString(strings.TrimSpace(e), "PTR")
					e = strings.ReplaceAll(e, "(byte_text) ", "")
					e = strings.ReplaceAll(e, "(short_char *) ", "")
					if e != want[i] {
						t.Errorf("event %d:\ngot  %s\nwant %s", i, e, want[i])
					}
				}
			})
		}
	}
}
