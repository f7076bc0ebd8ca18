package test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSchemas: events and summaries in JSON are as the published schemas say.
func TestSchemas(t *testing.T) {
	event := compileSchema(t, "event")
	summary := compileSchema(t, "summary")
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	for _, args := range [][]string{
		{"work", "-c", "*job, job, $args, $locals, $regs, $bt, $pid, $comm, 1.5, job->id > 2, *(int *)0"},
		{"work%return", "-c", "$elapsed, @entry(job->id)"},
		{"work", "--clock", "none"},
		{"work if job->id == 1"},
		{"work", "--engine", "kernel", "-c", "*job, $bt, $ubt"},
		{"tracepoint:syscalls:sys_enter_*", "-c", "$_sdata, $ubt, $bt"},
		{"work", "--count", "job->id"},
		{"work", "--overwrite"},
	} {
		out := filepath.Join(t.TempDir(), "events") // the program writes to standard output
		if slices.Contains(args, "--count") {
			out = "-"
		}
		r := jalon(t, append(append([]string{"trace", "-f", "json", "--summary-json", "-o", out}, args...), "--", prog)...)
		if r.status != 0 {
			t.Errorf("%q: status %d\n%s", args, r.status, r.stderr)
		}
		n := 0
		events, _ := os.ReadFile(out) // "-" is no file
		for line := range strings.Lines(string(events)) {
			conforms(t, event, line)
			n++
		}
		if n == 0 && !slices.Contains(args, "--count") {
			t.Errorf("%q: no events", args)
		}
		lines := strings.Split(strings.TrimSpace(r.stderr), "\n")
		conforms(t, summary, lines[len(lines)-1])
	}
}

func compileSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile("../docs/" + name + ".schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func conforms(t *testing.T, s *jsonschema.Schema, line string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err == nil {
		err = s.Validate(v)
	}
	if err != nil {
		t.Errorf("%s\n%v", line, err)
	}
}

// TestStatuses: the exit statuses are those of the manual page and of docs/interface.md.
func TestStatuses(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	for _, c := range []struct {
		args []string
		want int
	}{
		{[]string{"trace", "work", "--", prog}, 0},
		{[]string{"trace", "work", "-p", "4194303"}, 1},
		{[]string{"trace", "work", "--", "/nonexistent"}, 1},
		{[]string{"trace", "work if (", "--", prog}, 2},
		{[]string{"trace", "nowhere", "--", prog}, 2},
		{[]string{"trace", "--no-such-flag"}, 2},
		{[]string{"trace", "_exit", "--", "/bin/sh", "-c", "exit 7"}, 7},
		{[]string{"trace", "_exit", "--", "/bin/sh", "-c", "kill -9 $$"}, 128 + 9},
		{[]string{"record", "-o", filepath.Join(t.TempDir(), "r"), "_exit", "--", "/bin/sh", "-c", "exit 7"}, 7},
		{[]string{"report", "/nonexistent"}, 1},
		{[]string{"run", "-e", "BEGIN { exit(5) }"}, 5},
		{[]string{"run", "-e", "BEGIN {"}, 1},
	} {
		if r := jalon(t, c.args...); r.status != c.want {
			t.Errorf("jalon %q: status %d, not %d\n%s", c.args, r.status, c.want, r.stderr)
		}
	}
	page := jalon(t, "manual").stdout
	doc, err := os.ReadFile("../docs/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+|N, 128\+N) \| (.*) \|$`).FindAllStringSubmatch(string(doc), -1) {
		if !strings.Contains(page, ".B "+m[1]+"\n"+strings.ReplaceAll(m[2], "-", `\-`)) {
			t.Errorf("the manual page does not have status %s: %s", m[1], m[2])
		}
	}
}

// TestConfiguration: a configuration file sets flags that the command line does not, and only those that it may.
func TestConfiguration(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	file := filepath.Join(t.TempDir(), "config")
	traced := func(text string, mode os.FileMode, args ...string) *result {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		t.Setenv("JALON_CONFIG", file)
		return jalon(t, append(append([]string{"trace", "work", "-c", "job->id"}, args...), "--", prog)...)
	}
	if r := traced("# comment\n\nns = 1\n[trace]\ntime = start\n[run]\nformat = x\n", 0o600); !regexp.MustCompile(`(?m)^ +0\.000000000 `).MatchString(r.stdout) {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
	if r := traced("format = json\n", 0o600); !strings.Contains(r.stdout, `"values":{"job->id":`) {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
	if r := traced("format = json\n", 0o600, "-f", "text"); strings.Contains(r.stdout, `"values"`) {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
	for text, want := range map[string]string{
		"output = /etc/passwd\n": `:1: "output" cannot be set here`,
		"\nwhat\n":               `:2: "what" is not FLAG = VALUE`,
		"[nothing]\nns = 1\n":    "[nothing], which is no command",
		"time = never\n":         "--time never: it is wall, start, mono",
	} {
		if r := traced(text, 0o600); r.status != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: status %d, without %q\n%s", text, r.status, want, r.stderr)
		}
	}
	if r := traced("ns = 1\n", 0o666); r.status != 1 || !strings.Contains(r.stderr, "other users can change "+file) {
		t.Errorf("a file that others can write: status %d\n%s", r.status, r.stderr)
	}
	doc, err := os.ReadFile("../docs/interface.md")
	if err != nil {
		t.Fatal(err)
	}
	r := traced("no = 1\n", 0o600)
	_, list, _ := strings.Cut(strings.TrimSuffix(strings.SplitN(r.stderr, " (jalon", 2)[0], "\n"), "what can be is ")
	for name := range strings.SplitSeq(list, ", ") {
		if !strings.Contains(string(doc), fmt.Sprintf("`%s`", name)) {
			t.Errorf("docs/interface.md does not have %s", name)
		}
	}
}

// TestColours: colours are only where they are asked for, and never in text that others write.
func TestColours(t *testing.T) {
	prog := compile(t, "gcc", "threads.c", "-g", "-O2", "-pthread")
	args := []string{"trace", "work", "-c", "job->id"}
	if r := jalon(t, append(args, "--", prog)...); strings.Contains(r.stdout+r.stderr, "\x1b") {
		t.Error("colours in a pipe")
	}
	r := jalon(t, append(args, "--colour", "always", "--", prog)...)
	if !regexp.MustCompile(`\x1b\[1mwork\x1b\[0m +\x1b\[36mjob->id\x1b\[0m=\d+`).MatchString(r.stdout) {
		t.Errorf("no colours:\n%q", r.stdout)
	}
	plain := regexp.MustCompile(`\x1b\[\d*m`).ReplaceAllString(r.stdout, "")
	if !regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{6} \[\d{3}\] threads[^ ]* +work +job->id=\d+$`).MatchString(plain) {
		t.Errorf("%q", plain)
	}
}
