package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMemberTexts: pointers to characters in what is collected whole have their texts, as GDB shows them. GDB's words for a text
// that cannot be read are others.
func TestMemberTexts(t *testing.T) {
	need(t, "gdb")
	for _, flags := range [][]string{{"-O0"}, {"-O2"}} {
		prog := compile(t, "gcc", "membertexts.c", append([]string{"-g"}, flags...)...)
		line := lineWith(t, "programs/membertexts.c", "// look here")
		script := filepath.Join(t.TempDir(), "commands")
		text := "break " + line + "\ncommands\nsilent\necho @\noutput *p\necho @\noutput by\necho @\\n\ncontinue\nend\nrun\n"
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out := run(t, "gdb", "-nx", "-q", "-batch", "-x", script, prog).stdout
		var want []string
		for l := range strings.Lines(out) {
			if parts := strings.Split(l, "@"); len(parts) == 4 {
				for at := range 2 {
					text := parts[at+1]
					for {
						before, rest, ok := strings.Cut(text, "<error: Cannot access memory at address ")
						if !ok {
							break
						}
						text = before + "<unreadable address " + rest
					}
					want = append(want, text)
				}
			}
		}
		if len(want) != 6 {
			t.Fatalf("GDB: %s", out)
		}
		for _, engine := range []string{"process", "kernel"} {
			r := jalon(t, "trace", line, "-c", "*p, by", "--engine", engine, "--", prog)
			var got []string
			for l := range strings.Lines(r.stdout) {
				if _, values, ok := strings.Cut(l, "*p="); ok {
					p, by, _ := strings.Cut(strings.TrimSuffix(values, "\n"), " by=")
					got = append(got, p, by)
				}
			}
			for i := range want {
				if i >= len(got) || addressless(got[i]) != addressless(want[i]) {
					t.Errorf("%v, %s, value %d: %q\nwant %q\n%s", flags, engine, i, got, want[i], r.stderr)
					break
				}
			}
		}
	}
}

// addressless removes the addresses, which differ between runs.
func addressless(s string) string {
	words := strings.Fields(strings.ReplaceAll(s, " <longer>", "")) // places of the kernel engine have no names of data
	for i, w := range words {
		if strings.HasPrefix(w, "0x7") || strings.HasPrefix(w, "0x5") || strings.HasPrefix(w, "{0x5") {
			words[i] = "ADDRESS" + strings.TrimLeft(w, "{0123456789abcdefx")
		}
	}
	return strings.Join(words, " ")
}

// TestMemberTextsJSON: the texts are strings, and what is not whole has an error. A format letter leaves them out.
func TestMemberTextsJSON(t *testing.T) {
	prog := compile(t, "gcc", "membertexts.c", "-g", "-O2")
	line := lineWith(t, "programs/membertexts.c", "// look here")
	r := jalon(t, "trace", "-f", "json", line, "-c", "*p, p->next/x, by/x", "--", prog)
	for i, l := range strings.Split(strings.TrimSpace(r.stdout), "\n") {
		var e struct {
			Values map[string]json.RawMessage
			Errors map[string]string
		}
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatalf("%v: %s", err, l)
		}
		var item struct {
			Name string
			Wide *string
			In   struct{ First, Last *string }
			List []*string
			Bad  *string
		}
		if err := json.Unmarshal(e.Values["*p"], &item); err != nil {
			t.Fatalf("%v: %s", err, e.Values["*p"])
		}
		text := func(s *string) string {
			if s == nil {
				return "null"
			}
			return *s
		}
		got := fmt.Sprintf("%.9s %s %s %s %d %s; %s", item.Name, text(item.Wide), text(item.In.First), text(item.In.Last), len(item.List), text(item.Bad), e.Errors["*p"])
		want := []string{
			"one wide in first null 3 null; partly unavailable: text of a member: unreadable address 0x7",
			"aaaaaaaaa null  last 3 null; partly truncated: text of a member after ",
			"three null null null 3 null; partly unavailable: text of a member: unreadable address 0xbff8000000000000",
		}[min(i, 2)]
		if !strings.HasPrefix(got, want) {
			t.Errorf("event %d: %q, want %q", i, got, want)
		}
		if by := string(e.Values["by"]); !strings.Contains(by, `"first":"0x`) {
			t.Errorf("by/x: %s", by)
		}
	}
}

// TestMost: -n ends the collecting in the program, not only the printing.
func TestMost(t *testing.T) {
	prog := compile(t, "gcc", "exact.c", "-g", "-O2", "-pthread")
	for _, engine := range []string{"process", "kernel"} {
		rounds := "100000"
		if engine == "kernel" {
			rounds = "1000"
		}
		r := jalon(t, "trace", "-f", "json", "--summary-json", "--engine", engine, "-n", "7", "work", "-c", "i", "--", prog, rounds)
		if s := summaryOf(t, r); s.Hits != 7 || s.Recorded != 7 || s.Lost != 0 || strings.Count(r.stdout, `"place"`) != 7 {
			t.Errorf("%s: %+v\n%s", engine, s, r.stdout)
		}
	}
}
