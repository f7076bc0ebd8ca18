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
		{[]string{"-q", "-e", `begin { exit(2) }`}, 2, "\n\n", ""},
		{[]string{"-q", "-f", "json", "-e", `begin { @["a b"] = count(); print((1, "x")); }`}, 0, "{\"type\": \"value\", \"data\": [1,\"x\"]}\n{\"type\": \"map\", \"data\": {\"@\": {\"a b\": 1}}}\n", ""},
		{[]string{"-q", "-o", out, "-e", `begin { printf("to a file\n"); }`}, 0, "", ""},
		{[]string{"--dry-run", file("far.bt")}, 0, "", ""},
		{[]string{"-d", "maps", file("far.bt")}, 0, "@[string[16]] hist_t\n", ""},
		{[]string{"-d", "ast", "-e", "begin { 1 }"}, 0, "script\n probe\n  begin\n  block\n   expression\n    int 1\n", ""},
		{[]string{"-d", "types", "-e", "begin { $x = 1 }"}, 0, "probe\n begin\n block :: void\n  =\n   variable $x :: int8\n   int 1 :: int8\n", ""},
		{[]string{"-d", "nothing", "-e", "begin { }"}, 1, "", `there is no stage "nothing"`},
		{[]string{file("bad.bt")}, 1, "", "bad.bt:1:14"},
		{[]string{"-e", "begin { @x = 1; @x = \"a\"; }\nkprobe:f { arg0 + comm }"}, 1, "", "-e:2:12"},
		{[]string{"-e", "watchpoint:0x1000:8:w { }"}, 1, "", "jalon has no probes of the kind watchpoint yet"},
		{[]string{file("nowhere.bt")}, 1, "", "nowhere.bt"},
		{[]string{"-e", "begin { system(\"true\") }"}, 1, "", "--unsafe"},
		{[]string{"-e", "begin { }", "--", "--x=1"}, 1, "", "no parameter --x"},
		{[]string{"-e", `begin { print((getopt("a", 1, "how many"), getopt("b"))) }`, "--", "--help"}, 1, "", "--a: how many\n--b\n"},
		{[]string{"-q", "-e", `begin { print((getopt("a", 1), getopt("b", -1))) }`, "--", "--a=0xffffffffffffffff", "--b=-7"}, 0, "(18446744073709551615, -7)\n\n\n", ""},
		{[]string{"-e", `begin { print(getopt("a", 1)) }`, "--", "--a=-1"}, 1, "", "--a is a number from 0"},
		{[]string{"-q", "-e", `$1 { print("x"); exit() }`, "i:ms:1"}, 0, "x\n\n\n", ""},
		{[]string{"-q", "-e", `begin { print((__NR_exit_group, syscall_name(__NR_openat), strerror(EPERM), signal_name(SIGINT))) }`}, 0, "(...", ""},
		{[]string{"-q", "-e", `begin { $z = 0; print(5 / $z); for ($i : 0..3) { @[$i % $z]++ } }`}, 0, "1\n\n\n@[1]: 3\n", "division by 0; the result is 1 (3 times)"},
		{[]string{"-q", "--live", "1ms", "-e", `interval:us:100 { @n++; if (@n == 100) { exit() } }`}, 0, "...", ""},
		{[]string{"-q", "-e", `begin { speculate(1); print("a"); }`}, 0, "\n\n", "neither committed nor discarded"},
		{nil, 1, "", "name a script"},
		{[]string{"-q", "-c", "sh -c 'echo a child'", "-e", `interval:s:100 { } end { printf("%d\n", cpid > 1) }`}, 0, "a child\n1\n\n\n", ""},
		{[]string{"-q", "-B", "full", "-e", `interval:s:100 { } end { printf("ended\n") }`, "--", "true", "--not-ours"}, 0, "ended\n\n\n", ""},
		{[]string{"-q", "-c", "true", "-e", `begin { for $i : 0..50000 { @++ } } interval:s:100 { }`}, 0, "\n\n@: 50000\n", ""},
		{[]string{"-q", "-c", "echo a child", "-e", `begin { print("first"); exit(3) }`}, 3, "first\n\n\n", ""},
		{[]string{"-c", "'a", "-e", "begin { }"}, 1, "", "not closed"},
		{[]string{"-c", "/nowhere", "-e", "begin { }"}, 1, "", "/nowhere"},
		{[]string{"-p", "1x", "-e", "begin { }"}, 1, "", "not the number of a process"},
		{[]string{"-p", "4194304", "-e", "begin { }"}, 1, "", "there is no such process"},
		{[]string{"-p", "1", "-c", "true", "-e", "begin { }"}, 1, "", "not both"},
		{[]string{"-k", "--no-warnings", "-e", "begin { }"}, 1, "", "exclude each other"},
		{[]string{"-l", "interval:*"}, 0, "interval:hz:\ninterval:ms:\ninterval:s:\ninterval:us:\n", ""},
		{[]string{"-l", "*ware:c*s"}, 0, "hardware:cache-misses:\nhardware:cache-references:\nhardware:cpu-cycles:\nhardware:cycles:\nsoftware:context-switches:\nsoftware:cpu-migrations:\nsoftware:cs:\n", ""},
		{[]string{"-l", file("main.bt")}, 0, "interval:ms:\n", ""},
		{[]string{"-l", "-e", "hardware:cycles:10 { } uprobe:/x:0x10 { } profile:99ms { }"}, 0, "hardware:cycles:\nuprobe:/x:0x10\nprofile:ms:\n", ""},
		{[]string{"--test", "-e", `test:good { assert(1 == 1, "x") } test:bad { printf("why\n"); return 1; }`}, 1, "[==========] Running 2 tests.\n[ RUN      ] good\n...", ""},
		{[]string{"--test", "--probe-filter", "good", "-f", "json", "-e", `test:good { } test:bad { return 1; }`}, 0, "{\"type\": \"test_result\", \"data\": {\"good\": ...", ""},
		{[]string{"--bench", "-e", `bench:b { @ = count() }`}, 0, "Benchmark                                Time(ns)       Iterations\n...", ""},
		{[]string{"-e", `test:good { }`}, 1, "", "--test"},
		{[]string{"-e", `begin { printf("\x1b[1m%c", 200) }`}, 0, "\x1b[1m\xc8\n\n", ""},
		{[]string{"-e", `config = { missing_probes = ignore } rawtracepoint:nothing { } tracepoint:syscalls:nothing { }`}, 1, "", "no probes to attach"},
		{[]string{"-e", `rawtracepoint:nothing:sys_exit { }`}, 1, "", "no module \"nothing\""},
		{[]string{"-q", "--include", "errno.h", "-e", `struct F { int m; char c; } struct P { char c; long l; } begin { print((sizeof(((int32)1, *(struct F *)0, (int8)1)), sizeof(((int8)1, *(struct P *)0)), EPERM)) }`}, 0, "(16, 24, 1)\n\n\n", ""},
		{[]string{"-l", "nokind:x"}, 1, "", "no probe type"},
	} {
		r := jalon(t, append([]string{"run"}, c.args...)...)
		if r.status != c.status || !fits(r.stdout, c.stdout) || !strings.Contains(r.stderr, c.stderr) {
			t.Errorf("%q: status %d\n%q\n%s\nwant %d\n%q\n%s", c.args, r.status, r.stdout, r.stderr, c.status, c.stdout, c.stderr)
		}
	}
	for _, name := range []string{"-", "/dev/stdin"} { // a pipe
		if r := runInput(t, "begin { print(5) }", jalonArgs("run", "-q", name)...); r.status != 0 || r.stdout != "5\n\n\n" {
			t.Errorf("%s: status %d, %q, %s", name, r.status, r.stdout, r.stderr)
		}
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "to a file\n\n\n" {
		t.Errorf("-o: %q, %v", text, err)
	}
}

// fits compares with a text that may end with "...".
func fits(got, want string) bool {
	begin, cut := strings.CutSuffix(want, "...")
	return got == want || cut && strings.HasPrefix(got, begin)
}
