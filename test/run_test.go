package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunScript runs scripts by the command: from a file with an import and parameters, from the command line, as
// JSON; and shows stages and errors.
func TestRunScript(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"lib.bt":  "macro twice(x) { x * 2 }\nbegin { printf(\"lib\\n\"); }\n",
		"main.bt": "#!/usr/bin/env -S jalon run\nimport \"lib.bt\";\nbegin { printf(\"%s %d %d\\n\", str($1), twice($2), getopt(\"n\", 3)); @sum[comm] = sum($2); }\ninterval:ms:1 { @n++; if (@n == 3) { exit(); } }\nend { print(@n); clear(@n); }\n",
		"bad.bt":  "begin { $a = ; @x = 1; @x = \"a\"; }\nkprobe:f { arg0 + comm }\n",
		"far.bt":  "kprobe:vfs_read { @[comm] = hist(arg2); }\n",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	out := file("out")
	for _, c := range []struct {
		args           []string
		status         int
		stdout, stderr string // stdout exactly, unless it ends with "..."; stderr contains
	}{
		{[]string{file("main.bt"), "hello", "21", "--", "--n=5"}, 0, "lib\nhello 42 5\n@n: 3\n\n\n@sum[jalon]: 21\n", "Attached 4 probes"},
		{[]string{"-e", `begin { printf("%d\n", $1); exit(7) }`, "5"}, 7, "5\n\n\n", ""},
		{[]string{"-q", "-f", "json", "-e", `begin { @["a b"] = count(); print((1, "x")); }`}, 0, "{\"type\": \"value\", \"data\": [1,\"x\"]}\n{\"type\": \"map\", \"data\": {\"@\": {\"ab\": 1}}}\n", ""},
		{[]string{"-q", "-o", out, "-e", `begin { printf("to a file\n"); }`}, 0, "", ""},
		{[]string{"--dry-run", file("far.bt")}, 0, "", ""},
		{[]string{"-d", "maps", file("far.bt")}, 0, "@[string[16]] hist_t\n", ""},
		{[]string{"-d", "ast", "-e", "begin { 1 }"}, 0, "script\n probe\n  begin\n  block\n   expression\n    int 1\n", ""},
		{[]string{"-d", "types", "-e", "begin { $x = 1 }"}, 0, "probe\n begin\n block :: void\n  =\n   variable $x :: int8\n   int 1 :: int8\n", ""},
		{[]string{"-d", "nothing", "-e", "begin { }"}, 2, "", `there is no stage "nothing"`},
		{[]string{file("bad.bt")}, 2, "", "bad.bt:1:14"},
		{[]string{"-e", "begin { @x = 1; @x = \"a\"; }\nkprobe:f { arg0 + comm }"}, 2, "", "-e:2:12"},
		{[]string{file("far.bt")}, 2, "", "scripts cannot be attached to a kprobe yet"},
		{[]string{file("nowhere.bt")}, 1, "", "nowhere.bt"},
		{[]string{"-e", "begin { system(\"true\") }"}, 2, "", "--unsafe"},
		{[]string{"-e", "begin { }", "--", "--x=1"}, 2, "", "no parameter --x"},
		{nil, 2, "", "name a script"},
	} {
		r := jalon(t, append([]string{"run"}, c.args...)...)
		if r.status != c.status || r.stdout != c.stdout || !strings.Contains(r.stderr, c.stderr) {
			t.Errorf("%q: status %d\n%q\n%s\nwant %d\n%q\n%s", c.args, r.status, r.stdout, r.stderr, c.status, c.stdout, c.stderr)
		}
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "to a file\n\n\n" {
		t.Errorf("-o: %q, %v", text, err)
	}
}
